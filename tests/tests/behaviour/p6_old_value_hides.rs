//! P6: an `Err`, a panic, a timeout or an abort never reaches callers while an `Ok` value is left, and starts the pause.

use crate::world::{Act, Failed, World, ms, panic_of, pass, secs};
use futures::FutureExt as _;
use stampede_runtime::{CacheMode, CacheScope, stampede_cached};
use stampede_tests::{settle, soon};
use std::{sync::Arc, time::Duration};

#[stampede_cached(ttl = 1_000, early = 900, timeout = 5, backoff = 10, skip(world))]
async fn early(world: Arc<World>) -> Result<u64, Failed> {
    world.play().await
}

#[stampede_cached(ttl = 10, stale = 1_000, timeout = 5, backoff = 10, skip(world))]
async fn stale(world: Arc<World>) -> Result<u64, Failed> {
    world.play().await
}

#[stampede_cached(ttl = 10, stale_if_error = 1_000, timeout = 5, skip(world))]
async fn on_error(world: Arc<World>) -> Result<u64, Failed> {
    world.play().await
}

const FAILURES: [Act; 3] = [Act::Fail, Act::Panic, Act::Hang];

macro_rules! hidden {
    ($($test:ident: $function:ident at $at:literal;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $test() {
            for act in FAILURES {
                let scope = CacheScope::new();
                let inside = scope.guard();
                let world = World::new();
                assert_eq!(soon($function(Arc::clone(&world))).await, Ok(1));
                pass(secs($at)).await;
                world.next(act);
                for _ in 0..10 {
                    assert_eq!(soon($function(Arc::clone(&world))).await, Ok(1), "{act:?}");
                }
                // The one that hangs is given up after its timeout.
                settle().await;
                pass(secs(5)).await;
                assert_eq!($function(Arc::clone(&world)).now_or_never(), Some(Ok(1)), "{act:?}: in the pause");
                let stats = scope.caches()[0].stats();
                assert_eq!((stats.loads, stats.pauses), (2, 1), "{act:?}: one failure, then a pause");
                world.next(Act::Answer);
                pass(secs(12)).await;
                soon($function(Arc::clone(&world))).await.unwrap();
                settle().await;
                assert_eq!(soon($function(Arc::clone(&world))).await, Ok(3), "{act:?}: it recovers");
                drop(inside);
            }
        }
    )*};
}

hidden! {
    p6_early_refresh_fails: early at 100;
    p6_stale_refresh_fails: stale at 10;
}

#[tokio::test(start_paused = true)]
async fn p6_stale_if_error_serves_the_old_value_for_the_failed_load() {
    for act in FAILURES {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        let world = World::new();
        assert_eq!(soon(on_error(Arc::clone(&world))).await, Ok(1));
        pass(secs(10)).await;
        world.next(act);
        let callers = (0..100).map(|_| on_error(Arc::clone(&world)));
        for answer in soon(futures::future::join_all(callers)).await {
            assert_eq!(answer, Ok(1), "{act:?}");
        }
        for _ in 0..10 {
            assert_eq!(on_error(Arc::clone(&world)).now_or_never(), Some(Ok(1)), "{act:?}: at once in the pause");
        }
        let stats = on_error_cache().stats();
        assert_eq!((stats.loads, stats.pauses, stats.served_on_error), (2, 1, 110), "{act:?}");
        world.next(Act::Answer);
        pass(secs(2)).await;
        assert_eq!(soon(on_error(world)).await, Ok(3), "{act:?}: after the pause a call loads");
    }
}

/// Backoff 1 s: 1, 2, 4, 8, 16, 30, 30 s, ± 10 %; and from the beginning after a success.
async fn doubles(first: u64, call: impl AsyncFn(Arc<World>) -> Result<u64, Failed>) {
    let world = World::new();
    soon(call(Arc::clone(&world))).await.unwrap();
    pass(secs(100)).await;
    world.next(Act::Fail);
    for round in 1..=2 {
        let mut runs = world.runs.count();
        assert_eq!(soon(call(Arc::clone(&world))).await.map(drop), Ok(()));
        settle().await;
        for pause in [1, 2, 4, 8, 16, 30, 30].map(|pause| Duration::from_secs(pause).max(secs(first))) {
            runs += 1;
            assert_eq!(world.runs.count(), runs, "round {round}, before the pause of {pause:?}");
            pass(pause.mul_f64(0.89)).await;
            for _ in 0..3 {
                assert_eq!(soon(call(Arc::clone(&world))).await.map(drop), Ok(()));
                settle().await;
            }
            assert_eq!(world.runs.count(), runs, "round {round}, in the pause of {pause:?}");
            pass(pause.mul_f64(0.22)).await;
            assert_eq!(soon(call(Arc::clone(&world))).await.map(drop), Ok(()));
            settle().await;
        }
        world.next(Act::Answer);
        pass(secs(34)).await;
        assert_eq!(soon(call(Arc::clone(&world))).await.map(drop), Ok(()));
        settle().await;
        world.next(Act::Fail);
        pass(secs(110)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p6_the_pause_doubles_on_the_early_path() {
    #[stampede_cached(ttl = 10_000, early = 9_900, skip(world))]
    async fn early(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }
    doubles(1, early).await;
    assert_eq!(early_cache().stats().pauses, 16);
}

#[tokio::test(start_paused = true)]
async fn p6_the_pause_doubles_on_the_stale_path() {
    #[stampede_cached(ttl = 10, stale = "1h", skip(world))]
    async fn stale(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }
    doubles(1, stale).await;
    assert_eq!(stale_cache().stats().pauses, 16);
}

#[tokio::test(start_paused = true)]
async fn p6_the_pause_doubles_on_the_stale_if_error_path() {
    #[stampede_cached(ttl = 10, stale_if_error = "1h", skip(world))]
    async fn on_error(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }
    doubles(1, on_error).await;
    assert_eq!(on_error_cache().stats().pauses, 16);
}

/// An abort is hidden as well: the leader in whose task the load runs is dropped.
#[tokio::test(start_paused = true)]
async fn p6_an_abort_is_hidden() {
    #[stampede_cached(ttl = 10, stale_if_error = 1_000, run = "in_caller", skip(world))]
    async fn play(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    let world = World::new();
    assert_eq!(soon(play(Arc::clone(&world))).await, Ok(1));
    pass(secs(10)).await;
    world.next(Act::Hang);
    let leader = tokio::spawn(play(Arc::clone(&world)));
    settle().await;
    let follower = tokio::spawn(play(Arc::clone(&world)));
    settle().await;
    leader.abort();
    assert_eq!(soon(follower).await.unwrap(), Ok(1));
    assert_eq!(play(world).now_or_never(), Some(Ok(1)), "in the pause");
    assert_eq!(play_cache().stats().pauses, 1);
}

/// Which errors the old value may hide is the user's to say: the others remove it, on every path.
#[tokio::test(start_paused = true)]
async fn p6_an_error_that_is_no_outage_removes_the_value() {
    #[stampede_cached(
        ttl = 100, early = 50, stale = 100, stale_if_error = 200, outage = |error: &Failed| error.0 != "down", skip(world)
    )]
    async fn play(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    for (at, waits) in [(60, false), (150, false), (250, true)] {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        let world = World::new();
        assert_eq!(soon(play(Arc::clone(&world))).await, Ok(1));
        pass(secs(at)).await;
        world.next(Act::Fail);
        let answer = soon(play(Arc::clone(&world))).await;
        assert_eq!(answer, if waits { Err(Failed("down".into())) } else { Ok(1) }, "at {at} s");
        settle().await;
        assert_eq!(play_entry().state(), None, "at {at} s: it is removed");
        assert_eq!(soon(play(Arc::clone(&world))).await, Err(Failed("down".into())));
        assert_eq!(play_cache().stats().pauses, 0);
        world.next(Act::Panic);
        play_entry().insert(5).await;
        pass(secs(at)).await;
        assert_eq!(soon(play(Arc::clone(&world))).await, Ok(5), "at {at} s: a panic is hidden all the same");
    }
}

/// An `Err` is never stored over an `Ok`, however long errors live.
#[tokio::test(start_paused = true)]
async fn p6_an_error_is_not_stored_over_a_value() {
    #[stampede_cached(ttl = 10, stale_if_error = 20, err_ttl = 5, skip(world))]
    async fn play(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    let world = World::new();
    assert_eq!(soon(play(Arc::clone(&world))).await, Ok(1));
    world.next(Act::Fail);
    pass(secs(10)).await;
    assert_eq!(soon(play(Arc::clone(&world))).await, Ok(1));
    assert_eq!(soon(CacheMode::Refresh.enter(play(Arc::clone(&world)))).await, Ok(1), "in mode `Refresh` too");
    pass(secs(20)).await;
    assert_eq!(soon(play(Arc::clone(&world))).await, Err(Failed("down".into())));
    assert_eq!(play(Arc::clone(&world)).now_or_never(), Some(Err(Failed("down".into()))), "now it is stored");
}

/// A value that is not to be stored takes the old one away.
#[tokio::test(start_paused = true)]
async fn p6_do_not_store_is_no_failure() {
    #[stampede_cached(ttl = 100, early = 50, ttl_of = |run: &u64| (*run == 2).then_some(Duration::ZERO), skip(world))]
    async fn play(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    let world = World::new();
    assert_eq!(soon(play(Arc::clone(&world))).await, Ok(1));
    pass(secs(60)).await;
    assert_eq!(soon(play(Arc::clone(&world))).await, Ok(1));
    settle().await;
    assert_eq!(play_entry().state(), None);
    assert_eq!(soon(play(world)).await, Ok(3));
}

/// A call with no usable value always loads, whatever failed a moment ago.
#[tokio::test(start_paused = true)]
async fn p6_without_a_value_there_is_no_pause() {
    #[stampede_cached(ttl = 10, stale_if_error = 5, skip(world))]
    async fn play(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    let world = World::new();
    world.next(Act::Fail);
    for run in 1..=5 {
        assert_eq!(soon(play(Arc::clone(&world))).await, Err(Failed("down".into())));
        assert_eq!(world.runs.count(), run);
    }
    world.next(Act::Answer);
    assert_eq!(soon(play(Arc::clone(&world))).await, Ok(6));
    world.next(Act::Panic);
    pass(secs(14) + ms(999)).await;
    assert_eq!(soon(play(Arc::clone(&world))).await, Ok(6));
    pass(ms(1)).await;
    assert_eq!(panic_of(soon(play(world))).await, "boom 8");
}
