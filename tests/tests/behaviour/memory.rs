//! Memory: bounded by `capacity`, freed untouched in bounded steps, and all of it with its scope.

use futures::FutureExt;
use stampede_runtime::{Cache, CacheBuilder, CacheScope, Freshness, stampede_cached};
use stampede_tests::{Counted, Gate, Live, in_a_minute, soon, until, wait_until};
use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};
use tokio::time::advance;

const HOUR: Duration = Duration::from_secs(3600);

fn counted(name: &str, ttl: Duration) -> CacheBuilder<u32, Counted> {
    Cache::builder(name).ttl(ttl)
}

fn numbers(capacity: u64) -> Cache<u32, u32> {
    Cache::builder("numbers").ttl(HOUR).capacity(capacity).build().expect("a policy")
}

#[test]
fn a_million_expired_entries_are_freed_untouched() {
    const MILLION: u32 = 1_000_000;
    static LIVE: Live = Live::new();
    let cache =
        counted("a million", Duration::from_secs(2)).capacity(2 * u64::from(MILLION)).build().expect("a policy");

    for key in 0..MILLION {
        drop(cache.entry(&key).insert(LIVE.make()));
    }
    assert!(LIVE.most_at_once() > 100_000, "the machine is too slow for this test to mean anything");
    wait_until(|| cache.handle().is_empty());
    wait_until(|| LIVE.alive() == 0);
    assert_eq!((LIVE.made(), cache.handle().stats().evictions), (LIVE.dropped(), 0));
}

/// A value whose drop is held up, once.
#[derive(Clone)]
struct Held(Arc<Hold>);

struct Hold {
    sweeps: AtomicBool,
    began: Barrier,
    goes_on: Barrier,
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.0.sweeps.swap(false, SeqCst) {
            self.0.began.wait();
            self.0.goes_on.wait();
        }
    }
}

/// The sweeper is stopped in the first step, while it frees what it took out.
#[test]
fn a_sweep_goes_in_bounded_steps_and_holds_no_lock_meanwhile() {
    in_a_minute(stop_in_the_first_step);
}

fn stop_in_the_first_step() {
    const ALL: u32 = 10_000;
    let hold = Arc::new(Hold { sweeps: AtomicBool::new(false), began: Barrier::new(2), goes_on: Barrier::new(2) });
    let cache = Cache::<u32, Held>::builder("steps").ttl(HOUR).build().expect("a policy");
    for key in 0..ALL {
        drop(cache.entry(&key).insert(Held(Arc::clone(&hold))));
    }
    hold.sweeps.store(true, SeqCst);
    // All in the same moment.
    drop(cache.handle().expire());
    hold.began.wait();
    let left = cache.handle().len();
    for key in ALL..ALL + 100 {
        drop(cache.entry(&key).insert(Held(Arc::clone(&hold))));
    }
    let planted = (ALL..ALL + 100).filter(|key| cache.entry(key).state() == Some(Freshness::Fresh)).count();
    hold.goes_on.wait();
    assert_eq!(planted, 100);
    assert!((u64::from(ALL) - 1_000..u64::from(ALL)).contains(&left), "{left} are left after one step");
    wait_until(|| cache.handle().len() == 100);
}

/// A value that panics when it is dropped by the sweeper.
#[derive(Clone)]
struct Bomb {
    _counted: Counted,
    armed: Arc<AtomicBool>,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        let armed = self.armed.swap(false, SeqCst);
        assert!(!armed || thread::panicking(), "memory: a value panics when it is dropped");
    }
}

#[test]
fn a_drop_that_panics_does_not_end_the_sweeping() {
    static LIVE: Live = Live::new();
    let armed = Arc::new(AtomicBool::new(false));
    let cache = Cache::<u32, Bomb>::builder("bombs").ttl(HOUR).build().expect("a policy");
    let plant = |keys: std::ops::Range<u32>| {
        keys.for_each(|key| drop(cache.entry(&key).insert(Bomb { _counted: LIVE.make(), armed: Arc::clone(&armed) })));
    };

    plant(0..1_000);
    armed.store(true, SeqCst);
    drop(cache.handle().expire());
    wait_until(|| LIVE.alive() == 0);
    plant(0..1_000);
    drop(cache.handle().expire());
    wait_until(|| LIVE.alive() == 0);
}

#[test]
fn no_more_than_capacity_while_many_threads_insert() {
    static LIVE: Live = Live::new();
    // One shard, whose length is exact at each moment, and many.
    for capacity in [1_000, 10_000] {
        let cache = counted("bounded", HOUR).capacity(capacity).build().expect("a policy");
        let most = thread::scope(|scope| {
            for thread in 0..8 {
                let cache = &cache;
                scope.spawn(move || {
                    for key in 0..5_000 {
                        drop(cache.entry(&(key * 8 + thread)).insert(LIVE.make()));
                    }
                });
            }
            (0..1_000).map(|_| cache.handle().len()).max()
        });
        assert!(capacity > 1_000 || most <= Some(capacity), "{most:?}");
        assert_eq!(cache.handle().len(), capacity);
        // Each thread has a few in hand: the caller's, the stored, the evicted.
        let bound = i64::try_from(capacity + 8 * 8).expect("few");
        assert!(LIVE.most_at_once() <= bound, "{} at once", LIVE.most_at_once());
        assert_eq!(LIVE.alive(), i64::try_from(capacity).expect("few"));
        drop(cache);
        assert_eq!((LIVE.alive(), LIVE.made()), (0, LIVE.dropped()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_more_than_capacity_while_many_tasks_load() {
    static LIVE: Live = Live::new();
    #[stampede_cached(ttl = 3600, capacity = 100)]
    async fn f(key: u32) -> Arc<Counted> {
        tokio::task::yield_now().await;
        let _ = key;
        Arc::new(LIVE.make())
    }

    let tasks: Vec<_> = (0..8)
        .map(|task| {
            tokio::spawn(async move {
                for key in 0..2_000 {
                    f(key * 8 + task).await;
                    assert!(f_cache().len() <= 100);
                }
            })
        })
        .collect();
    for task in tasks {
        soon(task).await.expect("no more than 100");
    }
    until(|| LIVE.alive() == 100).await;
    let stats = f_cache().stats();
    assert_eq!((f_cache().len(), stats.evictions, stats.evictions_fresh), (100, 15_900, 15_900));
}

#[tokio::test(start_paused = true)]
async fn evictions_are_counted_those_of_fresh_entries_apart() {
    let cache = Cache::<u32, u32>::builder("evictions").ttl(Duration::from_secs(10)).capacity(10).build().expect("it");
    let insert = |keys: std::ops::Range<u32>| keys.for_each(|key| drop(cache.entry(&key).insert(key)));
    let evictions = || (cache.handle().stats().evictions, cache.handle().stats().evictions_fresh);

    insert(0..10);
    assert_eq!(evictions(), (0, 0));
    insert(10..25);
    assert_eq!(evictions(), (15, 15));
    // Renewed in its own place: nobody has to go.
    insert(24..25);
    assert_eq!(evictions(), (15, 15));
    advance(Duration::from_secs(11)).await;
    insert(25..32);
    assert_eq!(evictions(), (22, 15));
}

#[test]
fn what_is_used_outlives_what_is_not() {
    let cache = numbers(100);
    drop(cache.entry(&0).insert(0));
    for key in 1..10_000 {
        assert_eq!(cache.entry(&0).get().now_or_never().flatten(), Some(0), "after {key} others");
        drop(cache.entry(&key).insert(key));
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_weight_capacity_is_the_greatest_total() {
    #[stampede_cached(ttl = 60, capacity = 100, weight = |text: &String| u32::try_from(text.len()).unwrap_or(u32::MAX))]
    async fn f(length: usize, _which: u32) -> String {
        "x".repeat(length)
    }

    for which in 0..20 {
        f(10, which).await;
    }
    assert_eq!((f_cache().len(), f_cache().stats().evictions), (10, 10));
    f(95, 0).await;
    assert_eq!(f_cache().len(), 1);
    // As heavy as all is not too heavy.
    assert_eq!(f(100, 0).await.len(), 100);
    assert_eq!((f_cache().len(), f_entry(100, 0).state()), (1, Some(Freshness::Fresh)));
    // A heavier value in the place of a lighter one, and the other way round.
    f_entry(100, 0).insert("x".into()).await;
    for which in 0..20 {
        f(9, which).await;
    }
    assert!((11..=12).contains(&f_cache().len()), "{}", f_cache().len());
}

#[tokio::test(start_paused = true)]
async fn dropping_a_scope_frees_all_of_it() {
    static LIVE: Live = Live::new();
    #[stampede_cached(ttl = 3600, tags = [key.to_string()])]
    async fn one(key: u32) -> Counted {
        let _ = key;
        LIVE.make()
    }
    #[stampede_cached(ttl = 3600)]
    async fn two<T: Send + Sync + Clone + Eq + std::hash::Hash + 'static>(_key: T) -> Result<Counted, Arc<str>> {
        Ok(LIVE.make())
    }

    let scope = CacheScope::new();
    scope
        .enter(async {
            for key in 0..500 {
                one(key).await;
                two(key).await.expect("a value");
                two(key.to_string()).await.expect("a value");
            }
        })
        .await;
    let clone = scope.clone();
    drop(scope);
    assert_eq!((LIVE.alive(), clone.caches().len()), (1_500, 3));
    drop(clone);
    assert_eq!((LIVE.alive(), LIVE.made()), (0, LIVE.dropped()));
}

#[tokio::test(start_paused = true)]
async fn a_flight_outlives_its_scope_and_keeps_nothing_of_it() {
    static LIVE: Live = Live::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 3600)]
    async fn f(key: u32) -> Counted {
        if key == 1 {
            GATE.pass().await;
        }
        LIVE.make()
    }

    let guard = CacheScope::new().guard();
    f(0).await;
    let calls: Vec<_> = (0..10).map(|_| tokio::spawn(f(1))).collect();
    soon(GATE.arrival()).await;
    assert_eq!((LIVE.alive(), f_cache().stats().in_flight), (1, 1));
    drop(guard);
    assert_eq!(LIVE.alive(), 0, "the flight keeps the scope's memory");
    GATE.open(1);
    for call in calls {
        soon(call).await.expect("a value");
    }
    assert_eq!(LIVE.alive(), 0);
}
