//! P1: while an entry is fresh or early, no caller waits.

use crate::world::{World, pass, secs};
use futures::FutureExt as _;
use stampede_runtime::stampede_cached;
use stampede_tests::{settle, soon};
use std::sync::Arc;

#[tokio::test(start_paused = true)]
async fn p1_fresh_and_early_callers_are_answered_at_the_first_poll() {
    #[stampede_cached(ttl = 100, early = 50, skip(world))]
    async fn read(world: &Arc<World>) -> u64 {
        world.read().await
    }

    let world = World::new();
    world.gate.open(1);
    assert_eq!(soon(read(&world)).await, 1);
    world.set(2);
    for _ in 0..100 {
        assert_eq!(read(&world).now_or_never(), Some(1));
    }

    pass(secs(50)).await;
    for _ in 0..100 {
        assert_eq!(read(&world).now_or_never(), Some(1), "the one who begins the refresh included");
    }
    settle().await;
    for _ in 0..100 {
        assert_eq!(read(&world).now_or_never(), Some(1), "while the refresh runs");
    }
    assert_eq!(world.runs.count(), 2);

    world.gate.open(1);
    settle().await;
    assert_eq!(read(&world).now_or_never(), Some(2));
    let stats = read_cache().stats();
    assert_eq!((stats.misses, stats.loads, stats.refreshes), (1, 2, 1));
    assert_eq!((stats.hits_fresh, stats.hits_early, stats.hits_stale), (101, 200, 0));
}

#[tokio::test(start_paused = true)]
async fn p1_stale_callers_do_not_wait_either() {
    #[stampede_cached(ttl = 100, stale = 50, skip(world))]
    async fn read(world: &Arc<World>) -> u64 {
        world.read().await
    }

    let world = World::new();
    world.gate.open(1);
    assert_eq!(soon(read(&world)).await, 1);
    world.set(2);
    pass(secs(149)).await;
    for _ in 0..100 {
        assert_eq!(read(&world).now_or_never(), Some(1));
    }
    settle().await;
    assert_eq!(world.runs.count(), 2);
    assert_eq!(read_cache().stats().hits_stale, 100);

    pass(secs(1)).await;
    let late = read(&world);
    futures::pin_mut!(late);
    assert_eq!(futures::poll!(&mut late), std::task::Poll::Pending, "the stale window is over");
    world.gate.open(1);
    assert_eq!(soon(late).await, 2);
    assert_eq!(world.runs.count(), 2, "it joined the refresh");
}

#[tokio::test(start_paused = true)]
async fn p1_in_the_caller_only_the_one_who_refreshes_waits() {
    #[stampede_cached(ttl = 100, early = 50, run = "in_caller", skip(world))]
    async fn read(world: &Arc<World>) -> u64 {
        world.read().await
    }

    let world = World::new();
    world.gate.open(1);
    assert_eq!(soon(read(&world)).await, 1);
    world.set(2);
    pass(secs(60)).await;

    let refreshing = read(&world);
    futures::pin_mut!(refreshing);
    assert!(futures::poll!(&mut refreshing).is_pending());
    for _ in 0..100 {
        assert_eq!(read(&world).now_or_never(), Some(1));
    }
    world.gate.open(1);
    assert_eq!(soon(refreshing).await, 2);
    assert_eq!(read(&world).now_or_never(), Some(2));
    assert_eq!(world.runs.count(), 2);
}

/// The one who was elected goes away before it has begun the refresh, or while it runs it: another is elected.
#[tokio::test(start_paused = true)]
async fn p1_a_refreshing_caller_that_is_dropped_is_replaced_and_nobody_waits() {
    #[stampede_cached(ttl = 100, early = 50, run = "in_caller", skip(world))]
    async fn read(world: &Arc<World>) -> u64 {
        world.read().await
    }

    let world = World::new();
    world.gate.open(1);
    assert_eq!(soon(read(&world)).await, 1);
    pass(secs(60)).await;
    assert_eq!(read(&world).now_or_never(), None, "it refreshes, and is dropped");
    assert_eq!(read(&world).now_or_never(), Some(1), "the pause after the abort");
    pass(secs(2)).await;
    world.gate.open(1);
    assert_eq!(soon(read(&world)).await, 1);
    assert_eq!(world.runs.count(), 3);
    assert_eq!(read_cache().stats().abandoned, 1);
}
