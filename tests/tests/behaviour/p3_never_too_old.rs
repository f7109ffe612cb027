//! P3: nothing older than `gone_at` is returned, and nothing stale where it isn't allowed.

use crate::world::{Act, Failed, World, pass, secs};
use futures::FutureExt as _;
use stampede_runtime::{Freshness, stampede_cached};
use stampede_tests::{settle, soon};
use std::{sync::Arc, time::Duration};

fn down() -> Result<u64, Failed> {
    Err(Failed("down".into()))
}

#[tokio::test(start_paused = true)]
async fn p3_a_value_is_served_up_to_gone_at_and_not_a_moment_longer() {
    #[stampede_cached(ttl = 10, stale = 5, stale_if_error = 20, skip(world))]
    async fn play(world: &Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    let world = World::new();
    assert_eq!(soon(play(&world)).await, Ok(1));
    world.next(Act::Fail);
    let states = [(0, Freshness::Fresh), (10, Freshness::Stale), (15, Freshness::Expired)];
    let mut at = 0;
    for (moment, state) in states {
        pass(secs(moment - at)).await;
        at = moment;
        assert_eq!(play_entry().state(), Some(state), "at {moment} s");
        assert_eq!(soon(play(&world)).await, Ok(1), "at {moment} s");
    }
    tokio::time::advance(Duration::new(14, 999_999_999)).await;
    assert_eq!(soon(play(&world)).await, Ok(1));
    tokio::time::advance(Duration::from_nanos(1)).await;
    assert_eq!(soon(play(&world)).await, down());
    assert_eq!(play_entry().state(), None);
    assert_eq!(play_entry().get().await, None);
}

#[tokio::test(start_paused = true)]
async fn p3_without_windows_an_expired_value_is_never_seen_again() {
    #[stampede_cached(ttl = 10, skip(world))]
    async fn play(world: &Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    let world = World::new();
    assert_eq!(soon(play(&world)).await, Ok(1));
    world.next(Act::Fail);
    pass(secs(10)).await;
    assert_eq!(soon(play(&world)).await, down());
}

/// `stale_if_error` alone: the old value takes the place of an error, and of nothing else.
#[tokio::test(start_paused = true)]
async fn p3_stale_if_error_serves_nothing_while_the_load_may_still_succeed() {
    #[stampede_cached(ttl = 10, stale_if_error = 20, skip(world))]
    async fn read(world: &Arc<World>) -> u64 {
        world.read().await
    }

    let world = World::new();
    world.gate.open(1);
    assert_eq!(soon(read(&world)).await, 1);
    world.set(2);
    pass(secs(10)).await;
    let caller = tokio::spawn({
        let world = Arc::clone(&world);
        async move { read(&world).await }
    });
    settle().await;
    assert_eq!(read(&world).now_or_never(), None);
    assert_eq!(read_entry().get().await, None);
    world.gate.open(1);
    assert_eq!(soon(caller).await.unwrap(), 2);
}

/// The load fails after `gone_at`, having begun before it.
#[tokio::test(start_paused = true)]
async fn p3_the_end_of_the_load_decides_not_its_beginning() {
    #[stampede_cached(ttl = 10, stale = 5, run = "in_caller", skip(world))]
    async fn held(world: &Arc<World>) -> Result<u64, Failed> {
        world.gate.pass().await;
        world.play().await
    }

    let world = World::new();
    world.gate.open(1);
    assert_eq!(soon(held(&world)).await, Ok(1));
    world.next(Act::Fail);
    pass(secs(14)).await;
    let refreshing = held(&world);
    futures::pin_mut!(refreshing);
    assert!(futures::poll!(&mut refreshing).is_pending());
    pass(secs(1)).await;
    world.gate.open(1);
    assert_eq!(soon(refreshing).await, down(), "what it held when it came is too old now");
}

/// The soft timeout passes after `gone_at`: the caller waits for the load.
#[tokio::test(start_paused = true)]
async fn p3_a_soft_timeout_does_not_serve_what_is_gone() {
    #[stampede_cached(ttl = 10, stale_if_error = 20, soft_timeout = 5, skip(world))]
    async fn read(world: Arc<World>) -> u64 {
        world.read().await
    }

    let world = World::new();
    world.gate.open(1);
    assert_eq!(soon(read(Arc::clone(&world))).await, 1);
    world.set(2);
    pass(secs(26)).await;
    let caller = tokio::spawn(read(Arc::clone(&world)));
    settle().await;
    pass(secs(6)).await;
    assert!(!caller.is_finished());
    world.gate.open(1);
    assert_eq!(soon(caller).await.unwrap(), 2);
}
