//! What can't be seen from outside.

use super::*;
use crate::{error::SharedError, key::Part, outcome::ConvertError, timekeeper::Due};
use std::time::Duration;

type SecondsCache = Core<Typed<u32, ConvertError<u32, SharedError>>>;

/// A cache whose values are their own lifetimes in seconds.
fn cache() -> Arc<SecondsCache> {
    let policy = Policy::builder().ttl(Duration::from_secs(60)).build().unwrap();
    let hooks =
        Hooks { ttl_of: Some(|seconds: &u32| Some(Duration::from_secs((*seconds).into()))), ..Hooks::default() };
    let kind = Kind { outcome: ConvertError::shared(|_| false), hooks };
    Core::new("seconds", policy, kind, Dice::default())
}

fn insert(cache: &SecondsCache, seconds: u32) {
    let key = Part(&seconds);
    cache.any().insert(cache.hash(&key), &key, Arc::new(seconds), &[]);
}

/// Moments that were overtaken by sooner ones still come, and must not go on beside those.
#[test]
fn a_cache_is_swept_by_one_moment_after_another() {
    let cache = cache();
    let after = |seconds: u64| crate::clock::Now::real() + seconds * 1_000_000_000;
    for seconds in [7_200, 3_600, 60] {
        insert(&cache, seconds);
    }
    let second = cache.me.due(after(70)).expect("two are left");
    assert_eq!(cache.len(), 2);
    assert!((after(3_590)..after(3_610)).contains(&second));
    assert_eq!(cache.me.due(after(100)), None, "the next moment is set already");
    let third = cache.me.due(after(3_610)).expect("one is left");
    assert_eq!(cache.me.due(after(3_610)), None, "the one that was set for the second entry from the start");
    assert_eq!(cache.me.due(third.max(after(7_210))), None);
    assert_eq!(cache.len(), 0);
    // A new entry has the sweep come again.
    insert(&cache, 60);
    assert_eq!((cache.me.due(after(70)), cache.len()), (None, 0));
}

/// A step that was full is followed by another at once.
#[test]
fn a_sweep_goes_on_until_all_that_is_dead_is_freed() {
    let cache = cache();
    for key in 0..1_000_u32 {
        let key = Part(&key);
        cache.any().insert(cache.hash(&key), &key, Arc::new(60_u32), &[]);
    }
    insert(&cache, 7_200);
    let now = crate::clock::Now::real() + 100 * 1_000_000_000;
    let mut steps = 1;
    while cache.me.due(now).is_some_and(|next| next == now) {
        steps += 1;
    }
    assert!((3..20).contains(&steps), "{steps} steps for 1,000 entries");
    assert_eq!(cache.len(), 1);
}

/// A capacity in bytes says little about how many entries there will be, and locks cost memory too.
#[test]
fn a_capacity_in_weight_is_not_taken_for_a_number_of_entries() {
    let cache = |weight| {
        let policy = Policy::builder().ttl(Duration::from_secs(60)).capacity(1 << 40).build().unwrap();
        let kind = Kind { outcome: ConvertError::shared(|_| false), hooks: Hooks { weight, ..Hooks::default() } };
        Core::<Typed<u32, ConvertError<u32, SharedError>>>::new("many", policy, kind, Dice::default())
    };
    let shards = |cache: Arc<SecondsCache>| cache.any().memory().shards();
    assert_eq!(shards(cache(None)), 4_096);
    assert_eq!(shards(cache(Some(|_| 1))), 64);
}
