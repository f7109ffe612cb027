//! Scopes hold caches of their own, and free them.

use crate::world::{World, pass, secs};
use futures::future::join;
use stampede_runtime::{CacheScope, Freshness, caches, stampede_cached};
use stampede_tests::{Runs, settle, soon};
use std::sync::{Arc, Weak};

#[tokio::test]
async fn enter_gives_each_scope_its_own_cache() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn value() -> u64 {
        RUNS.begin().number
    }

    let (a, b) = (CacheScope::new(), CacheScope::new());
    assert_eq!(soon(value()).await, 1);
    assert_eq!(soon(a.enter(value())).await, 2);
    assert_eq!(soon(b.enter(value())).await, 3);
    assert_eq!(soon(join(a.enter(value()), join(value(), b.enter(value())))).await, (2, (1, 3)));
    assert_eq!(soon(a.enter(b.enter(value()))).await, 3, "the innermost");
    a.enter(async { value_entry().invalidate().await }).await;
    assert_eq!((a.caches()[0].len(), b.caches()[0].len(), value_cache().len()), (0, 1, 1));
    assert_eq!(a.enter(async { caches().iter().count() }).await, 1, "`caches` is of the scope");
    assert!(caches().get(value_cache().name()).is_some());
}

/// Cached functions below a cached function use the scope too; a spawned task does not, a guard reaches it.
#[tokio::test]
async fn a_scope_reaches_through_loads() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn inner() -> u64 {
        RUNS.begin().number
    }
    #[stampede_cached(ttl = 60)]
    async fn outer() -> u64 {
        tokio::task::yield_now().await;
        inner().await
    }

    assert_eq!(soon(outer()).await, 1);
    let scope = CacheScope::new();
    assert_eq!(soon(scope.enter(outer())).await, 2);
    assert_eq!(scope.caches().len(), 2);
    assert_eq!(soon(inner()).await, 1);
    assert_eq!(soon(scope.enter(async { tokio::spawn(inner()).await.unwrap() })).await, 1);
    {
        let _inside = scope.guard();
        assert_eq!(soon(inner()).await, 2);
        assert_eq!(soon(async { tokio::spawn(inner()).await.unwrap() }).await, 2);
    }
    assert_eq!(soon(inner()).await, 1, "the guard is gone");
}

/// A refresh that a call in a scope begins is a refresh of that scope.
#[tokio::test(start_paused = true)]
async fn a_background_refresh_keeps_its_scope() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 100)]
    async fn inner(run: u64) -> u64 {
        run
    }
    #[stampede_cached(ttl = 100, early = 50)]
    async fn outer() -> u64 {
        let run = RUNS.begin().number;
        inner(run).await
    }

    let scope = CacheScope::new();
    soon(scope.enter(outer())).await;
    pass(secs(60)).await;
    soon(scope.enter(outer())).await;
    settle().await;
    assert_eq!(soon(scope.enter(outer())).await, 2);
    assert_eq!(RUNS.count(), 2);
    assert!(inner_cache().is_empty(), "the process's is untouched");
}

/// Jitter, and all else that is drawn, follows from the seed.
#[tokio::test(start_paused = true)]
async fn a_seed_repeats() {
    #[stampede_cached(ttl = 100, jitter = 50)]
    async fn value(key: u64) -> u64 {
        key
    }

    let lifetimes = async |seed| {
        let scope = CacheScope::seeded(seed);
        let _inside = scope.guard();
        for key in 0..20 {
            soon(value(key)).await;
        }
        let mut alive = Vec::new();
        for _ in 0..10 {
            pass(secs(10)).await;
            alive.push((0..20).map(|key| value_entry(key).state() == Some(Freshness::Fresh)).collect::<Vec<_>>());
        }
        alive
    };
    assert_eq!(lifetimes(1).await, lifetimes(1).await);
    assert_ne!(lifetimes(1).await, lifetimes(2).await);
}

/// A field of a type gives each instance its own.
#[tokio::test]
async fn a_scope_as_a_field() {
    static RUNS: Runs = Runs::new();
    #[derive(Clone)]
    struct Shop {
        caches: CacheScope,
    }
    impl Shop {
        #[stampede_cached(ttl = 60, scope = self.caches, key = id)]
        async fn price(&self, id: u64) -> u64 {
            id * 100 + RUNS.begin().number
        }
    }

    let (a, b) = (Shop { caches: CacheScope::new() }, Shop { caches: CacheScope::new() });
    assert_eq!((soon(a.price(7)).await, soon(b.price(7)).await), (701, 702));
    assert_eq!((soon(a.price(7)).await, soon(b.clone().price(7)).await), (701, 702));
    let entered = CacheScope::new();
    assert_eq!(soon(entered.enter(a.price(7))).await, 701, "the field comes first");
    a.price_entry(7).invalidate().await;
    assert_eq!((a.price_cache().len(), b.price_cache().len()), (0, 1));
}

#[stampede_cached(ttl = 60, skip(world))]
async fn held(world: Arc<World>, key: u64) -> Arc<u64> {
    Arc::new(world.read().await)
}

#[tokio::test]
async fn dropping_a_scope_frees_its_memory() {
    let world = World::new();
    world.gate.open(1_000);
    let scope = CacheScope::new();
    let mut values: Vec<Weak<u64>> = Vec::new();
    for key in 0..1_000 {
        values.push(Arc::downgrade(&soon(scope.enter(held(Arc::clone(&world), key))).await));
    }
    assert!(values.iter().all(|value| value.upgrade().is_some()));
    let other_handle = scope.clone();
    drop(scope);
    assert!(values[0].upgrade().is_some());
    drop(other_handle);
    assert!(values.iter().all(|value| value.upgrade().is_none()));
}

/// Also while a load runs, which then serves its callers and is stored nowhere.
#[tokio::test(start_paused = true)]
async fn dropping_a_scope_while_a_load_runs() {
    let world = World::new();
    world.gate.open(1);
    let scope = CacheScope::new();
    let value = Arc::downgrade(&soon(scope.enter(held(Arc::clone(&world), 1))).await);
    let guard = scope.guard();
    let callers: Vec<_> = (0..3).map(|_| tokio::spawn(held(Arc::clone(&world), 2))).collect();
    settle().await;
    let handle = held_cache();
    drop(guard);
    drop(scope);
    assert!(value.upgrade().is_some(), "the handle keeps it");
    drop(handle);
    assert!(value.upgrade().is_none());
    world.gate.open(1);
    for caller in callers {
        let value = soon(caller).await.unwrap();
        assert_eq!(*value, 1);
    }
    assert_eq!(world.runs.count(), 2);
}

/// In a scope that was dropped under it, a call still gets its answer.
#[tokio::test(start_paused = true)]
async fn a_call_in_what_is_left_of_a_scope() {
    let world = World::new();
    world.gate.open(5);
    let scope = CacheScope::new();
    let entered = scope.enter(async {
        tokio::time::sleep(secs(1)).await;
        held(Arc::clone(&world), 1).await
    });
    drop(scope);
    assert_eq!(*soon(entered).await, 1);
}

/// A load of a scope goes on when the scope is gone, and so do the calls below it.
#[tokio::test(start_paused = true)]
async fn a_call_below_a_load_of_a_scope_that_is_gone() {
    #[stampede_cached(ttl = 60, skip(world))]
    async fn outer(world: Arc<World>) -> u64 {
        tokio::time::sleep(secs(1)).await;
        *held(world, 1).await
    }

    let world = World::new();
    world.gate.open(5);
    let scope = CacheScope::new();
    let guard = scope.guard();
    let caller = tokio::spawn(outer(Arc::clone(&world)));
    settle().await;
    drop((guard, scope));
    assert_eq!(soon(caller).await.unwrap(), 1);
    assert!(held_cache().is_empty(), "not in the process's cache");
}
