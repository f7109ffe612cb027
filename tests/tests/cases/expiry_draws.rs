//! EXP-19, EXP-21 and EXP-23: clocks that differ by a little, the draw of the lifetime, windows as wide as the ttl.

use futures::FutureExt;
use stampede_runtime::{Cache, CacheMode, CacheScope, Extent, cached_only, stampede_cached};
use stampede_tests::Runs;
use std::{
    panic::AssertUnwindSafe,
    sync::{LazyLock, Mutex},
    time::Duration,
};
use tokio::time::{advance, sleep};

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A hit's first look at the clock is coarse, so it mostly lies before the store that it is judged against.
#[tokio::test]
async fn exp_19_an_entry_from_the_future_has_no_age() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 3600, capacity = 10_000)]
    async fn f(_id: u32) {
        RUNS.begin();
    }

    for id in 0..1_000 {
        f(id).await;
        f(id).await;
        CacheMode::MaxAge(secs(60)).enter(f(id)).await;
    }
    assert_eq!(f_cache().stats().hits_fresh, 2_000);
    assert_eq!(RUNS.count(), 1_000, "an age below zero was taken for a great one");
}

/// The clock of a test that pauses time after a store may stand before it.
#[tokio::test]
async fn exp_19_a_clock_that_is_paused_after_the_store_goes_on_from_there() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, early = 10)]
    async fn f() -> u64 {
        RUNS.begin().number
    }

    assert_eq!(f().await, 1);
    tokio::time::pause();
    assert_eq!(f().await, 1);
    assert_eq!(RUNS.count(), 1);
    advance(secs(61)).await;
    assert_eq!(f().await, 2);
}

/// The share of keys that a call finds expired.
async fn expired<F: Future<Output = ()>>(keys: std::ops::Range<u32>, call: impl Fn(u32) -> F) -> f64 {
    let all = keys.len();
    let mut expired = 0;
    for key in keys {
        expired += u32::from(cached_only(call(key)).await.is_none());
    }
    f64::from(expired) / f64::from(u32::try_from(all).expect("few"))
}

#[tokio::test(start_paused = true)]
async fn exp_21_the_lifetime_is_drawn_once_per_stored_value() {
    #[stampede_cached(ttl = 100, jitter = 20)]
    async fn f(_key: u32) {}

    let scope = CacheScope::seeded(21);
    let test = async {
        for key in 0..2_500 {
            f(key).await;
        }
        for now in 1..=120 {
            advance(secs(1)).await;
            // Hot: read each second.
            let hot = expired(0..500, f).await;
            // Cold: read once, here.
            let cold = match now {
                85 => 500..1_000,
                100 => 1_000..1_500,
                115 => 1_500..2_000,
                120 => 2_000..2_500,
                _ => continue,
            };
            let (cold, even) = (expired(cold, f).await, (f64::from(now) - 80.0) / 40.0);
            assert!((hot - even).abs() < 0.08, "at {now} s {hot} of the hot keys have expired, not {even}");
            assert!((cold - even).abs() < 0.08, "at {now} s {cold} of the cold keys have expired, not {even}");
        }
    };
    scope.enter(test).await;
}

#[test]
fn exp_23_the_builder_refuses_early_windows_as_wide_as_the_lifetime() {
    let cases = [
        (60, Extent::from(Duration::ZERO), Extent::from(secs(60))),
        (60, Extent::from(Duration::ZERO), Extent::from(secs(90))),
        (60, Extent::from(secs(30)), Extent::from(secs(40))),
        (60, Extent::from(secs(30)), Extent::from(secs(30))),
        (60, Extent::percent(50.0), Extent::percent(50.0)),
        (60, Extent::percent(0.0), Extent::from(Duration::MAX)),
    ];
    for (ttl, jitter, early) in cases {
        let built = Cache::<u32, u32>::builder("exp_23").ttl(secs(ttl)).jitter(jitter).early(early).build();
        let error = built.expect_err("early >= ttl - jitter");
        assert_eq!(error.field(), "early", "{error}");
    }
    let built = Cache::<u32, u32>::builder("exp_23").ttl(secs(60)).jitter(secs(60)).build();
    assert_eq!(built.expect_err("jitter >= ttl").field(), "jitter");
}

#[tokio::test]
async fn exp_23_the_attribute_refuses_them_when_the_cache_is_first_used() {
    const EARLY: Duration = secs(40);
    #[stampede_cached(ttl = 60, jitter = 30, early = EARLY)]
    async fn too_early() {}

    let panic = AssertUnwindSafe(too_early()).catch_unwind().await.expect_err("a policy that does not hold together");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.contains("too_early") && message.contains("`early`") && message.contains("40s"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn exp_23_the_widest_windows_do_not_make_each_hit_a_refresh() {
    static RUNS: Runs = Runs::new();
    static BEGUN: LazyLock<Mutex<Vec<tokio::time::Instant>>> = LazyLock::new(Mutex::default);
    #[stampede_cached(ttl = 60, early = "59999ms")]
    async fn f() -> u64 {
        BEGUN.lock().expect("it").push(tokio::time::Instant::now());
        RUNS.begin().number
    }

    f().await;
    for _ in 0..3_000 {
        sleep(Duration::from_millis(100)).await;
        f().now_or_never().expect("a hit");
    }
    let begun = BEGUN.lock().expect("it");
    // The least gap is the lesser of `backoff` (1 s) and half of the lifetime.
    assert!(begun.is_sorted_by(|one, next| *next - *one >= secs(1)));
    assert!((150..=301).contains(&begun.len()), "{}", begun.len());
}
