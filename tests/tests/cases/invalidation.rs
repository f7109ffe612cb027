//! INV: what is invalidated, planted or cleared while loads run, and what their callers get.

use futures::future::join_all;
use stampede_runtime::stampede_cached;
use stampede_tests::{Gate, Runs, soon};
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::Duration,
};
use tokio::time::{Instant, sleep};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn inv_02_invalidated_during_an_early_refresh() {
    static SOURCE: AtomicU64 = AtomicU64::new(1);
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 10, early = 9)]
    async fn f(_id: u32) -> u64 {
        let run = RUNS.begin();
        let value = SOURCE.load(SeqCst);
        if run.number == 2 {
            sleep(ms(1000)).await;
        }
        value
    }

    assert_eq!(soon(f(1)).await, 1);
    sleep(ms(2000)).await;
    assert_eq!(soon(f(1)).await, 1);
    sleep(ms(500)).await;
    assert_eq!((RUNS.count(), f_cache().stats().in_flight), (2, 1));
    SOURCE.store(2, SeqCst);
    f_entry(1).invalidate().await;
    sleep(ms(1500)).await;
    assert_eq!(f_cache().stats().in_flight, 0);
    assert_eq!(f_entry(1).get().await, None);
    assert_eq!(soon(f(1)).await, 2);
    assert_eq!(RUNS.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn inv_02_invalidated_and_loaded_anew_during_an_early_refresh() {
    static SOURCE: AtomicU64 = AtomicU64::new(1);
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 10, early = 9)]
    async fn f(_id: u32) -> u64 {
        let run = RUNS.begin();
        let value = SOURCE.load(SeqCst);
        if run.number == 2 {
            GATE.pass().await;
        }
        value
    }

    assert_eq!(soon(f(1)).await, 1);
    sleep(ms(2000)).await;
    assert_eq!(soon(f(1)).await, 1);
    soon(GATE.arrival()).await;
    SOURCE.store(2, SeqCst);
    f_entry(1).invalidate().await;
    assert_eq!(soon(f(1)).await, 2);
    GATE.open(1);
    sleep(ms(100)).await;
    assert_eq!(f_cache().stats().in_flight, 0);
    assert_eq!((f_entry(1).get().await, RUNS.count()), (Some(2), 3));
}

#[tokio::test(start_paused = true)]
async fn inv_04_waiters_of_an_invalidated_flight() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn f(id: u64) -> Option<String> {
        let run = RUNS.begin();
        sleep(ms(1000)).await;
        Some(format!("{id} by {}", run.number))
    }

    let begin = Instant::now();
    let waiters = tokio::spawn(async { tokio::join!(f(1), f(1)) });
    sleep(ms(500)).await;
    f_entry(1).invalidate().await;
    let late = soon(f(1));
    let (waiters, late) = tokio::join!(waiters, late);
    assert_eq!(waiters.unwrap(), (Some("1 by 1".into()), Some("1 by 1".into())));
    assert_eq!(late, Some("1 by 2".into()));
    assert_eq!(begin.elapsed(), ms(1500));
    assert_eq!(soon(f(1)).await, Some("1 by 2".into()));
}

#[tokio::test(start_paused = true)]
async fn inv_06_insert_while_a_flight_is_pending() {
    #[stampede_cached(ttl = 60)]
    async fn f(_id: u64) -> String {
        sleep(ms(1000)).await;
        "slow".into()
    }

    let callers = tokio::spawn(join_all((0..4).map(|_| f(1))));
    sleep(ms(500)).await;
    f_entry(1).insert("put".into()).await;
    assert_eq!(soon(f(1)).await, "put");
    assert_eq!(soon(callers).await.unwrap(), vec!["slow"; 4]);
    sleep(ms(500)).await;
    assert_eq!(soon(f(1)).await, "put");
    let stats = f_cache().stats();
    assert_eq!((stats.loads, stats.refused, stats.in_flight), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn inv_08_clear_while_flights_are_pending() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn f(id: u64) -> u64 {
        let _run = RUNS.begin();
        sleep(ms(1000)).await;
        id
    }
    async fn hundred() -> Vec<u64> {
        soon(join_all((0..100).map(f))).await
    }

    let pending = tokio::spawn(join_all((0..200).map(|call| f(call % 100))));
    sleep(ms(500)).await;
    assert_eq!(f_cache().stats().in_flight, 100);
    f_cache().clear().await;
    let served = soon(pending).await.unwrap();
    assert!((0..200).map(|call| call % 100).eq(served));
    let stats = f_cache().stats();
    assert_eq!((stats.in_flight, stats.entries, stats.refused), (0, 0, 100));

    assert!((0..100).eq(hundred().await));
    assert!((0..100).eq(hundred().await));
    assert_eq!(RUNS.count(), 200);
    let stats = f_cache().stats();
    assert_eq!((stats.in_flight, stats.entries), (0, 100));
}
