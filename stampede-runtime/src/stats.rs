//! What a cache has done: counters, and their reading as [`Stats`].

use crossbeam_utils::CachePadded;
use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

/// What a cache has done since it was first used. Counters only rise; `in_flight` and `entries` are of now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls answered with a fresh value.
    pub hits_fresh: u64,
    /// Calls answered with a value in its early window.
    pub hits_early: u64,
    /// Calls answered with a stale value.
    pub hits_stale: u64,
    /// Calls answered with an old value because its load failed, or fails at the moment.
    pub served_on_error: u64,
    /// Calls that found nothing they could be answered with.
    pub misses: u64,
    /// Loads begun, refreshes included.
    pub loads: u64,
    /// Calls that joined a flight which another had begun.
    pub coalesced: u64,
    /// Refreshes begun.
    pub refreshes: u64,
    /// Loads that ended with an `Err`, timeouts included.
    pub errors: u64,
    /// Loads that panicked.
    pub panics: u64,
    /// Loads that were given up after their `timeout`.
    pub timeouts: u64,
    /// Loads that were dropped before they ended.
    pub abandoned: u64,
    /// Pauses begun after failed refreshes.
    pub pauses: u64,
    /// Loads led anew because another had kept the key for longer than `lead_after`.
    pub direct: u64,
    /// Loads that ran over `max_loads`, below a load that held a permit.
    pub over_limit: u64,
    /// Values not stored because they are heavier than the whole capacity.
    pub too_heavy: u64,
    /// Entries evicted to make room.
    pub evictions: u64,
    /// Those of them that were fresh.
    pub evictions_fresh: u64,
    /// Keys, tags and whole caches invalidated, and values planted with `insert`.
    pub invalidations: u64,
    /// Values that came too late to be stored: something newer was there.
    pub refused: u64,
    /// Loads running now.
    pub in_flight: u64,
    /// Entries in memory now.
    pub entries: u64,
    /// How long loads took.
    pub load_times: LoadTimes,
}

impl Stats {
    /// All calls answered without waiting.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits_fresh + self.hits_early + self.hits_stale
    }
}

/// How long loads took: a histogram with a bucket for each power of two of microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadTimes {
    buckets: [u64; BUCKETS],
    total: Duration,
}

const BUCKETS: usize = 40;

impl Default for LoadTimes {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], total: Duration::ZERO }
    }
}

impl LoadTimes {
    /// The number of loads that ended.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Their sum.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.total
    }

    /// Each bucket that is not empty: loads that took less than this, but no less than half of it, and their number.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let limits = (0..).map(|power| Duration::from_micros(1 << power));
        limits.zip(self.buckets).filter(|(_, count)| *count > 0)
    }
}

/// The rare counters: a field, its beginning and its reading for each.
macro_rules! counters {
    ($($name:ident)*) => {
        /// Counters of one cache. The hits, which all threads count all the time, are spread; the rest are rare.
        #[derive(Debug)]
        pub(crate) struct Counters {
            hits: [CachePadded<[AtomicU64; 3]>; STRIPES],
            load_micros: AtomicU64,
            load_buckets: [AtomicU64; BUCKETS],
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Counters {
            pub(crate) const fn new() -> Self {
                Self {
                    hits: [const { CachePadded::new([const { AtomicU64::new(0) }; 3]) }; STRIPES],
                    load_micros: AtomicU64::new(0),
                    load_buckets: [const { AtomicU64::new(0) }; BUCKETS],
                    $($name: AtomicU64::new(0),)*
                }
            }

            fn rare(&self) -> Stats {
                Stats { $($name: self.$name.load(Relaxed),)* ..Stats::default() }
            }
        }
    };
}

counters! {
    served_on_error misses loads coalesced refreshes errors panics timeouts abandoned pauses direct over_limit too_heavy
    evictions evictions_fresh invalidations refused in_flight
}

const STRIPES: usize = 8;

thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// This thread's place among the stripes.
#[inline]
fn stripe() -> usize {
    let stripe = STRIPE.get();
    if stripe < STRIPES { stripe } else { new_stripe() }
}

#[cold]
fn new_stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let stripe = NEXT.fetch_add(1, Relaxed) % STRIPES;
    STRIPE.set(stripe);
    stripe
}

/// Which counter of the hits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hit {
    Fresh,
    Early,
    Stale,
}

/// Adds one.
#[inline]
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

impl Counters {
    #[inline]
    pub(crate) fn hit(&self, hit: Hit) {
        count(&self.hits[stripe()][hit as usize]);
    }

    /// Counts a load that took so long.
    pub(crate) fn load_took(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = micros.checked_ilog2().map_or(0, |power| power as usize + 1).min(BUCKETS - 1);
        count(&self.load_buckets[bucket]);
        self.load_micros.fetch_add(micros, Relaxed);
    }

    fn hits(&self, hit: Hit) -> u64 {
        self.hits.iter().map(|stripe| stripe[hit as usize].load(Relaxed)).sum()
    }

    pub(crate) fn read(&self, entries: u64) -> Stats {
        let load_times = LoadTimes {
            buckets: std::array::from_fn(|bucket| self.load_buckets[bucket].load(Relaxed)),
            total: Duration::from_micros(self.load_micros.load(Relaxed)),
        };
        Stats {
            hits_fresh: self.hits(Hit::Fresh),
            hits_early: self.hits(Hit::Early),
            hits_stale: self.hits(Hit::Stale),
            entries,
            load_times,
            ..self.rare()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_counted_in_the_bucket_of_its_time() {
        let counters = Counters::new();
        let times = [0, 1, 2, 3, 4, 1_000, 1_024, u64::MAX >> 1].map(Duration::from_micros);
        for time in times {
            counters.load_took(time);
        }
        let load_times = counters.read(0).load_times;
        let buckets: Vec<_> = load_times.buckets().map(|(limit, count)| (limit.as_micros(), count)).collect();
        assert_eq!(buckets, [(1, 1), (2, 1), (4, 2), (8, 1), (1_024, 1), (2_048, 1), (1 << 39, 1)]);
        assert_eq!((load_times.count(), load_times.total()), (8, times.iter().sum()));
    }

    #[test]
    fn hits_of_all_threads_add_up() {
        let counters = Counters::new();
        std::thread::scope(|scope| {
            for _ in 0..3 * STRIPES {
                scope.spawn(|| {
                    counters.hit(Hit::Fresh);
                    counters.hit(Hit::Early);
                    counters.hit(Hit::Early);
                    (0..3).for_each(|_| counters.hit(Hit::Stale));
                });
            }
        });
        let stats = counters.read(7);
        assert_eq!((stats.hits_fresh, stats.hits_early, stats.hits_stale), (24, 48, 72));
        assert_eq!((stats.hits(), stats.entries, stats.misses), (144, 7, 0));
    }
}
