//! How long values live: `none_ttl`, `ttl_of`, `ttl = 0`, jitter, a shared policy.

use crate::world::{Failed, pass, secs};
use stampede_runtime::{CacheScope, Freshness, Policy, stampede_cached};
use stampede_tests::{Runs, soon};
use std::{collections::BTreeSet, time::Duration};

#[tokio::test(start_paused = true)]
async fn none_lives_ten_seconds_or_what_none_ttl_says() {
    #[stampede_cached(ttl = 60)]
    async fn usual(id: u32) -> Option<u32> {
        (id > 0).then_some(id)
    }
    #[stampede_cached(ttl = 60, none_ttl = 30)]
    async fn longer(id: u32) -> Result<Option<u32>, Failed> {
        Ok((id > 0).then_some(id))
    }
    #[stampede_cached(ttl = 60, none_ttl = 0)]
    async fn never(id: u32) -> Option<u32> {
        (id > 0).then_some(id)
    }
    #[stampede_cached(ttl = 5)]
    async fn short(id: u32) -> Option<u32> {
        (id > 0).then_some(id)
    }

    soon(async { (usual(0).await, usual(1).await, longer(0).await, never(0).await, never(1).await, short(0).await) })
        .await
        .2
        .unwrap();
    assert_eq!(never_entry(0).state(), None);
    assert_eq!(usual_entry(0).get().await, Some(None), "it is stored");
    pass(secs(5)).await;
    assert_eq!(short_entry(0).state(), None);
    assert_eq!(usual_entry(0).state(), Some(Freshness::Fresh));
    pass(secs(5)).await;
    assert_eq!(usual_entry(0).state(), None);
    assert_eq!(usual_entry(1).state(), Some(Freshness::Fresh));
    pass(secs(19)).await;
    assert_eq!(longer_entry(0).state(), Some(Freshness::Fresh));
    pass(secs(1)).await;
    assert_eq!(longer_entry(0).state(), None);
    assert_eq!(never_entry(1).state(), Some(Freshness::Fresh));
}

/// The value decides; `early` is scaled with its lifetime.
#[tokio::test(start_paused = true)]
async fn ttl_of_bounds_the_lifetime_and_scales_the_windows() {
    #[stampede_cached(ttl = 100, early = 50, ttl_of = |secs: &u64| (*secs < 1_000).then(|| Duration::from_secs(*secs)))]
    async fn value(secs: u64) -> u64 {
        secs
    }

    for secs in [0, 10, 200, 1_000] {
        soon(value(secs)).await;
    }
    assert_eq!(value_entry(0).state(), None, "zero: do not store");
    for (at, seconds, state) in [
        (4, 10, Some(Freshness::Fresh)),
        (5, 10, Some(Freshness::Early)),
        (10, 10, None),
        (49, 1_000, Some(Freshness::Fresh)),
        (50, 1_000, Some(Freshness::Early)),
        (99, 200, Some(Freshness::Fresh)),
        (100, 200, Some(Freshness::Early)),
        (100, 1_000, None),
        (200, 200, None),
    ] {
        let scope = CacheScope::new();
        let _inside = scope.guard();
        soon(value(seconds)).await;
        pass(secs(at)).await;
        assert_eq!(value_entry(seconds).state(), state, "{seconds} s at {at} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_ttl_of_zero_only_coalesces() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 0)]
    async fn value() -> u64 {
        let run = RUNS.begin();
        tokio::task::yield_now().await;
        run.number
    }

    let both = soon(futures::future::join(value(), value())).await;
    assert_eq!(both, (1, 1));
    assert_eq!(soon(value()).await, 2);
    assert!(value_cache().is_empty());
}

/// The lifetime counts from the end of the load.
#[tokio::test(start_paused = true)]
async fn a_slow_load_does_not_shorten_the_lifetime() {
    #[stampede_cached(ttl = 10)]
    async fn slow() -> u64 {
        tokio::time::sleep(secs(30)).await;
        1
    }

    soon(slow()).await;
    pass(secs(9)).await;
    assert_eq!(slow_entry().state(), Some(Freshness::Fresh));
    pass(secs(1)).await;
    assert_eq!(slow_entry().state(), None);
}

/// A thousand keys that are stored together do not expire together.
#[tokio::test(start_paused = true)]
async fn jitter_spreads_what_was_stored_together() {
    #[stampede_cached(ttl = 100, jitter = "10%")]
    async fn value(key: u64) -> u64 {
        key
    }

    let scope = CacheScope::seeded(9);
    let _inside = scope.guard();
    for key in 0..1_000 {
        soon(value(key)).await;
    }
    pass(secs(89)).await;
    let alive = || (0..1_000).filter(|&key| value_entry(key).state().is_some()).count();
    let mut counts = vec![alive()];
    for _ in 0..22 {
        pass(secs(1)).await;
        counts.push(alive());
    }
    assert_eq!((counts[0], counts[22]), (1_000, 0), "within ± 10 %");
    let steps: BTreeSet<_> = counts.windows(2).map(|two| two[0] - two[1]).collect();
    assert!(*steps.last().unwrap() < 120, "some fifty expire in each second: {counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_policy_is_shared_and_overridden() {
    fn shared() -> Policy {
        Policy::builder().ttl(secs(100)).early(secs(50)).stale(secs(10)).build().unwrap()
    }
    #[stampede_cached(policy = shared())]
    async fn plain() -> u64 {
        1
    }
    #[stampede_cached(policy = &shared(), ttl = 200, name = "other")]
    async fn other() -> u64 {
        2
    }

    soon(plain()).await;
    soon(other()).await;
    assert_eq!(plain_cache().policy().ttl(), secs(100));
    assert_eq!((other_cache().policy().ttl(), other_cache().policy().early()), (secs(200), secs(50)));
    assert_eq!(other_cache().name(), "other");
    assert!(plain_cache().name().ends_with("lifetimes::plain"), "{}", plain_cache().name());
}

/// With `beta` the refresh begins somewhere in the early window, and one begins only.
#[tokio::test(start_paused = true)]
async fn beta_draws_the_moment_of_the_refresh() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 100, early = 60, beta = 1.0)]
    async fn value() -> u64 {
        let run = RUNS.begin();
        tokio::time::sleep(secs(5)).await;
        run.number
    }

    let mut begun = BTreeSet::new();
    for seed in 0..50 {
        let before = RUNS.count();
        let scope = CacheScope::seeded(seed);
        let _inside = scope.guard();
        soon(value()).await;
        pass(secs(39)).await;
        for second in 39..100 {
            soon(value()).await;
            stampede_tests::settle().await;
            if value_cache().stats().refreshes == 1 {
                begun.insert(second);
                assert!(second >= 40);
                break;
            }
            pass(secs(1)).await;
        }
        assert!(RUNS.count() <= before + 2);
    }
    assert!(begun.len() > 5, "{begun:?}");
    assert!(*begun.first().unwrap() > 60, "loads of 5 s need no refresh a minute before: {begun:?}");
}
