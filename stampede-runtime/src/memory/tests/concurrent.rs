//! Many threads: the bound holds at every moment, and nobody gets what is not theirs.

use super::*;
use std::{
    sync::{Mutex, atomic::AtomicBool},
    thread,
};

const KEYS: u16 = 48;
const THREADS: u64 = 4;
const STEPS: u32 = 12_000;

struct Arena {
    memory: Typed<Value, Value>,
    capacity: u64,
    heaviest: u32,
    /// For each key the value that was written last, under the lock that serialises its writers.
    written: Vec<Mutex<Option<u64>>>,
    ids: AtomicU64,
    living: Living,
    handed_out: AtomicU64,
    over: AtomicBool,
}

impl Arena {
    fn new(capacity: u64, heaviest: u32) -> Self {
        Self {
            memory: Typed::new(capacity),
            capacity,
            heaviest,
            written: (0..KEYS).map(|_| Mutex::new(None)).collect(),
            ids: AtomicU64::new(0),
            living: Living::default(),
            handed_out: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    fn write(&self, seed: u64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..STEPS {
            let key = rng.u16(0..KEYS);
            let mut written = self.written[usize::from(key)].lock().unwrap();
            match rng.u8(0..10) {
                0..6 => *written = Some(self.put(key, &mut rng)),
                6 => {
                    if let Some(removed) = self.memory.remove_if(hash(key), &is(key), |_| true) {
                        assert_eq!(Some(told_of_removed(&removed)), written.map(|id| (key, id)));
                        self.handed_out.fetch_add(1, Relaxed);
                    }
                    *written = None;
                }
                7 => {
                    let dies = death(&mut rng);
                    self.memory.update(hash(key), &is(key), &mut |entry| entry.dies = dies);
                }
                _ => {}
            }
            // Anybody may have freed it meanwhile, but it is nothing else.
            let got = self.memory.get(hash(key), &is(key), |seen| told_of_seen(&seen));
            assert!(got.is_none_or(|got| Some(got) == written.map(|id| (key, id))), "{got:?} for {key}: {written:?}");
            drop(written);
            assert!(self.memory.weight() <= self.capacity);
        }
    }

    fn put(&self, key: u16, rng: &mut fastrand::Rng) -> u64 {
        let id = self.ids.fetch_add(1, Relaxed);
        let value = Value::new(key, id, &self.living);
        let (entry, item) = numbered(value, death(rng));
        let put = self.memory.put(hash(key), &is(key), entry, rng.u32(1..=self.heaviest), item);
        assert!(put.refused.is_none(), "nothing is heavier than the capacity");
        self.count(&put.evicted);
        assert!(put.replaced.iter().all(|replaced| told_of_removed(replaced).0 == key));
        self.count(put.replaced.as_slice());
        id
    }

    /// Sweeps, and clears now and then, until all have written.
    fn tidy(&self) {
        let mut rng = fastrand::Rng::with_seed(0);
        while !self.over.load(Relaxed) {
            match rng.u8(0..4) {
                0 => self.memory.clear(|taken| self.add(taken.entries().count())),
                1 => self.memory.update_all(&mut |entry| entry.dies = entry.dies.max(ANCHOR + TICK)),
                _ => self.count(&self.memory.sweep(ANCHOR + rng.u64(0..6) * TICK, 5).removed),
            }
            thread::yield_now();
        }
    }

    fn count(&self, removed: &[Removed]) {
        for removed in removed {
            told_of_removed(removed);
        }
        self.add(removed.len());
    }

    fn add(&self, handed_out: usize) {
        self.handed_out.fetch_add(handed_out as u64, Relaxed);
    }

    fn run(self) {
        thread::scope(|scope| {
            let arena = &self;
            let tidy = scope.spawn(|| arena.tidy());
            let writers: Vec<_> = (1..=THREADS).map(|seed| scope.spawn(move || arena.write(seed))).collect();
            let ends: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            self.over.store(true, Relaxed);
            tidy.join().unwrap();
            assert!(ends.iter().all(Result::is_ok), "a writer found something wrong");
        });
        let (left, weight) = (self.memory.len(), self.memory.weight());
        let mut weights = 0;
        self.memory.clear(|taken| weights += taken.entries().map(|entry| u64::from(entry.weight)).sum::<u64>());
        assert_eq!(weight, weights);
        assert_eq!((self.memory.len(), self.memory.weight()), (0, 0));
        assert_eq!(self.ids.load(Relaxed), self.handed_out.load(Relaxed) + left);
        assert_eq!(self.living.load(Relaxed), 0);
    }
}

fn death(rng: &mut fastrand::Rng) -> Nanos {
    if rng.bool() { NEVER } else { ANCHOR + rng.u64(0..6 * TICK) }
}

#[test]
fn writers_in_one_shard_keep_to_the_capacity() {
    Arena::new(60, 5).run();
}

#[test]
fn writers_in_many_shards_keep_to_the_capacity() {
    Arena::new(1 << 14, 2_000).run();
}

/// With so little room there are moments in which all of it is granted and nothing is stored.
#[test]
fn whoever_fits_is_stored_however_little_room_there_is() {
    Arena::new(2, 2).run();
}
