//! TST: in users' tests and runtimes, whichever they are.

use stampede_runtime::{Freshness, SharedError, stampede_cached};
use stampede_tests::{Gate, Runs, soon, until};
use std::time::Duration;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::{LocalSet, block_in_place, spawn_blocking},
    time::{Instant, advance, sleep},
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn single_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn tst_02_many_runtimes_with_paused_clocks() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 10, early = 5)]
    async fn f(_id: u32) -> u64 {
        RUNS.begin().number
    }

    for runtime in 0..3 {
        let first = runtime * 2 + 1;
        Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
            assert_eq!((soon(f(1)).await, soon(f(1)).await), (first, first));
            sleep(ms(6000)).await;
            assert_eq!(f_entry(1).state(), Some(Freshness::Early));
            assert_eq!(soon(f(1)).await, first);
            sleep(ms(1)).await;
            assert_eq!(soon(f(1)).await, first + 1);
            assert_eq!(RUNS.count(), first + 1);
        });
    }
}

#[test]
fn tst_02_many_runtimes_with_real_clocks() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 3600, stale = 3600)]
    async fn f(_id: u32) -> u64 {
        let run = RUNS.begin();
        tokio::task::yield_now().await;
        run.number
    }

    for runtime in 1..=3 {
        single_thread().block_on(async {
            assert_eq!((soon(f(1)).await, soon(f(1)).await), (runtime, runtime));
            f_entry(1).expire().await;
            assert_eq!(soon(f(1)).await, runtime);
            // The refresh runs in this runtime, not in the one that is gone.
            until(|| f_entry(1).state() == Some(Freshness::Fresh)).await;
            assert_eq!(soon(f(1)).await, runtime + 1);
        });
    }
    assert_eq!(RUNS.count(), 4);
}

#[test]
fn tst_02_a_refresh_that_died_with_its_runtime() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 3600, stale = 3600, backoff = "1ms")]
    async fn f(_id: u32) -> u64 {
        let run = RUNS.begin();
        if run.number == 2 {
            GATE.pass().await;
        }
        run.number
    }

    single_thread().block_on(async {
        assert_eq!(soon(f(1)).await, 1);
        f_entry(1).expire().await;
        assert_eq!(soon(f(1)).await, 1);
        soon(GATE.arrival()).await;
    });
    assert_eq!(f_cache().stats().in_flight, 0);
    single_thread().block_on(async {
        soon(async {
            while f(1).await == 1 {
                sleep(ms(1)).await;
            }
        })
        .await;
        assert_eq!(soon(f(1)).await, 3);
    });
}

#[tokio::test(start_paused = true)]
async fn tst_04_ttl_follows_the_paused_clock() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 300)]
    async fn f(_id: u32) -> u64 {
        RUNS.begin().number
    }

    assert_eq!(soon(f(1)).await, 1);
    advance(ms(299_000)).await;
    assert_eq!(soon(f(1)).await, 1);
    advance(ms(2000)).await;
    assert_eq!(soon(f(1)).await, 2);
}

#[tokio::test(start_paused = true)]
async fn tst_04_all_windows_follow_the_paused_clock() {
    #[stampede_cached(ttl = 300, early = 60, stale = 600, stale_if_error = 900)]
    async fn f(_id: u32) -> Result<u64, String> {
        Ok(1)
    }

    let states = [
        (0, Some(Freshness::Fresh)),
        (240_000, Some(Freshness::Early)),
        (300_000, Some(Freshness::Stale)),
        (900_000, Some(Freshness::Expired)),
        (1_200_000, None),
    ];
    assert_eq!(soon(f(1)).await, Ok(1));
    let stored = Instant::now();
    for (at, state) in states {
        advance(ms(at).saturating_sub(stored.elapsed() + ms(1))).await;
        assert!(at == 0 || f_entry(1).state() != state, "too soon at {at} ms");
        advance(ms(at).saturating_sub(stored.elapsed())).await;
        assert_eq!(f_entry(1).state(), state, "at {at} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn tst_04_waits_follow_the_paused_clock() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 300, lead_after = 120)]
    async fn f(_id: u32) -> u64 {
        let run = RUNS.begin();
        if run.number == 1 {
            std::future::pending::<()>().await;
        }
        run.number
    }

    let begin = Instant::now();
    let leader = tokio::spawn(f(1));
    let follower = tokio::spawn(f(1));
    assert_eq!(tokio::time::timeout(ms(130_000), follower).await.expect("it hangs").unwrap(), 2);
    assert_eq!(begin.elapsed(), ms(120_000));
    leader.abort();
}

#[test]
fn tst_06_without_a_runtime() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 3600, early = 60, stale = 3600)]
    async fn f(id: u32) -> Result<u64, String> {
        let run = RUNS.begin();
        if id == 0 { Err("zero".into()) } else { Ok(run.number) }
    }

    assert_eq!(futures::executor::block_on(f(1)), Ok(1));
    assert_eq!(std::thread::spawn(|| futures::executor::block_on(f(1))).join().unwrap(), Ok(1));
    // The caller that finds it stale runs the refresh, since nobody else can.
    drop(f_entry(1).expire());
    futures::executor::block_on(async { while f(1).await == Ok(1) {} });
    assert_eq!(futures::executor::block_on(f(1)), Ok(2));
    assert_eq!(futures::executor::block_on(f(0)), Err("zero".into()));
    assert_eq!((RUNS.count(), f_cache().stats().in_flight), (3, 0));
}

#[test]
fn tst_06_threads_without_a_runtime_share_a_load() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 3600)]
    async fn f(_id: u32) -> u64 {
        let run = RUNS.begin();
        GATE.pass().await;
        run.number
    }

    let callers: Vec<_> = (0..8).map(|_| std::thread::spawn(|| futures::executor::block_on(f(1)))).collect();
    single_thread().block_on(async {
        soon(GATE.arrival()).await;
        until(|| f_cache().stats().coalesced == 7).await;
    });
    GATE.open(1);
    assert!(callers.into_iter().all(|caller| caller.join().unwrap() == 1));
    assert_eq!(RUNS.count(), 1);
}

#[test]
fn tst_06_in_a_runtime_without_timers() {
    #[stampede_cached(ttl = 3600, early = 60, timeout = "20ms", lead_after = "10ms")]
    async fn f(id: u32) -> anyhow::Result<u32> {
        if id == 0 { std::future::pending().await } else { Ok(id) }
    }

    let (send, answers) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let bare = Builder::new_current_thread().build().unwrap();
        for id in [1, 1, 0] {
            send.send(bare.block_on(f(id))).unwrap();
        }
    });
    let answer = || answers.recv_timeout(ms(60_000)).expect("it hangs");
    assert_eq!((answer().unwrap(), answer().unwrap()), (1, 1));
    assert!(answer().unwrap_err().downcast_ref::<SharedError>().is_some_and(SharedError::is_timeout));
    assert_eq!(f_cache().stats().loads, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tst_06_in_blocking_code() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 3600)]
    async fn f(id: u32) -> u32 {
        let _run = RUNS.begin();
        sleep(ms(1)).await;
        id
    }

    assert_eq!(soon(spawn_blocking(|| Handle::current().block_on(f(1)))).await.unwrap(), 1);
    assert_eq!(block_in_place(|| Handle::current().block_on(f(2))), 2);
    assert_eq!(block_in_place(|| futures::executor::block_on(f(3))), 3);
    assert_eq!((f(1).await, f(2).await, f(3).await), (1, 2, 3));
    assert_eq!(RUNS.count(), 3);
}

#[test]
fn tst_06_in_a_local_set() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 3600, stale = 3600)]
    async fn f(id: u32) -> u32 {
        let _run = RUNS.begin();
        tokio::task::yield_now().await;
        id
    }

    let local = LocalSet::new();
    local.block_on(&single_thread(), async {
        let one = tokio::task::spawn_local(f(1));
        let other = tokio::task::spawn_local(f(1));
        assert_eq!((soon(one).await.unwrap(), soon(other).await.unwrap()), (1, 1));
        f_entry(1).expire().await;
        assert_eq!(soon(f(1)).await, 1);
        until(|| f_entry(1).state() == Some(Freshness::Fresh)).await;
    });
    assert_eq!(RUNS.count(), 2);
}
