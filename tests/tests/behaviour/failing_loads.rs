//! One failure is one load: all callers of the flight get its error, and none retries in turn.

use crate::world::{Failed, pass, secs};
use futures::future::join_all;
use stampede_runtime::{SharedError, stampede_cached};
use stampede_tests::{Gate, Runs, soon, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_callers_of_a_failing_load_are_one_run_and_a_thousand_errors() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 60)]
    async fn failing(id: u32) -> Result<u32, Failed> {
        let run = RUNS.begin();
        GATE.pass().await;
        Err(Failed(format!("#{}", run.number)))
    }

    let callers: Vec<_> = (0..1_000).map(|_| tokio::spawn(failing(1))).collect();
    until(|| failing_cache().stats().coalesced == 999).await;
    GATE.open(1);
    for answer in soon(join_all(callers)).await {
        assert_eq!(answer.unwrap(), Err(Failed("#1".into())));
    }
    assert_eq!(RUNS.count(), 1);

    GATE.open(1);
    assert_eq!(soon(failing(1)).await, Err(Failed("#2".into())), "those who come after it load again");
    let stats = failing_cache().stats();
    assert_eq!((stats.errors, stats.loads, stats.misses, stats.entries), (2, 2, 1_001, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_for_an_error_that_can_not_be_cloned() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 60)]
    async fn failing() -> anyhow::Result<u32> {
        let run = RUNS.begin();
        GATE.pass().await;
        anyhow::bail!("#{}", run.number)
    }

    let callers: Vec<_> = (0..1_000).map(|_| tokio::spawn(failing())).collect();
    until(|| failing_cache().stats().coalesced == 999).await;
    GATE.open(1);
    for answer in soon(join_all(callers)).await {
        let error = answer.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "#1");
        assert!(error.downcast_ref::<SharedError>().is_some());
    }
    assert_eq!(RUNS.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn err_ttl_keeps_an_error_for_that_long() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, early = 30, stale = 30, err_ttl = 5)]
    async fn failing() -> Result<u32, Failed> {
        Err(Failed(format!("#{}", RUNS.begin().number)))
    }

    assert_eq!(soon(failing()).await, Err(Failed("#1".into())));
    pass(secs(4)).await;
    assert_eq!(soon(failing()).await, Err(Failed("#1".into())));
    assert_eq!(failing_entry().get().await, None, "a stored error is no value");
    let stats = failing_cache().stats();
    assert_eq!((stats.hits_fresh, stats.errors, stats.entries, stats.refreshes), (1, 1, 1, 0));
    pass(secs(1)).await;
    assert_eq!(soon(failing()).await, Err(Failed("#2".into())), "it has no stale window");
}

#[tokio::test(start_paused = true)]
async fn a_stored_error_that_can_not_be_cloned_is_shared_too() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, err_ttl = 5)]
    async fn failing() -> anyhow::Result<u32> {
        anyhow::bail!("#{}", RUNS.begin().number)
    }

    for _ in 0..3 {
        assert_eq!(soon(failing()).await.unwrap_err().to_string(), "#1");
    }
    assert_eq!(RUNS.count(), 1);
}
