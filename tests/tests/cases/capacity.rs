//! CAP: what is held, what is let go, and the arithmetic of weights.

use proptest::prelude::*;
use stampede_runtime::{Cache, stampede_cached};
use stampede_tests::{Counted, Live, until};
use std::{
    hash::{Hash, Hasher},
    sync::Arc,
    time::Duration,
};

const HOUR: Duration = Duration::from_secs(3600);

/// A cache of values that weigh what they are.
fn weighing(capacity: u64) -> Cache<u32, u32> {
    Cache::builder("weighing").ttl(HOUR).capacity(capacity).weight(|weight| *weight).build().expect("a policy")
}

fn insert(cache: &Cache<u32, u32>, key: u32, weight: u32) {
    drop(cache.entry(&key).insert(weight));
}

#[test]
fn cap_02_the_greatest_weights_do_not_overflow() {
    // One fits, two fit, and more than 2^32 in all.
    for (capacity, fit) in [(u64::from(u32::MAX), 1), (2 * u64::from(u32::MAX), 2), (u64::MAX, 100)] {
        let cache = weighing(capacity);
        for key in 0..100 {
            insert(&cache, key, u32::MAX);
        }
        assert_eq!(cache.handle().len(), fit, "capacity {capacity}");
        // Lighter and heavier again, in place.
        for weight in [0, u32::MAX, 1, u32::MAX] {
            for key in 0..100 {
                insert(&cache, key, weight);
            }
        }
        assert_eq!(cache.handle().len(), fit, "capacity {capacity}");
    }
}

#[test]
fn cap_02_weight_zero_counts_as_one() {
    let cache = weighing(10);
    for key in 0..100 {
        insert(&cache, key, 0);
        assert!(cache.handle().len() <= 10);
    }
    assert_eq!(cache.handle().stats().evictions, 90);
}

/// What may happen to an entry.
#[derive(Clone, Debug)]
enum Step {
    Insert(u32, u32),
    Remove(u32),
    Expire(u32),
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let weight = prop_oneof![0..40_u32, 90..130_u32, Just(u32::MAX)];
    let step = prop_oneof![
        12 => (0..12_u32, weight).prop_map(|(key, weight)| Step::Insert(key, weight)),
        3 => (0..12_u32).prop_map(Step::Remove),
        2 => (0..12_u32).prop_map(Step::Expire),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec(step, 0..80)
}

/// The weight of all entries that can be seen.
fn weight(cache: &Cache<u32, u32>) -> u64 {
    use futures::FutureExt;
    let weights = (0..12_u32).filter_map(|key| cache.entry(&key).get().now_or_never().flatten());
    weights.map(|weight| u64::from(weight.max(1))).sum()
}

proptest! {
    #[test]
    fn cap_02_weights_are_taken_and_given_back_to_the_last(steps in steps()) {
        const CAPACITY: u64 = 100;
        let cache = weighing(CAPACITY);
        for step in steps {
            match step {
                Step::Insert(key, weight) => insert(&cache, key, weight),
                Step::Remove(key) => drop(cache.entry(&key).invalidate()),
                Step::Expire(key) => drop(cache.entry(&key).expire()),
                Step::Clear => drop(cache.handle().clear()),
            }
            prop_assert!(weight(&cache) <= CAPACITY);
        }
        // Had it forgotten to give back, less would fit now; had it given back too much, more.
        for key in 100..600 {
            insert(&cache, key, 1);
        }
        prop_assert_eq!(cache.handle().len(), CAPACITY);
    }
}

#[tokio::test]
async fn cap_04_what_has_expired_is_freed_untouched() {
    static LIVE: Live = Live::new();
    #[stampede_cached(ttl = 1, stale = "200ms", capacity = 1_000_000, tags = [format!("tag {key}")])]
    async fn f(key: u32) -> Arc<Counted> {
        let _ = key;
        Arc::new(LIVE.make())
    }

    for key in 0..50_000 {
        f(key).await;
    }
    until(|| LIVE.alive() == 0).await;
    assert_eq!((LIVE.dropped(), f_cache().len()), (50_000, 0));
    assert_eq!(f_cache().stats().evictions, 0, "none had to make room");
}

/// A key that is counted.
#[derive(Clone, Debug)]
struct Key {
    id: u32,
    _counted: Counted,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

#[tokio::test(start_paused = true)]
async fn cap_04_an_invalidation_leaves_nothing_behind() {
    static KEYS: Live = Live::new();
    #[stampede_cached(ttl = 60)]
    async fn f(key: Key) -> u32 {
        key.id
    }
    let key = |id| Key { id, _counted: KEYS.make() };

    for n in 0..1_000 {
        f(key(n)).await;
        f_entry(key(n)).invalidate().await;
        f_entry(key(n + 1)).invalidate().await;
        f_entry(key(n)).expire().await;
        f_cache().invalidate_tag("no such tag").await;
    }
    assert_eq!((KEYS.alive(), f_cache().len()), (0, 0));
    f(key(1)).await;
    assert_eq!(KEYS.alive(), 1, "a key is kept once");
    f_cache().clear().await;
    assert_eq!(KEYS.alive(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cap_06_an_entry_keeps_no_arguments() {
    #[stampede_cached(ttl = 60, skip(big))]
    async fn detached(id: u32, big: Arc<[u8; 1_000]>) -> u32 {
        tokio::task::yield_now().await;
        id + u32::from(big[0])
    }
    #[stampede_cached(ttl = 60, skip(big), run = "cancellable")]
    async fn cancellable(id: u32, big: Arc<[u8; 1_000]>) -> u32 {
        tokio::task::yield_now().await;
        id + u32::from(big[0])
    }
    #[stampede_cached(ttl = 60, skip(big), run = "in_caller")]
    async fn in_caller(id: u32, big: Arc<[u8; 1_000]>) -> u32 {
        tokio::task::yield_now().await;
        id + u32::from(big[0])
    }

    // A miss and a hit of each; a hundred times, since the load ends on another thread.
    for id in (0..100).flat_map(|id| [id, id]) {
        let big = Arc::new([1; 1_000]);
        let weak = Arc::downgrade(&big);
        assert_eq!(detached(id, Arc::clone(&big)).await, id + 1);
        assert_eq!(cancellable(id, Arc::clone(&big)).await, id + 1);
        assert_eq!(in_caller(id, big).await, id + 1);
        assert!(weak.upgrade().is_none(), "something keeps an argument");
    }
}
