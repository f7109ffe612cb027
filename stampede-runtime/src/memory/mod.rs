//! The memory tier: typed entries of one cache, bounded, found without an exclusive lock.
//!
//! Why not a cache crate: of those measured, the one whose hit is cheap enough (`quick_cache`) loses three quarters of
//! its speed when two threads read one hot key, and nine tenths beside a full-speed writer; its remedy, a feature, does
//! not compile beside its default. A `ShardedLock` over plain slabs keeps half and more, with as little memory.
//!
//! 1. A look-up takes one read lock of one shard, spread over the reading threads, and marks the slot as visited.
//! 2. Everything that writes an entry of a key is serialised by its caller (the key's flight lock). Eviction and
//!    sweeping are not; so a writer finds its slot under the read lock, and checks its serial number under the write lock.
//! 3. No code of the user's runs under a write lock: keys are compared under the read lock, and what is replaced, evicted
//!    or swept is handed out and dropped later.
//! 4. `total` is the weight of all slots and of room that was granted and not used yet. It never exceeds `capacity`.
//!
//! Architecture invariant: nothing here decides what a state means, reads a clock or knows a flight.

mod death;
mod slab;

use crate::{clock::Nanos, entry::Entry, tags::Label};
use crossbeam_utils::{CachePadded, sync::ShardedLock};
use slab::{Place, Slab};
use std::sync::{
    PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// So many entries make a shard worth having; below, one lock serves as well.
const SMALL_SHARD: u64 = 1_024;
/// So many entries make a shard's growth a pause that a caller would feel.
const LARGE_SHARD: u64 = 16_384;
/// More locks than this gain nothing for writers on any machine we know.
const WRITERS: u64 = 8;

/// The entries of one cache.
pub(crate) struct Memory<K, V> {
    shards: Box<[Shard<K, V>]>,
    capacity: u64,
    total: AtomicU64,
}

type Shard<K, V> = CachePadded<ShardedLock<Slab<K, V>>>;

/// What was taken out of memory: to be dropped where user code may run, and to be told of.
#[derive(Debug)]
pub(crate) struct Removed<K, V> {
    #[cfg_attr(not(test), expect(dead_code, reason = "kept to be dropped outside of the locks"))]
    pub(crate) key: K,
    pub(crate) entry: Entry<V>,
}

/// What came of storing.
#[derive(Debug)]
pub(crate) struct Put<K, V> {
    /// The entry that was replaced.
    pub(crate) replaced: Option<Entry<V>>,
    /// Entries that had to make room.
    pub(crate) evicted: Vec<Removed<K, V>>,
    /// The entry itself, if there is no room for it.
    pub(crate) refused: Option<(K, Entry<V>)>,
    /// The key, if the entry that was replaced had it already.
    pub(crate) spare: Option<K>,
}

impl<K, V> Memory<K, V> {
    pub(crate) fn new(capacity: u64) -> Self {
        let shards = (0..shards_for(capacity)).map(|_| CachePadded::new(ShardedLock::new(Slab::new()))).collect();
        Self { shards, capacity, total: AtomicU64::new(0) }
    }

    fn shard_index(&self, hash: u64) -> usize {
        // The table inside takes its bits from both ends of the hash; these are from the middle.
        let middle = (hash >> 32) as usize;
        middle & (self.shards.len() - 1)
    }

    fn shard(&self, hash: u64) -> &Shard<K, V> {
        &self.shards[self.shard_index(hash)]
    }

    /// Reads the entry of a key, under the read lock: the look-up of a hit.
    #[inline]
    pub(crate) fn hit<R>(&self, hash: u64, is: impl Fn(&K) -> bool, read: impl FnOnce(&Entry<V>) -> R) -> Option<R> {
        let slab = self.shard(hash).read().unwrap_or_else(PoisonError::into_inner);
        slab.visit(hash, is).map(read)
    }

    /// Reads the entry of a key, under the read lock, as everything but a hit does.
    pub(crate) fn get<R>(&self, hash: u64, is: &dyn Fn(&K) -> bool, read: impl FnOnce(&Entry<V>) -> R) -> Option<R> {
        let slab = self.shard(hash).read().unwrap_or_else(PoisonError::into_inner);
        let place = slab.find(hash, is)?;
        slab.entry(&place).map(read)
    }

    /// Stores an entry, whose key's writers are serialised by the caller. Heavier than the capacity: not stored.
    pub(crate) fn put(&self, hash: u64, key: K, entry: Entry<V>, weight: u32) -> Put<K, V>
    where
        K: Eq,
    {
        let mut put = Put { replaced: None, evicted: Vec::new(), refused: None, spare: None };
        if u64::from(weight) > self.capacity {
            put.refused = Some((key, entry));
            return put;
        }
        loop {
            let place = self.find(hash, &|other| *other == key);
            let held = place.as_ref().map_or(0, |place| u64::from(place.weight));
            let granted = u64::from(weight).saturating_sub(held);
            self.reserve(granted, hash, &mut put.evicted);
            let mut slab = self.shard(hash).write().unwrap_or_else(PoisonError::into_inner);
            match &place {
                None => slab.insert(hash, key, entry, weight),
                Some(place) if slab.holds(place) => {
                    put.replaced = Some(slab.replace(place, entry, weight));
                    put.spare = Some(key);
                }
                Some(_) => {
                    // It was evicted or swept just now: its weight is free, and ours has to be granted whole.
                    drop(slab);
                    self.release(granted);
                    continue;
                }
            }
            drop(slab);
            self.release(held + granted - u64::from(weight));
            return put;
        }
    }

    /// Removes the entry of a key if `condition` holds for it (asked under the read lock).
    pub(crate) fn remove_if(
        &self,
        hash: u64,
        is: &dyn Fn(&K) -> bool,
        condition: impl FnOnce(&Entry<V>) -> bool,
    ) -> Option<Removed<K, V>> {
        let place = {
            let slab = self.shard(hash).read().unwrap_or_else(PoisonError::into_inner);
            let place = slab.find(hash, is)?;
            condition(slab.entry(&place)?).then_some(place)?
        };
        self.remove(hash, &place)
    }

    /// Removes the entry of this label, whatever key of the hash it is stored under.
    pub(crate) fn remove_labelled(&self, hash: u64, label: Label) -> Option<Removed<K, V>> {
        let place = self.shard(hash).read().unwrap_or_else(PoisonError::into_inner).find_labelled(hash, label)?;
        self.remove(hash, &place)
    }

    fn remove(&self, hash: u64, place: &Place) -> Option<Removed<K, V>> {
        let mut slab = self.shard(hash).write().unwrap_or_else(PoisonError::into_inner);
        let removed = slab.holds(place).then(|| slab.remove(place.index))?;
        drop(slab);
        self.release(u64::from(place.weight));
        Some(removed)
    }

    /// Changes the times of a key's entry under the write lock.
    pub(crate) fn update(&self, hash: u64, is: &dyn Fn(&K) -> bool, change: &mut dyn FnMut(&mut Entry<V>)) -> bool {
        let Some(place) = self.find(hash, is) else { return false };
        let mut slab = self.shard(hash).write().unwrap_or_else(PoisonError::into_inner);
        let held = slab.holds(&place);
        if held {
            slab.update(&place, change);
        }
        held
    }

    /// Changes the times of all entries, one shard after another.
    pub(crate) fn update_all(&self, change: &mut dyn FnMut(&mut Entry<V>)) {
        for shard in &self.shards {
            let mut slab = shard.write().unwrap_or_else(PoisonError::into_inner);
            slab.update_all(change);
        }
    }

    /// Removes everything, one shard after another; `removed` sees each shard's entries outside of the lock.
    pub(crate) fn clear(&self, mut removed: impl FnMut(Vec<Removed<K, V>>)) {
        for shard in &self.shards {
            let slab = shard.write().unwrap_or_else(PoisonError::into_inner).take();
            self.release(slab.weight());
            removed(slab.into_removed());
        }
    }

    /// Removes at most `most` entries that are gone at `now`. Says when the next one will be.
    pub(crate) fn sweep(&self, now: Nanos, most: usize) -> Swept<K, V> {
        let mut swept = Swept { removed: Vec::new(), next: None };
        for shard in &self.shards {
            let mut slab = shard.write().unwrap_or_else(PoisonError::into_inner);
            let before = swept.removed.len();
            slab.take_dead(now, most - before, &mut swept.removed);
            let next = slab.next_death();
            drop(slab);
            self.release(swept.removed[before..].iter().map(|removed| u64::from(removed.entry.weight)).sum());
            swept.next = swept.next.into_iter().chain(next).min();
            if swept.removed.len() == most {
                // More may be due in the shards that were not looked at.
                swept.next = Some(now);
                break;
            }
        }
        swept
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> u64 {
        let lens = self.shards.iter().map(|shard| shard.read().unwrap_or_else(PoisonError::into_inner).len());
        lens.map(|len| len as u64).sum()
    }

    /// The weight of all entries.
    #[cfg(test)]
    pub(crate) fn weight(&self) -> u64 {
        self.total.load(Relaxed)
    }

    fn find(&self, hash: u64, is: &dyn Fn(&K) -> bool) -> Option<Place> {
        self.shard(hash).read().unwrap_or_else(PoisonError::into_inner).find(hash, is)
    }

    /// Grants room of at most `capacity`, evicting what is least worth keeping.
    ///
    /// Nobody waits here with room in hand, or two who do could wait for each other.
    fn reserve(&self, weight: u64, hash: u64, evicted: &mut Vec<Removed<K, V>>) {
        let grant = |total: u64| total.checked_add(weight).filter(|&total| total <= self.capacity);
        while self.total.fetch_update(Relaxed, Relaxed, grant).is_err() {
            match self.evict(hash) {
                Some(victim) => evicted.push(victim),
                // All room is in the hands of others, who are about to store.
                None => std::thread::yield_now(),
            }
        }
    }

    fn release(&self, weight: u64) {
        self.total.fetch_sub(weight, Relaxed);
    }

    /// Takes one entry out: of the shard of `hash` if it has any, else of the next that has.
    fn evict(&self, hash: u64) -> Option<Removed<K, V>> {
        let first = self.shard_index(hash);
        let (before, from) = self.shards.split_at(first);
        let victim = from.iter().chain(before).find_map(|shard| {
            let mut slab = shard.write().unwrap_or_else(PoisonError::into_inner);
            slab.evict()
        })?;
        self.release(u64::from(victim.entry.weight));
        Some(victim)
    }
}

/// What a sweep took out, and when to come again.
#[derive(Debug)]
pub(crate) struct Swept<K, V> {
    pub(crate) removed: Vec<Removed<K, V>>,
    pub(crate) next: Option<Nanos>,
}

/// Shards grow with the capacity: enough for writers not to meet, and each small enough to grow without a pause.
fn shards_for(capacity: u64) -> usize {
    let for_writers = (capacity / SMALL_SHARD).clamp(1, WRITERS);
    let for_growth = (capacity / LARGE_SHARD).min(1 << 12);
    let wanted = for_writers.max(for_growth);
    1_usize << wanted.ilog2()
}

#[cfg(test)]
mod tests;
