//! How a call behaves can be set around it: `CacheMode`, and `set_mode` for a whole cache.

use crate::world::{Act, Failed, World, pass, secs};
use futures::{FutureExt as _, future::join_all, poll};
use stampede_runtime::{CacheHandle, CacheMode, CacheScope, caches, stampede_cached};
use stampede_tests::{Runs, settle, soon};
use std::{pin::pin, sync::Arc};

#[stampede_cached(ttl = 100, early = 50, skip(world))]
async fn read(world: Arc<World>) -> u64 {
    world.read().await
}

#[tokio::test(start_paused = true)]
async fn refresh_reloads_and_stores() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    world.gate.open(2);
    assert_eq!(soon(read(Arc::clone(&world))).await, 1);
    world.set(2);
    assert_eq!(soon(CacheMode::Refresh.enter(read(Arc::clone(&world)))).await, 2);
    assert_eq!(read(world).now_or_never(), Some(2));
    let stats = read_cache().stats();
    assert_eq!((stats.misses, stats.loads, stats.hits_fresh, stats.refreshes), (2, 2, 1, 0));
}

/// Those who come while one runs share one next flight.
#[tokio::test(start_paused = true)]
async fn ten_refreshing_callers_at_once_are_two_loads() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    let callers: Vec<_> = (0..10).map(|_| tokio::spawn(CacheMode::Refresh.enter(read(Arc::clone(&world))))).collect();
    settle().await;
    assert_eq!(world.runs.count(), 1);
    world.set(2);
    world.gate.open(2);
    let answers: Vec<_> = soon(join_all(callers)).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers, [1, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
    assert_eq!((world.runs.count(), world.runs.most_at_once()), (2, 1));
}

/// It joins no flight that began before it; a normal call joins it.
#[tokio::test(start_paused = true)]
async fn refresh_joins_nothing_older_and_is_joined() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    let normal = tokio::spawn(read(Arc::clone(&world)));
    settle().await;
    world.set(2);
    let forced = tokio::spawn(CacheMode::Refresh.enter(read(Arc::clone(&world))));
    settle().await;
    world.set(3);
    let joins = tokio::spawn(read(Arc::clone(&world)));
    settle().await;
    assert_eq!(world.runs.count(), 2);
    world.gate.open(2);
    assert_eq!(soon(normal).await.unwrap(), 1);
    assert_eq!(soon(forced).await.unwrap(), 2);
    assert_eq!(soon(joins).await.unwrap(), 2);
    assert_eq!(read(world).now_or_never(), Some(2));
}

#[tokio::test(start_paused = true)]
async fn bypass_neither_reads_nor_stores_nor_joins() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    let normal = tokio::spawn(read(Arc::clone(&world)));
    let callers: Vec<_> = (0..3).map(|_| tokio::spawn(CacheMode::Bypass.enter(read(Arc::clone(&world))))).collect();
    settle().await;
    assert_eq!(world.runs.count(), 4);
    world.gate.open(4);
    soon(normal).await.unwrap();
    soon(join_all(callers)).await;
    world.set(2);
    world.gate.open(1);
    assert_eq!(soon(CacheMode::Bypass.enter(read(Arc::clone(&world)))).await, 2);
    assert_eq!(read(world).now_or_never(), Some(1));
    let stats = read_cache().stats();
    assert_eq!((stats.loads, stats.entries, stats.coalesced, stats.refused, stats.in_flight), (5, 1, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn max_age_accepts_nothing_older() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    world.gate.open(1);
    soon(read(Arc::clone(&world))).await;
    world.set(2);
    pass(secs(10)).await;
    let within = |age| CacheMode::MaxAge(secs(age)).enter(read(Arc::clone(&world)));
    assert_eq!(within(10).now_or_never(), Some(1));
    world.gate.open(1);
    assert_eq!(soon(within(9)).await, 2);
    assert_eq!(within(0).now_or_never(), Some(2), "it is of this instant");
    assert_eq!(world.runs.count(), 2);
    // In the early window it is a hit like another, and begins the refresh.
    pass(secs(60)).await;
    assert_eq!(within(60).now_or_never(), Some(2));
    settle().await;
    assert_eq!(world.runs.count(), 3);
}

/// Too old for the caller is no longer usable for the caller, not even when the load fails.
#[tokio::test(start_paused = true)]
async fn max_age_holds_for_the_old_value_of_a_failed_load() {
    #[stampede_cached(ttl = 10, stale_if_error = 100, skip(world))]
    async fn play(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    let world = World::new();
    soon(play(Arc::clone(&world))).await.unwrap();
    world.next(Act::Fail);
    pass(secs(20)).await;
    let within = |age| CacheMode::MaxAge(secs(age)).enter(play(Arc::clone(&world)));
    assert_eq!(soon(within(19)).await, Err(Failed("down".into())));
    assert_eq!(soon(within(20)).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn set_mode_is_for_calls_that_have_no_mode_of_their_own() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    world.gate.open(100);
    soon(read(Arc::clone(&world))).await;
    read_cache().set_mode(CacheMode::Bypass);
    for runs in 2..=4 {
        soon(read(Arc::clone(&world))).await;
        assert_eq!(world.runs.count(), runs);
    }
    assert!(CacheMode::MaxAge(secs(5)).enter(read(Arc::clone(&world))).now_or_never().is_some());
    read_cache().set_mode(CacheMode::MaxAge(secs(1)));
    pass(secs(2)).await;
    soon(read(Arc::clone(&world))).await;
    assert_eq!(world.runs.count(), 5);
    read_cache().set_mode(CacheMode::Refresh);
    soon(read(Arc::clone(&world))).await;
    assert_eq!(world.runs.count(), 6);
    caches().set_mode(CacheMode::Normal);
    assert!(read(world).now_or_never().is_some());
}

/// The switch for a whole scope.
#[tokio::test(start_paused = true)]
async fn caches_set_mode_switches_all_of_a_scope() {
    #[stampede_cached(ttl = 100, skip(world))]
    async fn other(world: Arc<World>) -> u64 {
        world.read().await
    }

    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    world.gate.open(100);
    soon(read(Arc::clone(&world))).await;
    soon(other(Arc::clone(&world))).await;
    assert_eq!(caches().iter().count(), 2);
    caches().set_mode(CacheMode::Bypass);
    soon(read(Arc::clone(&world))).await;
    soon(other(Arc::clone(&world))).await;
    assert_eq!(world.runs.count(), 4);
    caches().set_mode(CacheMode::Normal);
    caches().clear().await;
    assert!(caches().iter().all(CacheHandle::is_empty));
}

/// What a cached function does to the mode of the cached functions below it.
mod below {
    use super::*;

    static INNER: Runs = Runs::new();

    #[stampede_cached(ttl = 100)]
    async fn inner() -> u64 {
        INNER.begin().number
    }

    #[stampede_cached(ttl = 100, mode = "ignore")]
    async fn token() -> u64 {
        INNER.begin().number
    }

    #[stampede_cached(ttl = 100)]
    async fn outer(spawned: bool) -> u64 {
        if spawned { tokio::spawn(inner()).await.unwrap() } else { inner().await }
    }

    #[tokio::test(start_paused = true)]
    async fn refresh_and_bypass_reach_through_a_load_and_max_age_does_not() {
        let inner_runs = async |mode: CacheMode, spawned| {
            let scope = CacheScope::new();
            let _inside = scope.guard();
            soon(inner()).await;
            pass(secs(10)).await;
            soon(mode.enter(outer(spawned))).await;
            let stats = inner_cache().stats();
            let is_stored = outer_entry(spawned).get().await.is_some();
            (stats.loads, is_stored)
        };
        assert_eq!(inner_runs(CacheMode::Normal, false).await, (1, true));
        assert_eq!(inner_runs(CacheMode::Refresh, false).await, (2, true));
        assert_eq!(inner_runs(CacheMode::Bypass, false).await, (2, false));
        assert_eq!(inner_runs(CacheMode::MaxAge(secs(1)), false).await, (1, true));
        assert_eq!(inner_runs(CacheMode::Refresh, true).await, (1, true), "not through a spawn");
        assert_eq!(inner_runs(CacheMode::Bypass, true).await, (1, false), "not through a spawn");
    }

    /// A background refresh runs as if it had been asked for by nobody.
    #[tokio::test(start_paused = true)]
    async fn a_background_refresh_runs_in_normal_mode() {
        #[stampede_cached(ttl = 100, early = 90)]
        async fn early() -> u64 {
            inner().await
        }

        let scope = CacheScope::new();
        let _inside = scope.guard();
        soon(early()).await;
        pass(secs(11)).await;
        soon(CacheMode::MaxAge(secs(50)).enter(early())).await;
        settle().await;
        assert_eq!(early_cache().stats().loads, 2);
        assert_eq!(inner_cache().stats().loads, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_function_that_ignores_modes_is_not_reached() {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        soon(token()).await;
        for mode in [CacheMode::Refresh, CacheMode::Bypass, CacheMode::MaxAge(secs(0))] {
            pass(secs(1)).await;
            soon(mode.enter(token())).await;
        }
        assert_eq!(token_cache().stats().loads, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_innermost_mode_counts() {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        soon(inner()).await;
        soon(CacheMode::Refresh.enter(CacheMode::Normal.enter(inner()))).await;
        assert_eq!(inner_cache().stats().loads, 1);
        soon(CacheMode::Normal.enter(CacheMode::Refresh.enter(inner()))).await;
        assert_eq!(inner_cache().stats().loads, 2);
        soon(inner()).await;
        assert_eq!(inner_cache().stats().loads, 2, "it ends with its future");
    }
}

/// A mode belongs to the future it was entered with, not to whatever is polled beside it.
#[tokio::test(start_paused = true)]
async fn a_mode_does_not_leak_to_the_futures_polled_in_between() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    world.gate.open(1);
    soon(read(Arc::clone(&world))).await;
    let mut forced = pin!(CacheMode::Refresh.enter(read(Arc::clone(&world))));
    assert!(poll!(&mut forced).is_pending());
    assert_eq!(read(Arc::clone(&world)).now_or_never(), Some(1));
    assert!(poll!(&mut forced).is_pending());
    world.gate.open(1);
    soon(forced).await;
    assert_eq!(world.runs.count(), 2);
}
