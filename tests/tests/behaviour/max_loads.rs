//! `max_loads`: at most so many loads of a cache at once, and no deadlock of loads that wait for each other.

use crate::world::{Act, Failed, World, pass, secs};
use futures::future::{BoxFuture, join_all};
use stampede_runtime::stampede_cached;
use stampede_tests::{Gate, Runs, settle, soon};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_more_loads_run_than_allowed() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, max_loads = 3)]
    async fn load(key: u64) -> u64 {
        let _run = RUNS.begin();
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        key
    }

    let callers = (0..500).map(|key| tokio::spawn(load(key)));
    for (key, answer) in (0..).zip(soon(join_all(callers)).await) {
        assert_eq!(answer.unwrap(), key);
    }
    assert_eq!(RUNS.count(), 500);
    assert!(RUNS.most_at_once() <= 3, "{}", RUNS.most_at_once());
    assert_eq!(load_cache().stats().over_limit, 0);
}

#[tokio::test(start_paused = true)]
async fn all_that_is_allowed_is_used_and_hits_and_followers_need_no_permit() {
    #[stampede_cached(ttl = 60, max_loads = 2, skip(world))]
    async fn read(world: Arc<World>, key: u64) -> u64 {
        world.read().await + key
    }

    let world = World::new();
    read_entry(9).insert(90).await;
    let callers: Vec<_> = (0..8).map(|caller| tokio::spawn(read(Arc::clone(&world), caller / 2))).collect();
    settle().await;
    assert_eq!(world.runs.count(), 2);
    assert_eq!(soon(read(Arc::clone(&world), 9)).await, 90);
    world.gate.open(1);
    settle().await;
    assert_eq!(world.runs.count(), 3, "one has ended, the next begins");
    world.gate.open(3);
    for (caller, answer) in (0..).zip(soon(join_all(callers)).await) {
        assert_eq!(answer.unwrap(), 1 + caller / 2);
    }
    assert_eq!((world.runs.count(), world.runs.most_at_once()), (4, 2));
}

/// A permit is held by a load that runs, and by nothing else: not by a panic, an abort, a timeout or one who waits.
#[tokio::test(start_paused = true)]
async fn every_end_of_a_load_gives_its_permit_back() {
    #[stampede_cached(ttl = 60, max_loads = 1, timeout = 5, run = "cancellable", skip(world))]
    async fn play(world: Arc<World>, key: u64) -> Result<u64, Failed> {
        world.play().await
    }

    let world = World::new();
    for (key, act) in (0..).zip([Act::Fail, Act::Panic, Act::Hang]) {
        world.next(act);
        let _ = soon(tokio::spawn(play(Arc::clone(&world), key))).await;
    }
    world.next(Act::Hang);
    let dropped = tokio::spawn(play(Arc::clone(&world), 10));
    settle().await;
    let queued = tokio::spawn(play(Arc::clone(&world), 11));
    settle().await;
    assert_eq!(world.runs.count(), 4);
    queued.abort();
    dropped.abort();
    settle().await;
    world.next(Act::Answer);
    assert_eq!(soon(play(world, 12)).await, Ok(5));
    assert_eq!(play_cache().stats().in_flight, 0);
}

/// The timeout begins with the body, not with the wait for a permit.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_permit_is_no_part_of_the_timeout() {
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 60, max_loads = 1, timeout = 10)]
    async fn load(key: u64) -> Result<u64, Failed> {
        GATE.pass().await;
        Ok(key)
    }

    let callers: Vec<_> = (0..5).map(|key| tokio::spawn(load(key))).collect();
    settle().await;
    for _ in 0..5 {
        pass(secs(6)).await;
        GATE.open(1);
        settle().await;
    }
    for answer in soon(join_all(callers)).await {
        answer.unwrap().unwrap();
    }
}

fn sum_to(n: u64) -> BoxFuture<'static, u64> {
    Box::pin(sum(n))
}

#[stampede_cached(ttl = 60, max_loads = 1)]
async fn sum(n: u64) -> u64 {
    if n == 0 { 0 } else { sum_to(n - 1).await + n }
}

/// A load below a load that holds a permit runs over the limit rather than wait for it.
#[tokio::test]
async fn nested_loads_run_over_the_limit() {
    assert_eq!(soon(sum(10)).await, 55);
    let stats = sum_cache().stats();
    assert_eq!((stats.loads, stats.over_limit, stats.in_flight), (11, 10, 0));
}

/// Through another function, which has no limit of its own.
#[tokio::test]
async fn nested_loads_through_another_function() {
    fn down(n: u64) -> BoxFuture<'static, u64> {
        Box::pin(between(n))
    }
    #[stampede_cached(ttl = 60, max_loads = 1)]
    async fn limited(n: u64) -> u64 {
        if n == 0 { 0 } else { down(n - 1).await + 1 }
    }
    #[stampede_cached(ttl = 60)]
    async fn between(n: u64) -> u64 {
        limited(n).await
    }

    assert_eq!(soon(limited(5)).await, 5);
    assert_eq!(limited_cache().stats().over_limit, 5);
}

/// A load that holds the permit joins a flight which has begun before and waits for that permit.
#[tokio::test(start_paused = true)]
async fn a_load_that_is_queued_and_then_needed_from_below_runs_over_the_limit() {
    static GATE: Gate = Gate::new();
    fn again(n: u64) -> BoxFuture<'static, u64> {
        Box::pin(load(n))
    }
    #[stampede_cached(ttl = 60, max_loads = 1)]
    async fn load(n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        GATE.pass().await;
        again(n - 1).await + 1
    }

    let outer = tokio::spawn(load(1));
    soon(GATE.arrival()).await;
    let queued = tokio::spawn(load(0));
    settle().await;
    GATE.open(1);
    assert_eq!(soon(outer).await.unwrap(), 1);
    assert_eq!(soon(queued).await.unwrap(), 0);
    assert_eq!(load_cache().stats().over_limit, 1);
}

/// The same with a load in between that has no limit and was there before.
#[tokio::test(start_paused = true)]
async fn a_queued_load_that_is_needed_through_another_runs_over_the_limit() {
    static GATE: Gate = Gate::new();
    fn between_of() -> BoxFuture<'static, u64> {
        Box::pin(between())
    }
    #[stampede_cached(ttl = 60, max_loads = 1)]
    async fn load(outer: bool) -> u64 {
        if !outer {
            return 0;
        }
        GATE.pass().await;
        between_of().await + 1
    }
    #[stampede_cached(ttl = 60)]
    async fn between() -> u64 {
        load(false).await
    }

    let outer = tokio::spawn(load(true));
    soon(GATE.arrival()).await;
    let between = tokio::spawn(between());
    settle().await;
    GATE.open(1);
    assert_eq!(soon(outer).await.unwrap(), 1);
    assert_eq!(soon(between).await.unwrap(), 0);
}

/// The one who refreshes in its own task is such a load, too.
#[tokio::test(start_paused = true)]
async fn a_refresh_below_a_load_with_a_permit() {
    static RUNS: Runs = Runs::new();
    fn again(n: u64) -> BoxFuture<'static, u64> {
        Box::pin(load(n))
    }
    #[stampede_cached(ttl = 100, early = 50, max_loads = 1, run = "in_caller")]
    async fn load(n: u64) -> u64 {
        let _run = RUNS.begin();
        if n == 0 { 0 } else { again(n - 1).await + 1 }
    }

    soon(load(0)).await;
    pass(secs(60)).await;
    assert_eq!(soon(load(1)).await, 1);
    assert_eq!(RUNS.count(), 3);
}
