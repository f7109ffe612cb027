//! P4: a caller that goes away, is parked or is aborted never costs the others their answer.

use crate::world::{World, pass, secs};
use futures::{pin_mut, poll};
use stampede_runtime::stampede_cached;
use stampede_tests::{settle, soon, until};
use std::{pin::pin, sync::Arc};
use tokio::runtime;

/// How many times the loaders below wait.
const AWAITS: usize = 4;

impl World {
    async fn walk(&self) -> u64 {
        let run = self.runs.begin();
        for _ in 0..AWAITS {
            self.gate.pass().await;
        }
        run.number
    }
}

/// The leader gets `steps` await points far and is dropped; a follower is there, or comes only then.
macro_rules! dropped_at_every_await_point {
    ($($test:ident: $run:tt, followed: $followed:literal, alone: $alone:literal;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $test() {
            #[stampede_cached(ttl = 60, run = $run, skip(world))]
            async fn walk(world: &Arc<World>, steps: usize, followed: bool) -> u64 {
                world.walk().await
            }

            for (steps, followed) in (0..=AWAITS).flat_map(|steps| [(steps, true), (steps, false)]) {
                let world = World::new();
                let mut follower = None;
                {
                    let mut leader = pin!(walk(&world, steps, followed));
                    assert!(poll!(&mut leader).is_pending());
                    if followed {
                        let world = Arc::clone(&world);
                        follower = Some(tokio::spawn(async move { walk(&world, steps, followed).await }));
                    }
                    settle().await;
                    for _ in 0..steps.min(AWAITS - 1) {
                        world.gate.open(1);
                        assert!(poll!(&mut leader).is_pending());
                        settle().await;
                    }
                    if steps == AWAITS {
                        // The load has ended, and the leader has not looked yet.
                        world.gate.open(1);
                        settle().await;
                    }
                }
                settle().await;
                world.gate.open(100);
                let loads = if steps == AWAITS && $run != "in_caller" {
                    1
                } else if followed {
                    $followed
                } else {
                    $alone
                };
                let answer = match follower {
                    Some(follower) => soon(follower).await.unwrap(),
                    None => soon(walk(&world, steps, followed)).await,
                };
                assert_eq!(answer, loads, "dropped at {steps}, followed: {followed}");
                assert_eq!(world.runs.count(), loads, "dropped at {steps}, followed: {followed}");
                assert_eq!(world.runs.most_at_once(), 1);
            }
            let stats = walk_cache().stats();
            assert_eq!((stats.in_flight, stats.panics, stats.errors), (0, 0, 0));
        }
    )*};
}

dropped_at_every_await_point! {
    p4_dropped_at_every_await_point: "detached", followed: 1, alone: 1;
    p4_dropped_at_every_await_point_cancellable: "cancellable", followed: 1, alone: 2;
    p4_dropped_at_every_await_point_in_caller: "in_caller", followed: 2, alone: 2;
}

macro_rules! never_polled_again {
    ($($test:ident: $run:tt, loads: $loads:literal, anew: $anew:literal;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $test() {
            #[stampede_cached(ttl = 60, lead_after = 30, run = $run, skip(world))]
            async fn walk(world: &Arc<World>) -> u64 {
                world.walk().await
            }

            let world = World::new();
            let parked = walk(&world);
            pin_mut!(parked);
            assert!(poll!(&mut parked).is_pending());
            let follower = tokio::spawn({
                let world = Arc::clone(&world);
                async move { walk(&world).await }
            });
            settle().await;
            world.gate.open(100);
            assert_eq!(soon(follower).await.unwrap(), $loads);
            assert_eq!(soon(walk(&world)).await, $loads);
            assert_eq!(world.runs.count(), $loads);
            assert_eq!(walk_cache().stats().direct, $anew);
            // Should it ever be polled again, it has an answer too.
            soon(parked).await;
            assert_eq!(soon(walk(&world)).await, $loads);
        }
    )*};
}

never_polled_again! {
    p4_parked_for_ever_after_one_poll: "detached", loads: 1, anew: 0;
    p4_parked_for_ever_after_one_poll_cancellable: "cancellable", loads: 1, anew: 0;
    p4_parked_for_ever_after_one_poll_in_caller: "in_caller", loads: 2, anew: 1;
}

macro_rules! aborted {
    ($($test:ident: $run:tt, loads: $loads:literal;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            #[stampede_cached(ttl = 60, run = $run, skip(world))]
            async fn walk(world: Arc<World>) -> u64 {
                world.walk().await
            }

            let world = World::new();
            let leader = tokio::spawn(walk(Arc::clone(&world)));
            soon(world.gate.arrival()).await;
            let followers: Vec<_> = (0..100).map(|_| tokio::spawn(walk(Arc::clone(&world)))).collect();
            until(|| walk_cache().stats().coalesced == 100).await;
            leader.abort();
            assert!(soon(leader).await.unwrap_err().is_cancelled());
            world.gate.open(100);
            for follower in followers {
                assert_eq!(soon(follower).await.unwrap(), $loads);
            }
            assert_eq!(world.runs.count(), $loads);
        }
    )*};
}

aborted! {
    p4_leader_aborted: "detached", loads: 1;
    p4_leader_aborted_cancellable: "cancellable", loads: 1;
    p4_leader_aborted_in_caller: "in_caller", loads: 2;
}

macro_rules! runtime_dropped {
    ($($test:ident: $run:tt;)*) => {$(
        #[test]
        fn $test() {
            #[stampede_cached(ttl = 60, run = $run, skip(world))]
            async fn walk(world: Arc<World>) -> u64 {
                world.walk().await
            }

            let world = World::new();
            let build = || runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let (first, second) = (build(), build());
            let leader = first.spawn(walk(Arc::clone(&world)));
            second.block_on(soon(world.gate.arrival()));
            let followers: Vec<_> = (0..10).map(|_| second.spawn(walk(Arc::clone(&world)))).collect();
            second.block_on(until(|| walk_cache().stats().coalesced == 10));
            drop(first);
            assert!(second.block_on(soon(leader)).unwrap_err().is_cancelled());
            world.gate.open(100);
            for follower in followers {
                assert_eq!(second.block_on(soon(follower)).unwrap(), 2);
            }
            assert_eq!(world.runs.count(), 2, "one of the followers leads anew");
            let stats = walk_cache().stats();
            assert_eq!((stats.abandoned, stats.in_flight), (1, 0));
        }
    )*};
}

runtime_dropped! {
    p4_leaders_runtime_dropped: "detached";
    p4_leaders_runtime_dropped_cancellable: "cancellable";
    p4_leaders_runtime_dropped_in_caller: "in_caller";
}

/// `cancellable`: the load is dropped with its last caller, not before.
#[tokio::test(start_paused = true)]
async fn p4_cancellable_ends_with_the_last_caller() {
    #[stampede_cached(ttl = 60, run = "cancellable", skip(world))]
    async fn walk(world: &Arc<World>) -> u64 {
        world.walk().await
    }

    let world = World::new();
    let mut callers: Vec<_> = (0..3).map(|_| Box::pin(walk(&world))).collect();
    for caller in &mut callers {
        assert!(poll!(caller).is_pending());
    }
    settle().await;
    callers.truncate(1);
    settle().await;
    assert_eq!(walk_cache().stats().in_flight, 1);
    callers.clear();
    settle().await;
    let stats = walk_cache().stats();
    assert_eq!((stats.in_flight, stats.abandoned, stats.entries), (0, 1, 0));
}

/// Modes make no difference to that: a load with mode `Bypass` has one caller, its last.
#[tokio::test(start_paused = true)]
async fn p4_cancellable_ends_with_the_only_caller_in_mode_bypass() {
    use stampede_runtime::CacheMode::{Bypass, Refresh};
    #[stampede_cached(ttl = 60, run = "cancellable", skip(world))]
    async fn walk(world: Arc<World>) -> u64 {
        world.walk().await
    }

    for mode in [Refresh, Bypass] {
        let world = World::new();
        {
            let caller = mode.enter(walk(Arc::clone(&world)));
            pin_mut!(caller);
            assert!(poll!(&mut caller).is_pending());
            settle().await;
            assert_eq!(walk_cache().stats().in_flight, 1);
        }
        settle().await;
        assert_eq!(walk_cache().stats().in_flight, 0, "{mode:?}");
    }
}

/// `cancellable` never cancels a refresh.
#[tokio::test(start_paused = true)]
async fn p4_cancellable_never_drops_a_refresh() {
    #[stampede_cached(ttl = 60, early = 30, run = "cancellable", skip(world))]
    async fn walk(world: Arc<World>) -> u64 {
        world.walk().await
    }

    let world = World::new();
    world.gate.open(AWAITS);
    assert_eq!(soon(walk(Arc::clone(&world))).await, 1);
    pass(secs(30)).await;
    assert_eq!(soon(walk(Arc::clone(&world))).await, 1);
    settle().await;
    assert_eq!(walk_cache().stats().in_flight, 1);
    world.gate.open(AWAITS);
    settle().await;
    assert_eq!(soon(walk(world)).await, 2);
}
