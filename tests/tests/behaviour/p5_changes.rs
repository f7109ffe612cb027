//! P5: no call that begins after a change has returned sees the earlier value. All in the same instant of paused time,
//! with the loader held between its look at the source and its end.

use crate::world::{World, pass, secs};
use futures::FutureExt as _;
use stampede_runtime::{CacheMode, CacheScope, Freshness, stampede_cached};
use stampede_tests::{settle, soon};
use std::sync::Arc;
use tokio::task::JoinHandle;

#[stampede_cached(ttl = 100, early = 50, stale = 50, tags = ["all"], skip(world))]
async fn read(world: Arc<World>) -> u64 {
    world.read().await
}

fn call(world: &Arc<World>) -> JoinHandle<u64> {
    tokio::spawn(read(Arc::clone(world)))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Invalidate,
    InvalidateIf(bool),
    Clear,
    Tag,
    Insert,
}

use Change::{Clear, Insert, Invalidate, InvalidateIf, Tag};

const CHANGES: [Change; 5] = [Invalidate, InvalidateIf(true), Clear, Tag, Insert];

impl Change {
    /// Without awaiting: it acts at the call.
    fn act(self, value: u64) {
        match self {
            Invalidate => drop(read_entry().invalidate()),
            InvalidateIf(answer) => drop(read_entry().invalidate_if(move |_| answer)),
            Clear => drop(read_cache().clear()),
            Tag => drop(read_cache().invalidate_tag("all")),
            Insert => drop(read_entry().insert(value)),
        }
    }
}

/// How the load began that is too late.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Load {
    Miss,
    Early,
    Stale,
    Forced,
}

use Load::{Early, Forced, Miss, Stale};

const LOADS: [Load; 4] = [Miss, Early, Stale, Forced];

impl Load {
    /// Begins it, with the source at 1. The handle is of the caller that began it.
    async fn begin(self, world: &Arc<World>) -> JoinHandle<u64> {
        if self != Miss {
            world.gate.open(1);
            soon(call(world)).await.unwrap();
            soon(world.gate.arrival()).await;
        }
        match self {
            Miss | Forced => {}
            Early => pass(secs(60)).await,
            Stale => pass(secs(120)).await,
        }
        let leader =
            if self == Forced { tokio::spawn(CacheMode::Refresh.enter(read(Arc::clone(world)))) } else { call(world) };
        soon(world.gate.arrival()).await;
        leader
    }
}

/// The old load ends after the change and before the next call; or while the next call's load runs; or after it.
#[tokio::test(start_paused = true)]
async fn p5_a_load_that_began_before_a_change_never_undoes_it() {
    for (change, load, order) in CHANGES
        .into_iter()
        .flat_map(|change| LOADS.map(|load| (change, load)))
        .flat_map(|(change, load)| [0, 1, 2].map(|order| (change, load, order)))
    {
        let what = format!("{change:?} during {load:?}, order {order}");
        let scope = CacheScope::new();
        let _inside = scope.guard();
        let world = World::new();
        let leader = load.begin(&world).await;
        world.set(2);
        change.act(2);
        if order == 0 {
            world.gate.open(1);
            settle().await;
        }
        let next = call(&world);
        settle().await;
        if change == Insert {
            assert_eq!(soon(next).await.unwrap(), 2, "{what}");
            world.gate.open(1);
        } else {
            // The gate lets them through in the order of their coming: the old load first.
            world.gate.open(1);
            settle().await;
            world.gate.open(usize::from(order > 0));
            assert_eq!(soon(next).await.unwrap(), 2, "{what}");
        }
        settle().await;
        let old = soon(leader).await.unwrap();
        assert_eq!(old, 1, "{what}: those who came before have the answer of their time");
        assert_eq!(read(Arc::clone(&world)).now_or_never(), Some(2), "{what}");
        assert_eq!(read_entry().get().await, Some(2), "{what}");
        assert_eq!(read_cache().stats().in_flight, 0, "{what}");
    }
}

/// The old load is slower than the new one.
#[tokio::test(start_paused = true)]
async fn p5_p9_the_old_load_ends_last() {
    #[stampede_cached(ttl = 100, skip(gate))]
    async fn fetch(gate: Arc<World>) -> u64 {
        gate.read().await
    }

    for change in 0..4 {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        let (old, new) = (World::new(), World::new());
        new.set(2);
        let first = tokio::spawn(fetch(Arc::clone(&old)));
        soon(old.gate.arrival()).await;
        match change {
            0 => drop(fetch_entry().invalidate()),
            1 => drop(fetch_cache().clear()),
            2 => drop(fetch_entry().invalidate_if(|_| true)),
            _ => {}
        }
        new.gate.open(1);
        let mode = if change == 3 { CacheMode::Refresh } else { CacheMode::Normal };
        assert_eq!(soon(mode.enter(fetch(Arc::clone(&new)))).await, 2);
        old.gate.open(1);
        assert_eq!(soon(first).await.unwrap(), 1);
        assert_eq!(fetch(new).now_or_never(), Some(2), "change {change}");
        assert_eq!(fetch_cache().stats().refused, 1);
    }
}

/// `invalidate_if` leaves the entry where the condition doesn't hold, and stops loads all the same; the entry is then
/// refreshed as ever.
#[tokio::test(start_paused = true)]
async fn p5_a_condition_that_does_not_hold_keeps_the_entry_and_its_refreshes() {
    for load in [Early, Stale] {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        let world = World::new();
        soon(load.begin(&world).await).await.unwrap();
        world.set(2);
        InvalidateIf(false).act(0);
        assert_eq!(read_entry().get().await, Some(1));
        world.gate.open(1);
        settle().await;
        assert_eq!(read_entry().get().await, Some(1), "the refresh was too late");
        pass(secs(2)).await;
        soon(call(&world)).await.unwrap();
        settle().await;
        assert_eq!(world.runs.count(), 3, "{load:?}: another refresh begins");
        world.gate.open(1);
        settle().await;
        assert_eq!(read_entry().get().await, Some(2));
    }
}

/// What was planted while a load ran is refreshed in its windows as everything else, even while that load still runs.
#[tokio::test(start_paused = true)]
async fn p5_a_planted_value_is_refreshed_though_an_older_load_never_ends() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let (stuck, world) = (World::new(), World::new());
    let leader = Miss.begin(&stuck).await;
    Insert.act(2);
    world.set(3);
    world.gate.open(10);
    pass(secs(60)).await;
    assert_eq!(soon(call(&world)).await.unwrap(), 2);
    settle().await;
    assert_eq!(read(Arc::clone(&world)).now_or_never(), Some(3));
    stuck.gate.open(1);
    assert_eq!(soon(leader).await.unwrap(), 1);
    assert_eq!(read(world).now_or_never(), Some(3));
}

#[tokio::test(start_paused = true)]
async fn p5_expire_makes_an_entry_stale_and_a_running_load_too() {
    for load in [Miss, Early, Forced] {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        let world = World::new();
        let leader = load.begin(&world).await;
        world.set(2);
        read_entry().expire().await;
        if load != Miss {
            assert_eq!(read_entry().state(), Some(Freshness::Stale), "{load:?}");
        }
        world.gate.open(1);
        assert_eq!(soon(leader).await.unwrap(), 1, "{load:?}");
        settle().await;
        assert_eq!(read_entry().state(), Some(Freshness::Stale), "{load:?}: it began before");
        assert_eq!(soon(call(&world)).await.unwrap(), 1, "{load:?}: `stale` allows it");
        settle().await;
        world.gate.open(1);
        settle().await;
        assert_eq!(read_entry().state(), Some(Freshness::Fresh), "{load:?}");
        assert_eq!(read(world).now_or_never(), Some(2), "{load:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn p5_expire_without_a_stale_window_means_a_load() {
    #[stampede_cached(ttl = 100, skip(world))]
    async fn strict(world: &Arc<World>) -> u64 {
        world.read().await
    }

    for whole_cache in [false, true] {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        let world = World::new();
        world.gate.open(2);
        assert_eq!(soon(strict(&world)).await, 1);
        world.set(2);
        if whole_cache {
            strict_cache().expire().await;
        } else {
            strict_entry().expire().await;
        }
        assert_eq!(strict_entry().get().await, None);
        assert_eq!(soon(strict(&world)).await, 2);
    }
}
