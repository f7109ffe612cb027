//! P9, in memory: what an older flight brings never replaces what is newer. (See also `p5_changes`.)

use crate::world::{Act, Failed, World, pass, secs};
use futures::FutureExt as _;
use stampede_runtime::{CacheMode, CacheScope, stampede_cached};
use stampede_tests::{settle, soon};
use std::sync::Arc;

#[stampede_cached(ttl = 1_000, lead_after = 30, skip(world))]
async fn read(world: Arc<World>) -> u64 {
    world.read().await
}

/// The leader is late, another has led anew; the first to end is the newer, or the older.
#[tokio::test(start_paused = true)]
async fn p9_a_leader_that_comes_late_replaces_nothing_newer() {
    for older_first in [false, true] {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        let (old, new) = (World::new(), World::new());
        new.set(2);
        let late = tokio::spawn(read(Arc::clone(&old)));
        settle().await;
        pass(secs(31)).await;
        let next = tokio::spawn(read(Arc::clone(&new)));
        settle().await;
        let (first, second) = if older_first { (&old, &new) } else { (&new, &old) };
        first.gate.open(1);
        settle().await;
        second.gate.open(1);
        assert_eq!(soon(late).await.unwrap(), 1);
        let expected = if older_first { 1 } else { 2 };
        assert!(soon(next).await.unwrap() >= expected);
        assert_eq!(read(new).now_or_never(), Some(2), "older first: {older_first}");
        let stats = read_cache().stats();
        assert_eq!((stats.direct, stats.refused), (1, u64::from(!older_first)));
    }
}

/// In the caller's own task, a leader that is never polled again until much later.
#[tokio::test(start_paused = true)]
async fn p9_a_parked_leader_replaces_nothing_newer() {
    #[stampede_cached(ttl = 1_000, lead_after = 30, run = "in_caller", skip(world))]
    async fn here(world: &Arc<World>) -> u64 {
        world.read().await
    }

    let (old, new) = (World::new(), World::new());
    new.set(2);
    let parked = here(&old);
    futures::pin_mut!(parked);
    assert!(futures::poll!(&mut parked).is_pending());
    new.gate.open(1);
    assert!(futures::poll!(std::pin::pin!(here(&new))).is_pending(), "it follows");
    settle().await;
    pass(secs(31)).await;
    assert_eq!(soon(here(&new)).await, 2);
    old.gate.open(1);
    assert_eq!(soon(parked).await, 1);
    assert_eq!(here(&new).now_or_never(), Some(2));
}

/// An older load fails: its error is not stored over the newer value, does not remove it, and begins no pause.
#[tokio::test(start_paused = true)]
async fn p9_an_older_failure_touches_nothing_newer() {
    #[stampede_cached(ttl = 100, early = 50, err_ttl = 50, outage = |_: &Failed| false, skip(world))]
    async fn held(world: Arc<World>) -> Result<u64, Failed> {
        world.gate.pass().await;
        world.play().await
    }

    for act in [Act::Fail, Act::Panic] {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        let (old, new) = (World::new(), World::new());
        old.next(act);
        let first = tokio::spawn(held(Arc::clone(&old)));
        settle().await;
        held_entry().insert(7).await;
        old.gate.open(1);
        let _ = soon(first).await;
        settle().await;
        assert_eq!(held(Arc::clone(&new)).now_or_never(), Some(Ok(7)));
        pass(secs(60)).await;
        new.gate.open(1);
        assert_eq!(soon(held(Arc::clone(&new))).await, Ok(7));
        settle().await;
        assert_eq!(held(new).now_or_never(), Some(Ok(1)), "{act:?}: its refresh was not paused");
    }
}

/// `Refresh` while a refresh runs: the forced one is newer, in whatever order they end.
#[tokio::test(start_paused = true)]
async fn p9_a_forced_load_is_newer_than_the_refresh_that_runs() {
    #[stampede_cached(ttl = 100, early = 50, skip(world))]
    async fn read(world: Arc<World>) -> u64 {
        world.read().await
    }

    for older_first in [false, true] {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        let (old, new) = (World::new(), World::new());
        new.set(2);
        read_entry().insert(0).await;
        pass(secs(60)).await;
        assert_eq!(soon(read(Arc::clone(&old))).await, 0);
        soon(old.gate.arrival()).await;
        let forced = tokio::spawn(CacheMode::Refresh.enter(read(Arc::clone(&new))));
        soon(new.gate.arrival()).await;
        let (first, second) = if older_first { (&old, &new) } else { (&new, &old) };
        first.gate.open(1);
        settle().await;
        if older_first {
            assert_eq!(read_entry().get().await, Some(0), "what was superseded stores nothing");
        }
        second.gate.open(1);
        settle().await;
        assert_eq!(soon(forced).await.unwrap(), 2);
        assert_eq!(read(new).now_or_never(), Some(2));
    }
}
