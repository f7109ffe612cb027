//! One shard's entries: slots in a slab, found by a table of indices, evicted by the clock algorithm.
//!
//! The hand passes over the slots and takes the first that was not visited since it last came by (Corbató's CLOCK, also
//! called second chance): a hit has only to set one bit, which a read lock allows.

use super::{
    Removed,
    death::{Deaths, Linked, Links, NIL},
    slots::{Slots, SlotsOf},
};
use crate::{
    clock::Nanos,
    entry::Entry,
    erased::{Is, Item, Stored},
    index::Index,
    tags::Label,
};

/// Entries under one lock.
#[derive(Debug)]
pub(crate) struct Slab<S: ?Sized> {
    /// Indices of slots by the hash of their key.
    table: Index,
    /// The first vacant slot.
    vacant: u32,
    hand: u32,
    deaths: Deaths,
    /// Rises with every insertion: tells a slot from what was in its place before.
    serial: u32,
    weight: u64,
    places: Places,
    /// What a look-up reads of the same places.
    slots: S,
}

/// What the places have besides: read by all but hits.
#[derive(Debug)]
struct Places(Vec<Kept>);

#[derive(Debug)]
enum Kept {
    Occupied { hash: u64, entry: Entry, links: Links, serial: u32 },
    Vacant { next: u32 },
}

impl Places {
    fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(NIL)
    }

    fn hash(&self, index: u32) -> u64 {
        match self.0.get(index as usize) {
            Some(Kept::Occupied { hash, .. }) => *hash,
            Some(Kept::Vacant { .. }) | None => 0,
        }
    }

    fn entry(&self, index: u32) -> Option<&Entry> {
        match self.0.get(index as usize)? {
            Kept::Occupied { entry, .. } => Some(entry),
            Kept::Vacant { .. } => None,
        }
    }

    fn entry_mut(&mut self, index: u32) -> Option<&mut Entry> {
        match self.0.get_mut(index as usize)? {
            Kept::Occupied { entry, .. } => Some(entry),
            Kept::Vacant { .. } => None,
        }
    }

    fn serial(&self, index: u32) -> Option<u32> {
        match self.0.get(index as usize)? {
            Kept::Occupied { serial, .. } => Some(*serial),
            Kept::Vacant { .. } => None,
        }
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        (0..self.len()).filter_map(|index| self.entry(index))
    }
}

impl Linked for Places {
    fn links(&mut self, index: u32) -> Option<&mut Links> {
        match self.0.get_mut(index as usize)? {
            Kept::Occupied { links, .. } => Some(links),
            Kept::Vacant { .. } => None,
        }
    }
}

/// A slab of any type.
pub(super) type AnySlab = Slab<dyn Slots>;

/// Where an entry was found, to be checked before it is used.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) index: u32,
    serial: u32,
    pub(super) weight: u32,
}

/// An entry that was found, under the read lock.
pub(crate) struct Seen<'a> {
    pub(crate) entry: &'a Entry,
    slots: &'a dyn Slots,
    index: u32,
}

impl Seen<'_> {
    /// Marks it as visited, as a hit does.
    pub(crate) fn visit(&self) {
        self.slots.visit(self.index);
    }

    /// A copy of the value, which the user's `Clone` makes.
    pub(crate) fn value(&self) -> Option<Stored> {
        self.slots.value(self.index)
    }
}

impl<K, V, F> Slab<SlotsOf<K, V, F>> {
    pub(super) const fn new() -> Self {
        Self {
            table: Index::new(),
            vacant: NIL,
            hand: 0,
            deaths: Deaths::new(),
            serial: 0,
            weight: 0,
            places: Places(Vec::new()),
            slots: SlotsOf::new(),
        }
    }

    #[inline]
    fn index_of(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<u32> {
        let is_key = |index| self.slots.get(index).and_then(|slot| slot.item()).is_some_and(|(key, _)| is(key));
        self.table.find_inlined(hash, is_key)
    }

    /// The value of a key, if it is fresh at `now` in any case; marked as visited: the look-up of a hit.
    #[inline]
    pub(super) fn fresh(&self, hash: u64, is: impl Fn(&K) -> bool, now: Nanos) -> Option<&Result<V, F>> {
        let slot = self.slots.get(self.index_of(hash, is)?)?;
        slot.visit();
        let (_, value) = slot.item().filter(|_| now < slot.until)?;
        Some(value)
    }

    /// The entry of a key and its value, marked as visited.
    pub(super) fn visit(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<(&Entry, &Result<V, F>)> {
        let index = self.index_of(hash, is)?;
        let slot = self.slots.get(index)?;
        slot.visit();
        let (_, value) = slot.item()?;
        Some((self.places.entry(index)?, value))
    }
}

impl AnySlab {
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn find(&self, hash: u64, is: Is<'_>) -> Option<Place> {
        self.place(hash, &|index| self.slots.key(index).is_some_and(is))
    }

    pub(super) fn find_labelled(&self, hash: u64, label: Label) -> Option<Place> {
        self.place(hash, &|index| self.places.entry(index).is_some_and(|entry| entry.label == label))
    }

    fn place(&self, hash: u64, is: &dyn Fn(u32) -> bool) -> Option<Place> {
        let is_it = |index| self.places.hash(index) == hash && is(index);
        self.place_of(self.table.find(hash, &is_it)?)
    }

    fn place_of(&self, index: u32) -> Option<Place> {
        Some(Place { index, serial: self.places.serial(index)?, weight: self.places.entry(index)?.weight })
    }

    /// Whether the place still has what was found there.
    pub(super) fn holds(&self, place: &Place) -> bool {
        self.places.serial(place.index) == Some(place.serial)
    }

    pub(super) fn seen(&self, place: &Place) -> Option<Seen<'_>> {
        Some(Seen { entry: self.places.entry(place.index)?, slots: &self.slots, index: place.index })
    }

    fn next_serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    pub(super) fn insert(&mut self, hash: u64, entry: Entry, weight: u32, item: Item) {
        let serial = self.next_serial();
        self.weight += u64::from(weight);
        let (until, dies, entry) = (entry.hit_until(), entry.dies, entry.weighing(weight));
        let kept = Kept::Occupied { hash, entry, links: Links::UNLINKED, serial };
        let index = match self.places.0.get_mut(self.vacant as usize) {
            Some(place) => {
                let index = self.vacant;
                if let Kept::Vacant { next } = std::mem::replace(place, kept) {
                    self.vacant = next;
                }
                index
            }
            None => {
                self.places.0.push(kept);
                self.places.len() - 1
            }
        };
        self.slots.fill(index, until, item);
        let places = &self.places;
        self.table.insert(hash, index, &|index| places.hash(index));
        self.deaths.link(&mut self.places, index, dies);
    }

    /// Puts `entry` and the value of `item` in the place of those there, which are given back.
    pub(super) fn replace(&mut self, place: &Place, entry: Entry, weight: u32, mut item: Item) -> Removed {
        let (until, dies, mut entry) = (entry.hit_until(), entry.dies, entry.weighing(weight));
        let new_serial = self.next_serial();
        self.deaths.unlink(&mut self.places, place.index);
        if let Some(Kept::Occupied { entry: old, serial, .. }) = self.places.0.get_mut(place.index as usize) {
            *serial = new_serial;
            std::mem::swap(old, &mut entry);
        }
        self.slots.exchange(place.index, &mut item);
        self.slots.set_until(place.index, until);
        self.weight = self.weight + u64::from(weight) - u64::from(entry.weight);
        self.deaths.link(&mut self.places, place.index, dies);
        Removed { entry, item }
    }

    pub(super) fn update(&mut self, index: u32, change: &mut dyn FnMut(&mut Entry)) {
        let Some(entry) = self.places.entry_mut(index) else { return };
        change(entry);
        let (until, dies) = (entry.hit_until(), entry.dies);
        self.slots.set_until(index, until);
        self.deaths.unlink(&mut self.places, index);
        self.deaths.link(&mut self.places, index, dies);
    }

    pub(super) fn update_all(&mut self, change: &mut dyn FnMut(&mut Entry)) {
        for index in 0..self.places.len() {
            self.update(index, change);
        }
    }

    /// Takes the slot out. The slot must be occupied.
    pub(super) fn remove(&mut self, index: u32) -> Removed {
        self.deaths.unlink(&mut self.places, index);
        self.table.remove(self.places.hash(index), index);
        let vacant = Kept::Vacant { next: self.vacant };
        let kept = std::mem::replace(&mut self.places.0[index as usize], vacant);
        let (Kept::Occupied { entry, .. }, Some(item)) = (kept, self.slots.vacate(index)) else {
            unreachable!("a slot is removed once, under the lock that found it occupied")
        };
        self.vacant = index;
        self.weight -= u64::from(entry.weight);
        Removed { entry, item }
    }

    /// Takes out what is least worth keeping.
    pub(super) fn evict(&mut self) -> Option<Removed> {
        let victim = self.victim()?;
        Some(self.remove(victim))
    }

    /// The first slot under the hand that was not visited since the hand was there. After one round all are unvisited.
    fn victim(&mut self) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        let end = self.places.len();
        loop {
            let here = if self.hand < end { self.hand } else { 0 };
            self.hand = here + 1;
            if self.places.entry(here).is_some() && !self.slots.unvisit(here) {
                return Some(here);
            }
        }
    }

    pub(super) fn take_dead(&mut self, now: Nanos, most: usize, removed: &mut Vec<Removed>) {
        for _ in 0..most {
            let Some(index) = self.deaths.dead(now) else { break };
            removed.push(self.remove(index));
        }
        // The memory of a shard that has become empty is given back.
        if self.table.is_empty() && self.places.len() > 0 {
            self.take();
        }
    }

    /// Takes everything out. The serials go on: a place that was found before holds nothing any more.
    pub(super) fn take(&mut self) -> Taken {
        self.table = Index::new();
        self.vacant = NIL;
        self.hand = 0;
        self.deaths = Deaths::new();
        let places = std::mem::replace(&mut self.places, Places(Vec::new()));
        Taken { weight: std::mem::take(&mut self.weight), places, _slots: self.slots.take() }
    }

    pub(super) fn next_death(&self) -> Option<Nanos> {
        self.deaths.next()
    }
}

/// All that was in a slab.
pub(crate) struct Taken {
    pub(super) weight: u64,
    places: Places,
    /// To be dropped outside of the locks.
    _slots: Box<dyn Slots>,
}

impl Taken {
    /// The entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.places.entries()
    }
}
