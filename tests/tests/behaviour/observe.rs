//! `observe` tells how each call was answered.

use stampede_runtime::{CacheMode, How, StaleReason, observe, stampede_cached};
use stampede_tests::{Gate, Runs, soon};
use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::Duration,
};
use tokio::{join, spawn, task::yield_now, time::advance};

const SECOND: Duration = Duration::from_secs(1);

/// How the one call of `future` was answered, and the age of its value in seconds.
async fn how<F: Future>(future: F) -> (How, u64) {
    let (_, served) = observe(future).await;
    assert_eq!(served.len(), 1);
    (served[0].how(), served[0].age().as_secs())
}

#[tokio::test(start_paused = true)]
async fn each_way_of_being_answered_has_its_name() {
    static FAIL: AtomicBool = AtomicBool::new(false);

    #[stampede_cached(ttl = 100, early = 50, stale = 100, stale_if_error = 1000)]
    async fn page() -> Result<u32, String> {
        if FAIL.load(SeqCst) { Err("down".into()) } else { Ok(1) }
    }

    assert_eq!(how(page()).await, (How::Loaded, 0));
    advance(10 * SECOND).await;
    assert_eq!(how(page()).await, (How::Fresh, 10));
    FAIL.store(true, SeqCst);
    advance(50 * SECOND).await;
    assert_eq!(how(page()).await, (How::Early, 60));
    yield_now().await;
    advance(90 * SECOND).await;
    assert_eq!(how(page()).await, (How::Stale(StaleReason::Refreshing), 150));
    yield_now().await;
    advance(100 * SECOND).await;
    assert_eq!(how(page()).await, (How::Stale(StaleReason::LoadFailed), 250));
    assert_eq!(how(page()).await, (How::Stale(StaleReason::Paused), 250));
    FAIL.store(false, SeqCst);
    assert_eq!(how(CacheMode::Refresh.enter(page())).await, (How::Loaded, 0));
}

#[tokio::test(start_paused = true)]
async fn who_joins_is_told_so() {
    static GATE: Gate = Gate::new();

    #[stampede_cached(ttl = 100)]
    async fn page() -> u32 {
        GATE.pass().await;
        1
    }

    let leader = spawn(how(page()));
    soon(GATE.arrival()).await;
    let follower = spawn(how(page()));
    yield_now().await;
    GATE.open(1);
    assert_eq!(soon(leader).await.unwrap().0, How::Loaded);
    assert_eq!(soon(follower).await.unwrap().0, How::Joined);
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_leaves_a_slow_load_is_told_so() {
    static RUNS: Runs = Runs::new();

    #[stampede_cached(ttl = 10, stale_if_error = 100, soft_timeout = 1)]
    async fn page() -> u64 {
        let run = RUNS.begin();
        if run.number > 1 {
            tokio::time::sleep(60 * SECOND).await;
        }
        run.number
    }

    page().await;
    advance(20 * SECOND).await;
    assert_eq!(how(page()).await, (How::Stale(StaleReason::SlowLoad), 21));
}

/// Calls are told in the order in which they were answered, with the cache of each; those of loads are not.
#[tokio::test(start_paused = true)]
async fn calls_below_are_told_and_calls_of_loads_are_not() {
    #[stampede_cached(ttl = 100, name = "inner")]
    async fn inner(id: u32) -> u32 {
        id
    }

    #[stampede_cached(ttl = 100, name = "outer")]
    async fn outer(id: u32) -> u32 {
        inner(id).await
    }

    let below = async {
        inner(1).await;
        outer(2).await;
        join!(inner(1), inner(2))
    };
    let (_, served) = observe(below).await;
    let told: Vec<_> = served.iter().map(|served| (served.cache(), served.how())).collect();
    assert_eq!(told, [("inner", How::Loaded), ("outer", How::Loaded), ("inner", How::Fresh), ("inner", How::Fresh)]);
    let (_, inner_only) = observe(async { observe(inner(1)).await.1.len() }).await;
    assert!(inner_only.is_empty(), "the nearest observer is told");
}
