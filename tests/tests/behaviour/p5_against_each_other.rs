//! P5: changes against each other, and what they do to other keys.

use crate::world::{World, pass, secs};
use futures::FutureExt as _;
use stampede_runtime::{CacheScope, Freshness, Reach, stampede_cached};
use stampede_tests::{Gate, Runs, settle, soon};
use std::sync::Arc;

#[stampede_cached(ttl = 100, early = 50, stale = 50, tags = [format!("tag {}", key % 2)], skip(world))]
async fn read(world: Arc<World>, key: u32) -> u64 {
    world.read().await
}

/// The last of two changes wins, whatever runs meanwhile.
#[tokio::test(start_paused = true)]
async fn p5_the_last_change_wins() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    let entry = read_entry(0);

    let load = tokio::spawn(read(Arc::clone(&world), 0));
    soon(world.gate.arrival()).await;
    entry.insert(7).await;
    entry.invalidate().await;
    assert_eq!(entry.get().await, None, "insert, invalidate");
    entry.invalidate().await;
    entry.insert(8).await;
    assert_eq!(entry.get().await, Some(8), "invalidate, insert");
    entry.expire().await;
    assert_eq!(entry.state(), Some(Freshness::Stale), "insert, expire");
    entry.insert(9).await;
    assert_eq!(entry.state(), Some(Freshness::Fresh), "expire, insert");
    read_cache().clear().await;
    assert_eq!(entry.get().await, None, "insert, clear");
    read_cache().clear().await;
    entry.insert(10).await;
    world.gate.open(1);
    assert_eq!(soon(load).await.unwrap(), 1);
    settle().await;
    assert_eq!(read(world, 0).now_or_never(), Some(10));
}

#[tokio::test(start_paused = true)]
async fn p5_changes_do_not_touch_other_keys() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    let loads: Vec<_> = (0..10).map(|key| tokio::spawn(read(Arc::clone(&world), key))).collect();
    settle().await;
    read_entry(0).invalidate().await;
    read_cache().invalidate_tag("tag 1").await;
    world.gate.open(10);
    for load in loads {
        assert_eq!(soon(load).await.unwrap(), 1);
    }
    for key in 0..10 {
        let kept = key != 0 && key % 2 == 0;
        assert_eq!(read_entry(key).get().await.is_some(), kept, "key {key}");
    }
    assert_eq!(read_cache().stats().refused, 6);
    assert_eq!(read_cache().invalidate_tag("tag 0").await, Reach::Everywhere);
    assert!(read_cache().is_empty());
}

/// The tags of the load that stored the entry count, not those of an earlier one.
#[tokio::test(start_paused = true)]
async fn p5_tags_are_those_of_the_last_load() {
    #[stampede_cached(ttl = 100, skip(tag), tags = [tag])]
    async fn tagged(tag: &'static str) -> &'static str {
        tag
    }

    assert_eq!(soon(tagged("a")).await, "a");
    tagged_entry().expire().await;
    assert_eq!(soon(tagged("b")).await, "b");
    tagged_cache().invalidate_tag("a").await;
    assert_eq!(tagged_entry().get().await, Some("b"));
    tagged_cache().invalidate_tag("b").await;
    assert_eq!(tagged_entry().get().await, None);
}

/// A value that was planted has no tags that its companion can't know. A refresh of it that is superseded by its own must
/// not be its last.
#[tokio::test(start_paused = true)]
async fn p5_an_untagged_value_outlives_the_tags_of_its_refresh() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();

    #[stampede_cached(ttl = 100, early = 50, skip(tag), tags = [tag])]
    async fn one(tag: &'static str) -> u64 {
        let run = RUNS.begin();
        GATE.pass().await;
        run.number
    }

    one_entry().insert(7).await;
    pass(secs(60)).await;
    assert_eq!(soon(one("t")).await, 7);
    soon(GATE.arrival()).await;
    one_cache().invalidate_tag("t").await;
    GATE.open(1);
    settle().await;
    assert_eq!(one_entry().get().await, Some(7), "the refresh began before");
    GATE.open(1);
    soon(one("t")).await;
    settle().await;
    assert_eq!(one("t").now_or_never(), Some(2), "another refresh has begun and ended");
}

/// The whole cache expires, loads in progress included.
#[tokio::test(start_paused = true)]
async fn p5_expire_all() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let world = World::new();
    world.gate.open(5);
    for key in 0..5 {
        soon(read(Arc::clone(&world), key)).await;
    }
    let load = tokio::spawn(read(Arc::clone(&world), 9));
    settle().await;
    read_cache().expire().await;
    world.gate.open(1);
    soon(load).await.unwrap();
    for key in [0, 1, 2, 3, 4, 9] {
        assert_eq!(read_entry(key).state(), Some(Freshness::Stale), "key {key}");
    }
    assert_eq!(read_cache().len(), 6);
}

/// What a future of a change has done, it has done at the call.
#[tokio::test(start_paused = true)]
async fn p5_changes_act_at_the_call_not_at_the_poll() {
    let scope = CacheScope::new();
    let _inside = scope.guard();
    let insert = read_entry(0).insert(5);
    assert_eq!(read_entry(0).get().now_or_never(), Some(Some(5)));
    let get = read_entry(0).get();
    let expire = read_entry(0).expire();
    assert_eq!(read_entry(0).state(), Some(Freshness::Stale));
    let invalidate = read_entry(0).invalidate();
    assert_eq!(read_entry(0).state(), None);
    drop((insert, expire, invalidate));
    assert_eq!(get.await, Some(5));
}
