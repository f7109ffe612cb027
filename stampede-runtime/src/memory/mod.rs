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
mod slots;

use crate::{
    clock::Nanos,
    entry::Entry,
    erased::{Is, Item},
    tags::Label,
};
use crossbeam_utils::{CachePadded, sync::ShardedLock};
use slab::{AnySlab, Place, Slab};
pub(crate) use slab::{Seen, Taken};
pub(crate) use slots::{SlotsOf, item};
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
pub(crate) struct Memory<S: ?Sized> {
    capacity: u64,
    total: AtomicU64,
    shards: S,
}

/// The entries of one cache, whatever their types are.
pub(crate) type AnyMemory = Memory<dyn Shards>;

/// The locks over the slabs, whatever is in them.
pub(crate) trait Shards: Send + Sync {
    fn count(&self) -> usize;
    fn read(&self, shard: usize, read: &mut dyn FnMut(&AnySlab));
    fn write(&self, shard: usize, write: &mut dyn FnMut(&mut AnySlab));
}

/// The shards of a cache with these keys, values and errors.
pub(crate) struct ShardsOf<K, V, F>(Vec<Shard<K, V, F>>);

type Shard<K, V, F> = CachePadded<ShardedLock<Slab<SlotsOf<K, V, F>>>>;

impl<K, V, F> Shards for ShardsOf<K, V, F>
where
    K: Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    F: Clone + Send + Sync + 'static,
{
    fn count(&self) -> usize {
        self.0.len()
    }

    fn read(&self, shard: usize, read: &mut dyn FnMut(&AnySlab)) {
        read(&*self.0[shard].read().unwrap_or_else(PoisonError::into_inner));
    }

    fn write(&self, shard: usize, write: &mut dyn FnMut(&mut AnySlab)) {
        write(&mut *self.0[shard].write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// What was taken out of memory: to be dropped where user code may run, and to be told of.
#[derive(Debug)]
pub(crate) struct Removed {
    pub(crate) entry: Entry,
    /// Kept to be dropped outside of the locks.
    pub(crate) item: Item,
}

/// What came of storing.
#[derive(Debug)]
pub(crate) struct Put {
    /// What was replaced, with the key that was there already.
    pub(crate) replaced: Option<Removed>,
    /// Entries that had to make room.
    pub(crate) evicted: Vec<Removed>,
    /// The entry itself, if there is no room for it.
    pub(crate) refused: Option<Removed>,
}

impl<K, V, F> Memory<ShardsOf<K, V, F>> {
    /// At most `capacity` in weight, in some number of entries that will be about `entries` at most.
    pub(crate) fn new(capacity: u64, entries: u64) -> Self {
        // Without an iterator: this is compiled for each type.
        let mut shards = Vec::new();
        while shards.len() < shards_for(entries) {
            shards.push(CachePadded::new(ShardedLock::new(Slab::new())));
        }
        Self { capacity, total: AtomicU64::new(0), shards: ShardsOf(shards) }
    }

    /// What `read` makes of the value of a key that is fresh at `now` in any case, under the read lock: a hit.
    #[inline]
    pub(crate) fn hit<R>(
        &self,
        hash: u64,
        is: impl Fn(&K) -> bool,
        now: Nanos,
        read: impl FnOnce(&Result<V, F>) -> R,
    ) -> Option<R> {
        let slab = self.shard(hash).read().unwrap_or_else(PoisonError::into_inner);
        slab.fresh(hash, is, now).map(read)
    }

    /// Reads the entry of a key and its value, under the read lock.
    pub(crate) fn visit<R>(
        &self,
        hash: u64,
        is: impl Fn(&K) -> bool,
        read: impl FnOnce(&Entry, &Result<V, F>) -> R,
    ) -> Option<R> {
        let slab = self.shard(hash).read().unwrap_or_else(PoisonError::into_inner);
        slab.visit(hash, is).map(|(entry, value)| read(entry, value))
    }

    #[inline]
    fn shard(&self, hash: u64) -> &Shard<K, V, F> {
        &self.shards.0[shard_of(hash, self.shards.0.len())]
    }
}

/// Which shard a key is in.
fn shard_of(hash: u64, shards: usize) -> usize {
    // The table inside takes its bits from both ends of the hash; these are from the middle.
    let middle = (hash >> 32) as usize;
    middle & (shards - 1)
}

impl AnyMemory {
    fn shard_index(&self, hash: u64) -> usize {
        shard_of(hash, self.shards.count())
    }

    fn read<R>(&self, shard: usize, read: impl FnOnce(&AnySlab) -> R) -> Option<R> {
        let (mut read, mut out) = (Some(read), None);
        self.shards.read(shard, &mut |slab| out = read.take().map(|read| read(slab)));
        out
    }

    fn write<R>(&self, shard: usize, write: impl FnOnce(&mut AnySlab) -> R) -> Option<R> {
        let (mut write, mut out) = (Some(write), None);
        self.shards.write(shard, &mut |slab| out = write.take().map(|write| write(slab)));
        out
    }

    /// Reads the entry of a key, under the read lock, as everything but a hit does.
    pub(crate) fn get<R>(&self, hash: u64, is: Is<'_>, read: impl FnOnce(Seen<'_>) -> R) -> Option<R> {
        self.read(self.shard_index(hash), |slab| slab.seen(&slab.find(hash, is)?).map(read)).flatten()
    }

    /// Stores an entry, whose key's writers are serialised by the caller. Heavier than the capacity: not stored.
    pub(crate) fn put(&self, hash: u64, is: Is<'_>, entry: Entry, weight: u32, item: Item) -> Put {
        let mut put = Put { replaced: None, evicted: Vec::new(), refused: None };
        let mut new = Removed { entry, item };
        if u64::from(weight) > self.capacity {
            put.refused = Some(new);
            return put;
        }
        loop {
            let place = self.find(hash, is);
            let held = place.as_ref().map_or(0, |place| u64::from(place.weight));
            let granted = u64::from(weight).saturating_sub(held);
            self.reserve(granted, hash, &mut put.evicted);
            match self.put_at(hash, place.as_ref(), new, weight) {
                Ok(replaced) => {
                    put.replaced = replaced;
                    self.release(held + granted - u64::from(weight));
                    return put;
                }
                Err(unput) => {
                    // It was evicted or swept just now: its weight is free, and ours has to be granted whole.
                    new = unput;
                    self.release(granted);
                }
            }
        }
    }

    /// Stores an entry in the place of its key, if that still has what was found there.
    fn put_at(&self, hash: u64, place: Option<&Place>, new: Removed, weight: u32) -> Result<Option<Removed>, Removed> {
        let mut new = Some(new);
        let replaced = self.write(self.shard_index(hash), |slab| {
            if place.is_some_and(|place| !slab.holds(place)) {
                return None;
            }
            let Removed { entry, item } = new.take()?;
            match place {
                Some(place) => Some(slab.replace(place, entry, weight, item)),
                None => {
                    slab.insert(hash, entry, weight, item);
                    None
                }
            }
        });
        new.map_or_else(|| Ok(replaced.flatten()), Err)
    }

    /// Removes the entry of a key if `condition` holds for it (asked under the read lock).
    pub(crate) fn remove_if(&self, hash: u64, is: Is<'_>, condition: impl FnOnce(&Entry) -> bool) -> Option<Removed> {
        let found = |slab: &AnySlab| {
            let place = slab.find(hash, is)?;
            condition(slab.seen(&place)?.entry).then_some(place)
        };
        let place = self.read(self.shard_index(hash), found).flatten()?;
        self.remove(hash, &place)
    }

    /// Removes the entry of this label, whatever key of the hash it is stored under.
    pub(crate) fn remove_labelled(&self, hash: u64, label: Label) -> Option<Removed> {
        let place = self.read(self.shard_index(hash), |slab| slab.find_labelled(hash, label)).flatten()?;
        self.remove(hash, &place)
    }

    fn remove(&self, hash: u64, place: &Place) -> Option<Removed> {
        let removed = self.write(self.shard_index(hash), |slab| slab.holds(place).then(|| slab.remove(place.index)));
        let removed = removed.flatten()?;
        self.release(u64::from(place.weight));
        Some(removed)
    }

    /// Changes the times of a key's entry under the write lock.
    pub(crate) fn update(&self, hash: u64, is: Is<'_>, change: &mut dyn FnMut(&mut Entry)) {
        let Some(place) = self.find(hash, is) else { return };
        self.write(self.shard_index(hash), |slab| {
            if slab.holds(&place) {
                slab.update(place.index, change);
            }
        });
    }

    /// Changes the times of all entries, one shard after another.
    pub(crate) fn update_all(&self, change: &mut dyn FnMut(&mut Entry)) {
        for shard in 0..self.shards.count() {
            self.write(shard, |slab| slab.update_all(change));
        }
    }

    /// Removes everything, one shard after another; `taken` sees each shard's entries outside of the lock.
    pub(crate) fn clear(&self, mut taken: impl FnMut(Taken)) {
        for shard in 0..self.shards.count() {
            if let Some(slab) = self.write(shard, AnySlab::take) {
                self.release(slab.weight);
                taken(slab);
            }
        }
    }

    /// Removes at most `most` entries that are gone at `now`. Says when the next one will be.
    pub(crate) fn sweep(&self, now: Nanos, most: usize) -> Swept {
        let mut swept = Swept { removed: Vec::new(), next: None };
        for shard in 0..self.shards.count() {
            let before = swept.removed.len();
            let step = self.write(shard, |slab| {
                slab.take_dead(now, most - before, &mut swept.removed);
                slab.next_death()
            });
            self.release(swept.removed[before..].iter().map(|removed| u64::from(removed.entry.weight)).sum());
            swept.next = swept.next.into_iter().chain(step.flatten()).min();
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
        (0..self.shards.count()).filter_map(|shard| self.read(shard, |slab| slab.len() as u64)).sum()
    }

    /// The number of shards.
    #[cfg(test)]
    pub(crate) fn shards(&self) -> usize {
        self.shards.count()
    }

    /// The weight of all entries.
    #[cfg(test)]
    pub(crate) fn weight(&self) -> u64 {
        self.total.load(Relaxed)
    }

    fn find(&self, hash: u64, is: Is<'_>) -> Option<Place> {
        self.read(self.shard_index(hash), |slab| slab.find(hash, is)).flatten()
    }

    /// Grants room of at most `capacity`, evicting what is least worth keeping.
    ///
    /// Nobody waits here with room in hand, or two who do could wait for each other.
    fn reserve(&self, weight: u64, hash: u64, evicted: &mut Vec<Removed>) {
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
    fn evict(&self, hash: u64) -> Option<Removed> {
        let (first, count) = (self.shard_index(hash), self.shards.count());
        let mut shards = (first..count).chain(0..first);
        let victim = shards.find_map(|shard| self.write(shard, AnySlab::evict).flatten())?;
        self.release(u64::from(victim.entry.weight));
        Some(victim)
    }
}

/// What a sweep took out, and when to come again.
#[derive(Debug)]
pub(crate) struct Swept {
    pub(crate) removed: Vec<Removed>,
    pub(crate) next: Option<Nanos>,
}

/// Shards grow with the entries: enough for writers not to meet, and each small enough to grow without a pause.
fn shards_for(entries: u64) -> usize {
    let for_writers = (entries / SMALL_SHARD).clamp(1, WRITERS);
    let for_growth = (entries / LARGE_SHARD).min(1 << 12);
    let wanted = for_writers.max(for_growth);
    1_usize << wanted.ilog2()
}

#[cfg(test)]
mod tests;
