//! `timeout`: a load is given up. `soft_timeout`: callers with an old value at hand leave. `lead_after`: one leads anew.

use crate::world::{Act, Failed, World, pass, secs};
use futures::{FutureExt as _, future::join_all};
use stampede_runtime::{CacheMode, CacheScope, SharedError, stampede_cached};
use stampede_tests::{Gate, Runs, settle, soon};
use std::sync::Arc;
use tokio::time::Instant;

macro_rules! given_up {
    ($($test:ident: $run:tt;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $test() {
            #[stampede_cached(ttl = 60, timeout = 5, run = $run, skip(world))]
            async fn play(world: Arc<World>) -> Result<u64, Failed> {
                world.play().await
            }

            let world = World::new();
            world.next(Act::Hang);
            let begun = Instant::now();
            let callers = (0..10).map(|_| tokio::spawn(play(Arc::clone(&world))));
            for answer in soon(join_all(callers)).await {
                let Failed(message) = answer.unwrap().unwrap_err();
                assert!(message.contains("timeout of 5s") && message.contains("::play"), "{message}");
            }
            assert_eq!(begun.elapsed(), secs(5));
            assert_eq!(world.runs.count(), 1);
            let stats = play_cache().stats();
            assert_eq!((stats.timeouts, stats.errors, stats.loads, stats.in_flight), (1, 1, 1, 0));
            world.next(Act::Answer);
            assert_eq!(soon(play(world)).await, Ok(2));
        }
    )*};
}

given_up! {
    a_load_is_given_up_after_its_timeout: "detached";
    a_load_is_given_up_after_its_timeout_cancellable: "cancellable";
    a_load_is_given_up_after_its_timeout_in_caller: "in_caller";
}

/// The body is dropped, not left behind.
#[tokio::test(start_paused = true)]
async fn a_load_that_is_given_up_is_dropped() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, timeout = 5)]
    async fn hang() -> Result<u64, Failed> {
        let _run = RUNS.begin();
        std::future::pending().await
    }

    for runs in 1..=3 {
        soon(hang()).await.unwrap_err();
        settle().await;
        assert_eq!((RUNS.count(), RUNS.most_at_once()), (runs, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_says_what_it_is() {
    #[stampede_cached(ttl = 60, timeout = 5)]
    async fn hang() -> anyhow::Result<u64> {
        std::future::pending().await
    }

    let error = soon(hang()).await.unwrap_err();
    assert!(error.downcast_ref::<SharedError>().unwrap().is_timeout());
}

/// In each mode, and for a refresh.
#[tokio::test(start_paused = true)]
async fn a_timeout_holds_in_all_modes() {
    #[stampede_cached(ttl = 60, timeout = 5, skip(world))]
    async fn play(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    let world = World::new();
    world.next(Act::Hang);
    for mode in [CacheMode::Refresh, CacheMode::Bypass, CacheMode::MaxAge(secs(1))] {
        soon(mode.enter(play(Arc::clone(&world)))).await.unwrap_err();
    }
    let stats = play_cache().stats();
    assert_eq!((stats.timeouts, stats.in_flight), (3, 0));
}

#[stampede_cached(ttl = 10, stale_if_error = 100, soft_timeout = 5, skip(world))]
async fn soft(world: Arc<World>) -> u64 {
    world.read().await
}

/// Measured from the flight's start: who comes later waits less, or not at all.
#[tokio::test(start_paused = true)]
async fn soft_timeout_gives_the_old_value_and_the_load_goes_on() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    world.gate.open(1);
    assert_eq!(soon(soft(Arc::clone(&world))).await, 1);
    world.set(2);
    pass(secs(20)).await;

    let begun = Instant::now();
    let first = tokio::spawn(soft(Arc::clone(&world)));
    settle().await;
    pass(secs(3)).await;
    assert_eq!(soon(soft(Arc::clone(&world))).await, 1);
    assert_eq!(begun.elapsed(), secs(5));
    assert_eq!(soon(first).await.unwrap(), 1);
    pass(secs(10)).await;
    let late = Instant::now();
    assert_eq!(soon(soft(Arc::clone(&world))).await, 1, "the flight is over its soft timeout already");
    assert_eq!(late.elapsed(), secs(0));
    assert_eq!(soft_cache().stats().served_on_error, 3);

    world.gate.open(1);
    settle().await;
    assert_eq!(soft(world).now_or_never(), Some(2));
    assert_eq!(soft_cache().stats().loads, 2);
}

/// Without an old value there is nothing to leave with.
#[tokio::test(start_paused = true)]
async fn soft_timeout_without_a_value_waits() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    let caller = tokio::spawn(soft(Arc::clone(&world)));
    settle().await;
    pass(secs(50)).await;
    assert!(!caller.is_finished());
    world.gate.open(1);
    assert_eq!(soon(caller).await.unwrap(), 1);
}

/// `Refresh` and `MaxAge` accept no older value for being slow.
#[tokio::test(start_paused = true)]
async fn soft_timeout_gives_nothing_that_the_mode_forbids() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    world.gate.open(1);
    soon(soft(Arc::clone(&world))).await;
    world.set(2);
    pass(secs(20)).await;
    let callers = [CacheMode::Refresh, CacheMode::MaxAge(secs(10))];
    let callers = callers.map(|mode| tokio::spawn(mode.enter(soft(Arc::clone(&world)))));
    settle().await;
    pass(secs(10)).await;
    world.gate.open(2);
    for caller in callers {
        assert_eq!(soon(caller).await.unwrap(), 2);
    }
}

/// `cancellable`: those who left with an old value do not cancel the load.
#[tokio::test(start_paused = true)]
async fn soft_timeout_does_not_cancel_a_cancellable_load() {
    #[stampede_cached(ttl = 10, stale_if_error = 100, soft_timeout = 5, run = "cancellable", skip(world))]
    async fn soft(world: Arc<World>) -> u64 {
        world.read().await
    }

    let world = World::new();
    world.gate.open(1);
    soon(soft(Arc::clone(&world))).await;
    world.set(2);
    pass(secs(20)).await;
    assert_eq!(soon(soft(Arc::clone(&world))).await, 1);
    settle().await;
    world.gate.open(1);
    settle().await;
    assert_eq!(soft(world).now_or_never(), Some(2));
}

/// It counts while the load waits for its turn under `max_loads` too.
#[tokio::test(start_paused = true)]
async fn soft_timeout_counts_while_the_load_is_queued() {
    #[stampede_cached(ttl = 10, stale_if_error = 100, soft_timeout = 5, max_loads = 1, skip(world))]
    async fn soft(world: Arc<World>, key: u32) -> u64 {
        world.read().await
    }

    let world = World::new();
    world.gate.open(1);
    soon(soft(Arc::clone(&world), 1)).await;
    pass(secs(20)).await;
    let busy = tokio::spawn(soft(Arc::clone(&world), 2));
    settle().await;
    let begun = Instant::now();
    assert_eq!(soon(soft(Arc::clone(&world), 1)).await, 1);
    assert_eq!(begun.elapsed(), secs(5));
    world.gate.open(2);
    soon(busy).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn after_lead_after_one_follower_leads_anew_and_one_only() {
    static GATE: Gate = Gate::new();
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, lead_after = 30)]
    async fn slow() -> u64 {
        let run = RUNS.begin();
        if run.number == 1 {
            std::future::pending::<()>().await;
        }
        GATE.pass().await;
        run.number
    }

    let callers: Vec<_> = (0..10).map(|_| tokio::spawn(slow())).collect();
    settle().await;
    pass(secs(29)).await;
    assert_eq!(RUNS.count(), 1);
    pass(secs(1)).await;
    assert_eq!(RUNS.count(), 2, "not one for each");
    pass(secs(10)).await;
    let newcomer = tokio::spawn(slow());
    settle().await;
    assert_eq!(RUNS.count(), 2, "it joins the newer one");
    GATE.open(1);
    for caller in callers.into_iter().skip(1).chain([newcomer]) {
        assert_eq!(soon(caller).await.unwrap(), 2);
    }
    let stats = slow_cache().stats();
    assert_eq!((stats.direct, stats.loads, stats.in_flight), (1, 2, 1));
}

/// A refresh that hangs keeps the key to itself no longer either, while its old value is still served.
#[tokio::test(start_paused = true)]
async fn after_lead_after_another_refresh_may_begin() {
    #[stampede_cached(ttl = 1_000, early = 900, lead_after = 30, skip(world))]
    async fn play(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    let world = World::new();
    assert_eq!(soon(play(Arc::clone(&world))).await, Ok(1));
    pass(secs(100)).await;
    world.next(Act::Hang);
    for _ in 0..10 {
        assert_eq!(soon(play(Arc::clone(&world))).await, Ok(1));
        settle().await;
        pass(secs(2)).await;
    }
    assert_eq!(world.runs.count(), 2);
    world.next(Act::Answer);
    pass(secs(10)).await;
    assert_eq!(soon(play(Arc::clone(&world))).await, Ok(1));
    settle().await;
    assert_eq!(play(world).now_or_never(), Some(Ok(3)));
    let stats = play_cache().stats();
    assert_eq!((stats.refreshes, stats.direct), (2, 1));
}
