//! `cached_only`: an answer without a load, or none. It starts nothing.

use crate::world::{Act, Failed, World, pass, secs};
use futures::{FutureExt as _, future::join};
use stampede_runtime::{CacheScope, cached_only, stampede_cached};
use stampede_tests::{settle, soon};
use std::sync::Arc;

#[stampede_cached(ttl = 100, early = 50, stale = 50, stale_if_error = 100, skip(world))]
async fn play(world: Arc<World>, key: u32) -> Result<u64, Failed> {
    world.play().await
}

#[tokio::test(start_paused = true)]
async fn it_starts_neither_a_load_nor_a_refresh() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    let ask = || cached_only(play(Arc::clone(&world), 1));
    assert_eq!(soon(ask()).await, None);
    settle().await;
    assert_eq!(world.runs.count(), 0);
    soon(play(Arc::clone(&world), 1)).await.unwrap();
    for (time, expected) in [(0, Some(Ok(1))), (60, Some(Ok(1))), (60, Some(Ok(1))), (40, None), (1_000, None)] {
        pass(secs(time)).await;
        assert_eq!(soon(ask()).await, expected);
        settle().await;
    }
    assert_eq!(world.runs.count(), 1);
    // The refresh that it did not begin is left to others.
    soon(play(Arc::clone(&world), 1)).await.unwrap();
    pass(secs(60)).await;
    ask().await.unwrap().unwrap();
    soon(play(Arc::clone(&world), 1)).await.unwrap();
    settle().await;
    assert_eq!(world.runs.count(), 3);
}

/// It joins no flight either.
#[tokio::test(start_paused = true)]
async fn it_joins_nothing() {
    #[stampede_cached(ttl = 100, skip(world))]
    async fn read(world: Arc<World>) -> u64 {
        world.read().await
    }

    let world = World::new();
    let load = tokio::spawn(read(Arc::clone(&world)));
    settle().await;
    assert_eq!(cached_only(read(Arc::clone(&world))).now_or_never(), Some(None));
    assert_eq!(read_cache().stats().coalesced, 0);
    world.gate.open(1);
    soon(load).await.unwrap();
    assert_eq!(cached_only(read(world)).now_or_never(), Some(Some(1)));
}

/// Of several calls all must be there; what is not cached is awaited as ever.
#[tokio::test(start_paused = true)]
async fn it_is_for_all_calls_below() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    let ask = |a, b| cached_only(join(play(Arc::clone(&world), a), play(Arc::clone(&world), b)));
    soon(play(Arc::clone(&world), 1)).await.unwrap();
    assert_eq!(soon(ask(1, 2)).await, None);
    soon(play(Arc::clone(&world), 2)).await.unwrap();
    assert_eq!(soon(ask(1, 2)).await, Some((Ok(1), Ok(2))));
    let slow = cached_only(async {
        tokio::time::sleep(secs(1)).await;
        play(Arc::clone(&world), 1).await
    });
    assert_eq!(soon(slow).await, Some(Ok(1)));
}

/// In the pause after a failure the old value is what a call would get.
#[tokio::test(start_paused = true)]
async fn it_gives_the_old_value_in_the_pause() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    soon(play(Arc::clone(&world), 1)).await.unwrap();
    world.next(Act::Fail);
    pass(secs(160)).await;
    let ask = || cached_only(play(Arc::clone(&world), 1));
    assert_eq!(soon(ask()).await, None);
    assert_eq!(soon(play(Arc::clone(&world), 1)).await, Ok(1));
    assert_eq!(soon(ask()).await, Some(Ok(1)));
}
