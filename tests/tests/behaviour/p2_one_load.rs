//! P2: at any instant at most one load of a key runs.

use crate::world::{World, secs};
use futures::future::join_all;
use stampede_runtime::{CacheMode, stampede_cached};
use stampede_tests::{Gate, Runs, settle, soon, until};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::SeqCst},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn p2_ten_thousand_callers_of_a_missing_key_are_one_load() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 60)]
    async fn report(date: &str) -> String {
        let run = RUNS.begin();
        GATE.pass().await;
        format!("{date} #{}", run.number)
    }

    let callers: Vec<_> = (0..10_000).map(|_| tokio::spawn(report("2026-11-30"))).collect();
    until(|| report_cache().stats().coalesced == 9_999).await;
    GATE.open(1);
    for answer in soon(join_all(callers)).await {
        assert_eq!(answer.unwrap(), "2026-11-30 #1");
    }
    assert_eq!(RUNS.count(), 1);
    let stats = report_cache().stats();
    assert_eq!((stats.misses, stats.loads, stats.coalesced), (10_000, 1, 9_999));
    assert_eq!((stats.in_flight, stats.entries, stats.load_times.count()), (0, 1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn p2_a_thousand_keys_with_a_hundred_callers_each_are_a_thousand_loads() {
    static RUNS: [Runs; 1_000] = [const { Runs::new() }; 1_000];
    #[stampede_cached(ttl = 60)]
    async fn square(n: usize) -> usize {
        let _run = RUNS[n].begin();
        tokio::task::yield_now().await;
        n * n
    }

    let callers: Vec<_> = (0..100_000).map(|caller| tokio::spawn(square(caller % 1_000))).collect();
    for (caller, answer) in soon(join_all(callers)).await.into_iter().enumerate() {
        assert_eq!(answer.unwrap(), (caller % 1_000).pow(2));
    }
    assert!(RUNS.iter().all(|runs| runs.count() == 1));
    assert_eq!(square_cache().stats().loads, 1_000);
}

/// However often it is invalidated: one superseded load and one newer.
#[tokio::test(start_paused = true)]
async fn p2_at_most_one_superseded_load_beside_a_newer_one() {
    #[stampede_cached(ttl = 60, skip(world))]
    async fn read(world: Arc<World>) -> u64 {
        world.read().await
    }

    let world = World::new();
    let mut callers = Vec::new();
    for version in 1..=50 {
        world.set(version);
        read_entry().invalidate().await;
        callers.push((version, tokio::spawn(read(Arc::clone(&world)))));
        callers.push((version, tokio::spawn(read(Arc::clone(&world)))));
        settle().await;
    }
    assert_eq!(world.runs.count(), 2);
    world.gate.open(1_000);
    for (version, caller) in callers {
        let answer = soon(caller).await.unwrap();
        assert!(answer >= version, "asked after version {version}, got {answer}");
    }
    assert_eq!(world.runs.most_at_once(), 2);
    assert_eq!(world.runs.count(), 3);
    let stats = read_cache().stats();
    assert_eq!((stats.invalidations, stats.refused, stats.in_flight), (50, 2, 0));
}

/// The same by `Refresh`, and with all of it at once.
#[tokio::test(start_paused = true)]
async fn p2_superseding_of_all_kinds_keeps_to_two_loads() {
    #[stampede_cached(ttl = 60, early = 30, lead_after = "1h", tags = ["all"], skip(world))]
    async fn read(world: Arc<World>) -> u64 {
        world.read().await
    }

    let world = World::new();
    let mut callers = Vec::new();
    for round in 0..60 {
        match round % 6 {
            0 => {
                read_entry().invalidate().await;
            }
            1 => {
                read_cache().clear().await;
            }
            2 => {
                read_cache().invalidate_tag("all").await;
            }
            3 => {
                read_entry().invalidate_if(|_| false).await;
            }
            4 => callers.push(tokio::spawn(CacheMode::Refresh.enter(read(Arc::clone(&world))))),
            _ => {
                read_entry().insert(round).await;
                tokio::time::advance(secs(31)).await;
            }
        }
        callers.push(tokio::spawn(read(Arc::clone(&world))));
        settle().await;
    }
    world.gate.open(1_000);
    for answer in soon(join_all(callers)).await {
        answer.unwrap();
    }
    assert!(world.runs.most_at_once() <= 2, "{} at once", world.runs.most_at_once());
}

/// A storm on real threads: between two invalidations a key has one load, and never more than two run.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn p2_a_storm_of_calls_and_invalidations() {
    static RUNS: [Runs; 8] = [const { Runs::new() }; 8];
    static VERSION: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];
    #[stampede_cached(ttl = 60)]
    async fn version(key: usize) -> u64 {
        let _run = RUNS[key].begin();
        let version = VERSION[key].load(SeqCst);
        tokio::task::yield_now().await;
        version
    }

    let storm = (0..8).map(|task| {
        tokio::spawn(async move {
            for round in 0..500 {
                let key = (task + round) % 8;
                let least = if round % 5 == 0 {
                    let least = VERSION[key].fetch_add(1, SeqCst) + 1;
                    version_entry(key).invalidate().await;
                    least
                } else {
                    0
                };
                let seen = version(key).await;
                assert!(seen >= least, "key {key}: invalidated at {least}, got {seen}");
            }
        })
    });
    for done in soon(join_all(storm)).await {
        done.unwrap();
    }
    assert!(RUNS.iter().all(|runs| runs.most_at_once() <= 2));
    assert!(RUNS.iter().map(Runs::count).sum::<u64>() < 2_000, "most calls are answered from memory or join");
    assert_eq!(version_cache().stats().in_flight, 0);
}
