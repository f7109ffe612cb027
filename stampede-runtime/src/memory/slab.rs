//! One shard's entries: slots in a slab, found by a table of indices, evicted by the clock algorithm.
//!
//! The hand passes over the slots and takes the first that was not visited since it last came by (Corbató's CLOCK, also
//! called second chance): a hit has only to set one bit, which a read lock allows.

use super::{
    Removed,
    death::{Deaths, Links, NIL},
    slots::{Slot, Slots, SlotsOf},
};
use crate::{
    clock::Nanos,
    entry::Entry,
    erased::{Is, Item, Stored},
    index::Index,
    tags::Label,
};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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
    slots: S,
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
    visited: &'a AtomicBool,
    slots: &'a dyn Slots,
    index: u32,
}

impl Seen<'_> {
    /// Marks it as visited, as a hit does.
    pub(crate) fn visit(&self) {
        self.visited.store(true, Relaxed);
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
            slots: SlotsOf::new(),
        }
    }

    /// The entry of a key, marked as visited: the look-up of a hit.
    #[inline]
    pub(super) fn visit(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<(&Entry, &Result<V, F>)> {
        let is_key = |index| self.slots.occupied(index).is_some_and(|(slot, key, _)| slot.hash == hash && is(key));
        let (slot, _, value) = self.slots.occupied(self.table.find_inlined(hash, is_key)?)?;
        // Read first: a store to a line that other cores read would be dear.
        if !slot.visited.load(Relaxed) {
            slot.visited.store(true, Relaxed);
        }
        Some((&slot.entry, value))
    }
}

impl AnySlab {
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn find(&self, hash: u64, is: Is<'_>) -> Option<Place> {
        self.place(hash, &|index, _| self.slots.key(index).is_some_and(is))
    }

    pub(super) fn find_labelled(&self, hash: u64, label: Label) -> Option<Place> {
        self.place(hash, &|_, slot| slot.entry.label == label)
    }

    fn place(&self, hash: u64, is: &dyn Fn(u32, &Slot) -> bool) -> Option<Place> {
        let is_it = |index| self.slots.slot(index).is_some_and(|slot| slot.hash == hash && is(index, slot));
        let index = self.table.find(hash, &is_it)?;
        self.place_of(index)
    }

    fn place_of(&self, index: u32) -> Option<Place> {
        let slot = self.slots.slot(index)?;
        Some(Place { index, serial: slot.serial, weight: slot.entry.weight })
    }

    /// Whether the place still has what was found there.
    pub(super) fn holds(&self, place: &Place) -> bool {
        self.slots.slot(place.index).is_some_and(|slot| slot.serial == place.serial)
    }

    pub(super) fn seen(&self, place: &Place) -> Option<Seen<'_>> {
        let Slot { entry, visited, .. } = self.slots.slot(place.index)?;
        Some(Seen { entry, visited, slots: &self.slots, index: place.index })
    }

    fn next_serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    pub(super) fn insert(&mut self, hash: u64, entry: Entry, weight: u32, item: Item) {
        let serial = self.next_serial();
        self.weight += u64::from(weight);
        let dies = entry.dies;
        let entry = entry.weighing(weight);
        let slot = Slot { hash, entry, links: Links::UNLINKED, serial, visited: AtomicBool::new(false) };
        let index = if self.vacant == NIL { self.slots.len() } else { self.vacant };
        self.vacant = self.slots.fill(index, slot, item).unwrap_or(NIL);
        let slots = &self.slots;
        self.table.insert(hash, index, &|index| hash_at(slots, index));
        self.deaths.link(&mut self.slots, index, dies);
    }

    /// Puts `entry` and the value of `item` in the place of those there, which are given back.
    pub(super) fn replace(&mut self, place: &Place, entry: Entry, weight: u32, mut item: Item) -> Removed {
        let dies = entry.dies;
        let mut entry = entry.weighing(weight);
        let serial = self.next_serial();
        self.deaths.unlink(&mut self.slots, place.index);
        if let Some(slot) = self.slots.slot_mut(place.index) {
            slot.serial = serial;
            std::mem::swap(&mut slot.entry, &mut entry);
        }
        self.slots.exchange(place.index, &mut item);
        self.weight = self.weight + u64::from(weight) - u64::from(entry.weight);
        self.deaths.link(&mut self.slots, place.index, dies);
        Removed { entry, item }
    }

    pub(super) fn update(&mut self, place: &Place, change: &mut dyn FnMut(&mut Entry)) {
        let Some(slot) = self.slots.slot_mut(place.index) else { return };
        change(&mut slot.entry);
        let dies = slot.entry.dies;
        self.deaths.unlink(&mut self.slots, place.index);
        self.deaths.link(&mut self.slots, place.index, dies);
    }

    pub(super) fn update_all(&mut self, change: &mut dyn FnMut(&mut Entry)) {
        for index in 0..self.slots.len() {
            if let Some(place) = self.place_of(index) {
                self.update(&place, change);
            }
        }
    }

    /// Takes the slot out. The slot must be occupied.
    pub(super) fn remove(&mut self, index: u32) -> Removed {
        self.deaths.unlink(&mut self.slots, index);
        let hash = hash_at(&self.slots, index);
        self.table.remove(hash, index);
        let Some((slot, item)) = self.slots.vacate(index, self.vacant) else {
            unreachable!("a slot is removed once, under the lock that found it occupied")
        };
        self.vacant = index;
        self.weight -= u64::from(slot.entry.weight);
        Removed { entry: slot.entry, item }
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
        let end = self.slots.len();
        loop {
            let here = if self.hand < end { self.hand } else { 0 };
            self.hand = here + 1;
            let Some(slot) = self.slots.slot_mut(here) else { continue };
            if !std::mem::take(slot.visited.get_mut()) {
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
        if self.table.is_empty() && self.slots.len() > 0 {
            self.take();
        }
    }

    /// Takes everything out. The serials go on: a place that was found before holds nothing any more.
    pub(super) fn take(&mut self) -> Taken {
        self.table = Index::new();
        self.vacant = NIL;
        self.hand = 0;
        self.deaths = Deaths::new();
        Taken { weight: std::mem::take(&mut self.weight), slots: self.slots.take() }
    }

    pub(super) fn next_death(&self) -> Option<Nanos> {
        self.deaths.next()
    }
}

/// All that was in a slab.
pub(crate) struct Taken {
    pub(super) weight: u64,
    slots: Box<dyn Slots>,
}

impl Taken {
    /// The entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        (0..self.slots.len()).filter_map(|index| self.slots.slot(index).map(|slot| &slot.entry))
    }
}

fn hash_at(slots: &dyn Slots, index: u32) -> u64 {
    slots.slot(index).map_or(0, |slot| slot.hash)
}
