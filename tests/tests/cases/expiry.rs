//! EXP: the arithmetic of expiry, jitter, early and stale, as a user of the attribute and the builder sees it.

use futures::FutureExt;
use stampede_runtime::{Cache, CacheScope, Freshness, SharedError, stampede_cached};
use stampede_tests::{Gate, Runs, soon};
use std::{
    convert::Infallible,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::Duration,
};
use tokio::time::{advance, sleep};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const NANO: Duration = Duration::from_nanos(1);
const CENTURY: Duration = secs(100 * 365 * 24 * 60 * 60);

#[derive(Clone, Debug)]
struct Down;

impl From<SharedError> for Down {
    fn from(_: SharedError) -> Self {
        Self
    }
}

/// A call that must not wait.
fn at_once<F: Future>(call: F) -> F::Output {
    call.now_or_never().expect("the call waits")
}

macro_rules! exp_01 {
    ($($name:ident: $ttl:literal,)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            static RUNS: Runs = Runs::new();
            #[stampede_cached(ttl = $ttl, jitter = 30, early = 60)]
            async fn f() -> u64 {
                RUNS.begin().number
            }

            let cache = Cache::<u32, u64>::builder(stringify!($name)).ttl(secs($ttl)).jitter(secs(30)).early(secs(60));
            let cache = cache.build().expect("a policy");
            for _ in 0..3 {
                assert_eq!(f().await, 1);
                assert_eq!(cache.get_or_load(&1, || async { Ok::<_, Infallible>(1) }).await.ok(), Some(1));
                assert_eq!((f_entry().state(), cache.entry(&1).state()), (Some(Freshness::Fresh), Some(Freshness::Fresh)));
                advance(CENTURY).await;
            }
            assert_eq!(RUNS.count(), 1);
            let stats = cache.handle().stats();
            assert_eq!((stats.loads, stats.refreshes), (1, 0));
        }
    )*};
}

exp_01! {
    exp_01_all_seconds: 18_446_744_073_709_551_615,
    exp_01_seconds_that_overflow_as_milliseconds: 18_446_744_073_709_552,
    exp_01_signed_seconds: 9_223_372_036_854_775_807,
    exp_01_milliseconds_of_32_bits_taken_for_seconds: 4_294_967_295_000,
}

async fn lives_exactly<F: Future<Output = u64>>(life: Duration, call: impl Fn() -> F) {
    assert_eq!(call().await, 1);
    advance(life.saturating_sub(NANO)).await;
    assert_eq!(call().await, 1);
    advance(NANO).await;
    assert_eq!(call().await, 2);
}

#[tokio::test(start_paused = true)]
async fn exp_03_without_jitter_the_end_is_exact() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn f() -> u64 {
        RUNS.begin().number
    }
    lives_exactly(secs(60), f).await;
}

#[tokio::test(start_paused = true)]
async fn exp_03_with_jitter_of_zero_the_end_is_exact() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, jitter = 0)]
    async fn f() -> u64 {
        RUNS.begin().number
    }
    lives_exactly(secs(60), f).await;
}

#[tokio::test(start_paused = true)]
async fn exp_03_with_a_built_jitter_of_zero_the_end_is_exact() {
    static RUNS: Runs = Runs::new();
    let cache = Cache::<(), u64>::builder("exp_03").ttl(secs(60)).jitter(Duration::ZERO).build().expect("a policy");
    lives_exactly(secs(60), || async {
        let load = || async { Ok::<_, Infallible>(RUNS.begin().number) };
        cache.get_or_load(&(), load).await.expect("a value")
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn exp_03_jitter_below_a_millisecond_is_none() {
    #[stampede_cached(ttl = 60, jitter = "1ns")]
    async fn nano(_id: u32) {}
    #[stampede_cached(ttl = 60, jitter = "500us")]
    async fn micro(_id: u32) {}

    for id in 0..100 {
        nano(id).await;
        micro(id).await;
    }
    // Lifetimes are drawn in whole milliseconds: a lesser spread is none.
    let states = || (0..100).flat_map(|id| [nano_entry(id).state(), micro_entry(id).state()]);
    advance(secs(60).saturating_sub(NANO)).await;
    assert!(states().all(|state| state == Some(Freshness::Fresh)));
    advance(NANO).await;
    assert!(states().all(|state| state.is_none()));
}

#[tokio::test(start_paused = true)]
async fn exp_05_no_jitter_brings_a_ttl_of_zero_to_life() {
    static RUNS: Runs = Runs::new();
    const NOTHING: Duration = Duration::ZERO;
    #[stampede_cached(ttl = NOTHING, jitter = 30)]
    async fn f(_id: u32) -> u64 {
        RUNS.begin().number
    }

    for id in 0..100 {
        f(id).await;
        f(id).await;
    }
    assert_eq!(RUNS.count(), 200);
    assert_eq!(f_cache().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn exp_05_no_jitter_makes_a_pause_of_zero_longer() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 100, jitter = 30, stale = 100, backoff = 0)]
    async fn f() -> Result<u64, Down> {
        let run = RUNS.begin();
        if run.number == 1 { Ok(1) } else { Err(Down) }
    }

    assert_eq!(f().await.ok(), Some(1));
    advance(secs(131)).await;
    for failed in 1..=10 {
        assert_eq!(at_once(f()).ok(), Some(1));
        // The refresh is a task of its own.
        tokio::task::yield_now().await;
        assert_eq!(RUNS.count(), 1 + failed);
    }
}

#[tokio::test(start_paused = true)]
async fn exp_05_jitter_leaves_the_stale_window_as_it_is() {
    #[stampede_cached(ttl = 1, jitter = "300ms", stale = "100ms")]
    async fn f(_id: u32) {}

    for id in 0..20 {
        f(id).await;
    }
    let mut seen = vec![Vec::new(); 20];
    for _ in 0..=1400 {
        for (id, seen) in (0..).zip(&mut seen) {
            seen.push(f_entry(id).state());
        }
        advance(ms(1)).await;
    }
    let lasts = |seen: &[_], state| seen.iter().filter(|&&other| other == state).count();
    let fresh: Vec<_> = seen.iter().map(|seen| lasts(seen, Some(Freshness::Fresh))).collect();
    assert!(
        fresh.iter().all(|millis| (700..=1300).contains(millis)) && !fresh.iter().all(|&millis| millis == fresh[0])
    );
    assert!(seen.iter().all(|seen| lasts(seen, Some(Freshness::Stale)) == 100));
    assert!(seen.iter().all(|seen| seen.last() == Some(&None)));
}

#[tokio::test(start_paused = true)]
async fn exp_07_a_load_below_a_second_is_renewed_early_enough() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 10, early = 5)]
    async fn f() -> u64 {
        let run = RUNS.begin();
        sleep(ms(100)).await;
        run.number
    }
    static SHORT: Runs = Runs::new();
    #[stampede_cached(ttl = 2, early = 1)]
    async fn short() -> u64 {
        let run = SHORT.begin();
        sleep(ms(100)).await;
        run.number
    }

    f().await;
    short().await;
    for _ in 0..600 {
        at_once(f());
        at_once(short());
        sleep(ms(50)).await;
    }
    assert!((5..=7).contains(&at_once(f())), "{}", RUNS.count());
    assert!((20..=31).contains(&at_once(short())), "{}", SHORT.count());
}

#[tokio::test(start_paused = true)]
async fn exp_07_milliseconds_from_the_builder_are_kept() {
    let cache = Cache::<(), u64>::builder("exp_07").ttl(ms(200)).early(ms(100)).build().expect("a policy");
    let call = || {
        cache.get_or_load(&(), || async {
            sleep(ms(10)).await;
            Ok::<_, Infallible>(1)
        })
    };

    call().await.expect("a value");
    for _ in 0..600 {
        at_once(call()).expect("a value");
        sleep(ms(5)).await;
    }
    assert!((20..=31).contains(&cache.handle().stats().loads));
}

#[tokio::test(start_paused = true)]
async fn exp_07_a_cost_below_a_second_draws_early_refreshes() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 10, early = 5, beta = 20.0)]
    async fn f() -> u64 {
        let run = RUNS.begin();
        sleep(ms(100)).await;
        run.number
    }

    let scope = CacheScope::seeded(7);
    scope.enter(f()).await;
    for _ in 0..600 {
        // With a cost of nothing the rule would never come early, and this call would find an expired entry.
        at_once(scope.enter(f()));
        sleep(ms(50)).await;
    }
    assert!((4..=6).contains(&RUNS.count()), "{}", RUNS.count());
}

#[tokio::test(start_paused = true)]
async fn exp_09_a_refresh_slower_than_its_window_is_kept() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 100, early = 99)]
    async fn f() -> u64 {
        let run = RUNS.begin();
        sleep(if run.number == 1 { secs(5) } else { secs(10) }).await;
        run.number
    }

    assert_eq!(f().await, 1);
    sleep(secs(1)).await;
    let mut seen = Vec::new();
    for _ in 0..540 {
        seen.push(at_once(f()));
        sleep(ms(100)).await;
    }
    // The first refresh ran from 6 s to 16 s.
    assert_eq!((seen[99], seen[101]), (1, 2));
    assert!(seen.is_sorted());
    assert_eq!(seen.last(), Some(&5), "the value keeps moving");
    assert_eq!(RUNS.most_at_once(), 1);
}

#[tokio::test(start_paused = true)]
async fn exp_11_each_end_of_a_refresh_lets_the_next_one_begin() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 100, early = 90, timeout = 5)]
    async fn f() -> Result<u64, Down> {
        let run = RUNS.begin();
        match run.number {
            2 => Err(Down),
            3 => panic!("exp_11: the refresh panics"),
            4 => std::future::pending().await,
            number => Ok(number),
        }
    }

    assert_eq!(f().await.ok(), Some(1));
    for (seconds, runs) in [(15, 2), (15, 3), (15, 4)] {
        sleep(secs(seconds)).await;
        assert_eq!(at_once(f()).ok(), Some(1));
        tokio::task::yield_now().await;
        assert_eq!(RUNS.count(), runs);
    }
    sleep(secs(15)).await;
    assert_eq!(at_once(f()).ok(), Some(1));
    sleep(secs(1)).await;
    assert_eq!(at_once(f()).ok(), Some(5));
}

#[test]
fn exp_11_a_refresh_that_ends_with_its_runtime_lets_the_next_one_begin() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 3600, stale = 3600, backoff = 0)]
    async fn f() -> u64 {
        let run = RUNS.begin();
        if run.number == 2 {
            GATE.pass().await;
        }
        run.number
    }

    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("it");
    let first = runtime();
    first.block_on(async {
        assert_eq!(f().await, 1);
        f_entry().expire().await;
        assert_eq!(f().await, 1);
        soon(GATE.arrival()).await;
    });
    drop(first);
    runtime().block_on(async {
        assert_eq!(f().await, 1);
        stampede_tests::until(|| f_entry().get().now_or_never().flatten() == Some(3)).await;
    });
}

#[tokio::test(start_paused = true)]
async fn exp_13_the_stale_window_is_used_and_ends() {
    static RUNS: Runs = Runs::new();
    static FAILS: AtomicBool = AtomicBool::new(false);
    #[stampede_cached(ttl = 10, stale = 5)]
    async fn f(_id: u32) -> Result<u64, Down> {
        let run = RUNS.begin();
        sleep(ms(100)).await;
        if FAILS.load(SeqCst) { Err(Down) } else { Ok(run.number) }
    }

    assert_eq!((f(1).await.ok(), f(2).await.ok()), (Some(1), Some(2)));
    sleep(secs(12)).await;
    for _ in 0..3 {
        assert_eq!(at_once(f(1)).ok(), Some(1));
    }
    sleep(secs(1)).await;
    assert_eq!((at_once(f(1)).ok(), RUNS.count()), (Some(3), 3));
    FAILS.store(true, SeqCst);
    sleep(secs(3)).await;
    assert!(soon(f(2)).await.is_err());
    assert_eq!(RUNS.count(), 4);
}

#[tokio::test(start_paused = true)]
async fn exp_15_a_short_stale_window_does_not_shorten_the_ttl() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 3600, stale = 10)]
    async fn f() -> u64 {
        RUNS.begin().number
    }

    f().await;
    for at in [11, 3000 - 11, 599] {
        advance(secs(at)).await;
        assert_eq!(at_once(f()), 1);
        assert_eq!(f_entry().state(), Some(Freshness::Fresh));
    }
    assert_eq!(RUNS.count(), 1);
}

/// The wall clock stands still here, as good as: an entry that lived by it would be fresh at the end.
#[tokio::test(start_paused = true)]
async fn exp_17_entries_live_by_the_monotonic_clock() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 3600)]
    async fn f() -> u64 {
        RUNS.begin().number
    }

    let wall = std::time::SystemTime::now();
    assert_eq!(f().await, 1);
    advance(secs(3600)).await;
    assert_eq!(f().await, 2);
    assert!(wall.elapsed().is_ok_and(|passed| passed < secs(3600)));
}
