//! FLT: one load for all who want it at once, whoever of them goes away, panics or is shut down.

use futures::{future::BoxFuture, future::join_all, poll};
use stampede_runtime::{CacheMode, cached_only, stampede_cached};
use stampede_tests::{Gate, Runs, soon, until};
use std::{pin::pin, sync::Mutex, time::Duration};
use tokio::{
    task::{JoinHandle, yield_now},
    time::{Instant, sleep, timeout},
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

macro_rules! leader_aborted {
    ($($test:ident: $run:literal, loads: $loads:literal, done: $done:literal;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $test() {
            static RUNS: Runs = Runs::new();
            #[stampede_cached(ttl = 60, run = $run)]
            async fn f(id: u32) -> Result<u32, String> {
                let _run = RUNS.begin();
                sleep(ms(1000)).await;
                Ok(id)
            }

            let begin = Instant::now();
            let leader = tokio::spawn(f(1));
            sleep(ms(500)).await;
            leader.abort();
            assert!(leader.await.unwrap_err().is_cancelled());
            assert_eq!(soon(f(1)).await, Ok(1));
            assert_eq!(begin.elapsed(), ms($done));
            assert_eq!(RUNS.count(), $loads);
            assert_eq!(f_cache().stats().in_flight, 0);
        }
    )*};
}

leader_aborted! {
    flt_01_leader_task_aborted: "detached", loads: 1, done: 1000;
    flt_01_leader_task_aborted_cancellable: "cancellable", loads: 2, done: 1500;
    flt_01_leader_task_aborted_in_caller: "in_caller", loads: 2, done: 1500;
}

macro_rules! body_panics {
    ($($test:ident: $run:literal;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $test() {
            static RUNS: Runs = Runs::new();
            #[stampede_cached(ttl = 60, run = $run)]
            async fn f(id: u32) -> Result<u32, String> {
                let run = RUNS.begin();
                sleep(ms(100)).await;
                assert!(run.number > 1, "boom");
                Ok(id)
            }

            let callers: Vec<_> = (0..10).map(|_| tokio::spawn(f(7))).collect();
            for caller in callers {
                assert_eq!(panic_message(caller).await, "boom");
            }
            assert_eq!(RUNS.count(), 1);
            assert_eq!(soon(f(7)).await, Ok(7));
            assert_eq!(RUNS.count(), 2);
            let stats = f_cache().stats();
            assert_eq!((stats.panics, stats.in_flight), (1, 0));
        }
    )*};
}

async fn panic_message<T: std::fmt::Debug>(caller: JoinHandle<T>) -> String {
    let payload = soon(caller).await.expect_err("it panicked").into_panic();
    let fixed = payload.downcast_ref::<&str>().map(ToString::to_string);
    fixed.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a message")
}

body_panics! {
    flt_03_panic_in_the_body: "detached";
    flt_03_panic_in_the_body_cancellable: "cancellable";
    flt_03_panic_in_the_body_in_caller: "in_caller";
}

macro_rules! follower_cancelled {
    ($($test:ident: $run:literal;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $test() {
            static RUNS: Runs = Runs::new();
            #[stampede_cached(ttl = 60, run = $run)]
            async fn f(id: u32) -> u32 {
                let _run = RUNS.begin();
                sleep(ms(2000)).await;
                id
            }

            let begin = Instant::now();
            let leader = tokio::spawn(f(1));
            sleep(ms(100)).await;
            assert!(timeout(ms(400), f(1)).await.is_err());
            assert_eq!(begin.elapsed(), ms(500));
            sleep(ms(500)).await;
            assert_eq!(soon(f(1)).await, 1);
            assert_eq!(begin.elapsed(), ms(2000));
            assert_eq!(soon(leader).await.unwrap(), 1);
            assert_eq!(RUNS.count(), 1);
        }
    )*};
}

follower_cancelled! {
    flt_05_followers_cancellation: "detached";
    flt_05_followers_cancellation_cancellable: "cancellable";
    flt_05_followers_cancellation_in_caller: "in_caller";
}

/// One hundred callers and more; each time the load has begun, its leader is aborted.
async fn abort_leaders<F>(runs: &Runs, leader: &Mutex<Option<tokio::task::Id>>, aborts: u64, call: impl Fn() -> F)
where
    F: Future<Output = u32> + Send + 'static,
{
    let mut callers: Vec<_> = (0..=100).map(|_| tokio::spawn(call())).collect();
    for abort in 1..=aborts {
        sleep(ms(500)).await;
        assert_eq!(runs.count(), abort);
        let leader = leader.lock().unwrap().take().expect("a load runs");
        let place = callers.iter().position(|caller| caller.id() == leader).expect("in the task of a caller");
        let leader = callers.swap_remove(place);
        leader.abort();
        assert!(leader.await.unwrap_err().is_cancelled());
    }
    for caller in callers {
        assert_eq!(soon(caller).await.unwrap(), 1);
    }
    assert_eq!((runs.count(), runs.most_at_once()), (aborts + 1, 1));
}

#[tokio::test(start_paused = true)]
async fn flt_07_takeover_after_leader_loss() {
    static RUNS: Runs = Runs::new();
    static LEADER: Mutex<Option<tokio::task::Id>> = Mutex::new(None);
    #[stampede_cached(ttl = 60, run = "in_caller")]
    async fn f(id: u32) -> u32 {
        let _run = RUNS.begin();
        *LEADER.lock().unwrap() = tokio::task::try_id();
        sleep(ms(1000)).await;
        id
    }
    abort_leaders(&RUNS, &LEADER, 1, || f(1)).await;
}

#[tokio::test(start_paused = true)]
async fn flt_07_takeover_after_ten_leaders_lost() {
    static RUNS: Runs = Runs::new();
    static LEADER: Mutex<Option<tokio::task::Id>> = Mutex::new(None);
    #[stampede_cached(ttl = 60, run = "in_caller")]
    async fn f(id: u32) -> u32 {
        let _run = RUNS.begin();
        *LEADER.lock().unwrap() = tokio::task::try_id();
        sleep(ms(1000)).await;
        id
    }
    abort_leaders(&RUNS, &LEADER, 10, || f(1)).await;
}

#[tokio::test(start_paused = true)]
async fn flt_09_owner_dropped_but_work_completes() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 1)]
    async fn f(_id: u32) -> u64 {
        let run = RUNS.begin();
        sleep(ms(500)).await;
        run.number
    }

    let owner = tokio::spawn(f(1));
    sleep(ms(100)).await;
    owner.abort();
    sleep(ms(900)).await;
    assert_eq!(soon(f(1)).await, 1);
    assert_eq!(RUNS.count(), 1);
    sleep(ms(59_000)).await;
    assert_eq!(soon(f(1)).await, 2);
    assert_eq!(f_cache().stats().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn flt_11_every_follower_receives_the_value() {
    #[stampede_cached(ttl = 60)]
    async fn text(id: u32) -> String {
        sleep(ms(1000)).await;
        format!("value {id}")
    }
    #[stampede_cached(ttl = 60)]
    async fn large(byte: u8) -> Vec<u8> {
        sleep(ms(1000)).await;
        vec![byte; 1 << 20]
    }

    let texts = soon(join_all((0..51).map(|_| text(1)))).await;
    assert_eq!(texts, vec!["value 1"; 51]);
    let larges = soon(join_all((0..51).map(|_| large(7)))).await;
    assert!(larges.len() == 51 && larges.iter().all(|large| *large == vec![7; 1 << 20]));
    assert_eq!((text_cache().stats().loads, large_cache().stats().loads), (1, 1));
}

fn single_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn flt_13_the_leaders_runtime_is_shut_down() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 60)]
    async fn f(id: u32) -> u32 {
        if RUNS.begin().number == 1 {
            GATE.pass().await;
        }
        id
    }

    let first = single_thread();
    let mut leader = Box::pin(f(1));
    first.block_on(async {
        assert!(poll!(&mut leader).is_pending());
        soon(GATE.arrival()).await;
    });
    single_thread().block_on(async {
        let mut follower = pin!(f(1));
        assert!(poll!(&mut follower).is_pending());
        first.shutdown_background();
        assert_eq!(soon(follower).await, 1);
        // The lost load was made of this call's arguments, but there is a value now.
        assert_eq!(soon(leader).await, 1);
    });
    assert_eq!((RUNS.count(), f_cache().stats().in_flight), (2, 0));
}

#[test]
fn flt_13_shut_down_before_the_load_was_polled() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn f(id: u32) -> anyhow::Result<u32> {
        let _run = RUNS.begin();
        Ok(id)
    }

    let first = single_thread();
    let mut leader = Box::pin(f(1));
    first.block_on(async { assert!(poll!(&mut leader).is_pending()) });
    first.shutdown_background();
    single_thread().block_on(async {
        // Nobody else leads, and the arguments are gone with the load.
        assert!(soon(leader).await.unwrap_err().to_string().contains("shut down"));
        assert_eq!(soon(f(1)).await.unwrap(), 1);
    });
    assert_eq!((RUNS.count(), f_cache().stats().in_flight), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn flt_15_nested_cached_functions() {
    static OUTER: Runs = Runs::new();
    static INNER: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn outer(n: u32) -> u32 {
        let _run = OUTER.begin();
        sleep(ms(10)).await;
        inner(n + 1).await + 1
    }
    #[stampede_cached(ttl = 60)]
    async fn inner(n: u32) -> u32 {
        let _run = INNER.begin();
        sleep(ms(10)).await;
        n
    }

    let callers = (0..500_u32).map(|call| {
        let n = call.wrapping_mul(2_654_435_761) >> 26;
        tokio::spawn(async move {
            if call % 2 == 0 {
                assert_eq!(outer(n).await, n + 2);
            } else {
                assert_eq!(inner(n + 1).await, n + 1);
            }
        })
    });
    for caller in soon(join_all(callers)).await {
        caller.unwrap();
    }
    // The hash of 250 even numbers meets each of the 64 keys.
    assert_eq!((OUTER.count(), INNER.count()), (64, 64));
    until(|| outer_cache().stats().in_flight + inner_cache().stats().in_flight == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn flt_15_a_function_that_reaches_itself_for_other_keys() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn sum(n: u32) -> u32 {
        let _run = RUNS.begin();
        yield_now().await;
        if n == 0 { 0 } else { n + boxed(n - 1).await }
    }
    fn boxed(n: u32) -> BoxFuture<'static, u32> {
        Box::pin(sum(n))
    }

    let callers = (0..=64).map(|n| tokio::spawn(async move { (n, sum(n).await) }));
    for caller in soon(join_all(callers)).await {
        let (n, sum) = caller.unwrap();
        assert_eq!(sum, n * (n + 1) / 2);
    }
    assert_eq!(RUNS.count(), 65);
}

#[tokio::test(start_paused = true)]
async fn flt_17_coalescing_on_every_path() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 100, early = 10)]
    async fn f(id: u32) -> u32 {
        let _run = RUNS.begin();
        sleep(ms(1000)).await;
        id
    }
    async fn nine_calls() -> Duration {
        let begin = Instant::now();
        let answers = soon(join_all((0..9).map(|call| f(call % 3)))).await;
        assert_eq!(answers, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
        begin.elapsed()
    }

    assert_eq!((nine_calls().await, RUNS.count()), (ms(1000), 3));
    assert_eq!((nine_calls().await, RUNS.count()), (ms(0), 3));
    sleep(ms(100_000)).await;
    assert_eq!((nine_calls().await, RUNS.count()), (ms(1000), 6));
    sleep(ms(95_000)).await;
    assert_eq!(nine_calls().await, ms(0));
    sleep(ms(500)).await;
    assert_eq!((nine_calls().await, RUNS.count()), (ms(0), 9));
    assert_eq!((RUNS.most_at_once(), f_cache().stats().refreshes), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn flt_19_each_call_keeps_its_own_mode() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn f(_id: u32) -> u64 {
        let run = RUNS.begin();
        sleep(ms(1000)).await;
        run.number
    }

    let answers = soon(async {
        tokio::join!(
            cached_only(f(1)),
            f(1),
            CacheMode::Bypass.enter(f(1)),
            f(1),
            CacheMode::Refresh.enter(f(1)),
            cached_only(f(1)),
        )
    })
    .await;
    assert_eq!(answers, (None, 1, 2, 1, 3, None));
    assert_eq!(cached_only(f(1)).await, Some(3));
    assert_eq!(soon(CacheMode::Bypass.enter(f(1))).await, 4);
    assert_eq!(soon(f(1)).await, 3);
    assert_eq!(soon(CacheMode::Refresh.enter(f(1))).await, 5);
    assert_eq!(soon(f(1)).await, 5);
}
