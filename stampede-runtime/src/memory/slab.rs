//! One shard's entries: slots in a slab, found by a table of indices, evicted by the clock algorithm.
//!
//! The hand passes over the slots and takes the first that was not visited since it last came by (Corbató's CLOCK, also
//! called second chance): a hit has only to set one bit, which a read lock allows.

use super::{
    Removed,
    death::{Deaths, Linked, Links, NIL},
};
use crate::{clock::Nanos, entry::Entry, index::Index, tags::Label};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Entries under one lock.
#[derive(Debug)]
pub(super) struct Slab<K, V> {
    slots: Slots<K, V>,
    /// Indices of slots by the hash of their key.
    table: Index,
    /// The first vacant slot.
    vacant: u32,
    hand: u32,
    deaths: Deaths,
    /// Rises with every insertion: tells a slot from what was in its place before.
    serial: u32,
    weight: u64,
}

#[derive(Debug)]
struct Slots<K, V>(Vec<Slot<K, V>>);

#[derive(Debug)]
enum Slot<K, V> {
    Occupied(Occupied<K, V>),
    Vacant { next: u32 },
}

#[derive(Debug)]
struct Occupied<K, V> {
    hash: u64,
    key: K,
    entry: Entry<V>,
    links: Links,
    serial: u32,
    visited: AtomicBool,
}

/// Where an entry was found, to be checked before it is used.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) index: u32,
    serial: u32,
    pub(super) weight: u32,
}

impl<K, V> Slots<K, V> {
    fn occupied(&self, index: u32) -> Option<&Occupied<K, V>> {
        match self.0.get(index as usize) {
            Some(Slot::Occupied(slot)) => Some(slot),
            Some(Slot::Vacant { .. }) | None => None,
        }
    }

    fn occupied_mut(&mut self, index: u32) -> Option<&mut Occupied<K, V>> {
        match self.0.get_mut(index as usize) {
            Some(Slot::Occupied(slot)) => Some(slot),
            Some(Slot::Vacant { .. }) | None => None,
        }
    }

    fn hash(&self, index: u32) -> u64 {
        self.occupied(index).map_or(0, |slot| slot.hash)
    }
}

impl<K, V> Linked for Slots<K, V> {
    fn links(&mut self, index: u32) -> Option<&mut Links> {
        self.occupied_mut(index).map(|slot| &mut slot.links)
    }
}

impl<K, V> Slab<K, V> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Slots(Vec::new()),
            table: Index::new(),
            vacant: NIL,
            hand: 0,
            deaths: Deaths::new(),
            serial: 0,
            weight: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn weight(&self) -> u64 {
        self.weight
    }

    /// The entry of a key, marked as visited: the look-up of a hit.
    #[inline]
    pub(super) fn visit(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<&Entry<V>> {
        let is_key = |index| self.slots.occupied(index).is_some_and(|slot| slot.hash == hash && is(&slot.key));
        let slot = self.slots.occupied(self.table.find_inlined(hash, is_key)?)?;
        // Read first: a store to a line that other cores read would be dear.
        if !slot.visited.load(Relaxed) {
            slot.visited.store(true, Relaxed);
        }
        Some(&slot.entry)
    }

    pub(super) fn find(&self, hash: u64, is: &dyn Fn(&K) -> bool) -> Option<Place> {
        self.place(hash, &|slot| is(&slot.key))
    }

    pub(super) fn find_labelled(&self, hash: u64, label: Label) -> Option<Place> {
        self.place(hash, &|slot| slot.entry.label == label)
    }

    fn place(&self, hash: u64, is: &dyn Fn(&Occupied<K, V>) -> bool) -> Option<Place> {
        let is_it = |index| self.slots.occupied(index).is_some_and(|slot| slot.hash == hash && is(slot));
        let index = self.table.find(hash, &is_it)?;
        let slot = self.slots.occupied(index)?;
        Some(Place { index, serial: slot.serial, weight: slot.entry.weight })
    }

    /// Whether the place still has what was found there.
    pub(super) fn holds(&self, place: &Place) -> bool {
        self.slots.occupied(place.index).is_some_and(|slot| slot.serial == place.serial)
    }

    pub(super) fn entry(&self, place: &Place) -> Option<&Entry<V>> {
        self.slots.occupied(place.index).map(|slot| &slot.entry)
    }

    pub(super) fn insert(&mut self, hash: u64, key: K, entry: Entry<V>, weight: u32) {
        self.serial = self.serial.wrapping_add(1);
        self.weight += u64::from(weight);
        let dies = entry.dies;
        let entry = entry.weighing(weight);
        let serial = self.serial;
        let slot = Occupied { hash, key, entry, links: Links::UNLINKED, serial, visited: AtomicBool::new(false) };
        let index = self.occupy(slot);
        self.table.insert(hash, index, &|index| self.slots.hash(index));
        self.deaths.link(&mut self.slots, index, dies);
    }

    fn occupy(&mut self, slot: Occupied<K, V>) -> u32 {
        if let Some(place) = self.slots.0.get_mut(self.vacant as usize) {
            let index = self.vacant;
            if let Slot::Vacant { next } = *place {
                self.vacant = next;
            }
            *place = Slot::Occupied(slot);
            return index;
        }
        self.slots.0.push(Slot::Occupied(slot));
        u32::try_from(self.slots.0.len() - 1).unwrap_or(NIL)
    }

    /// Puts `entry` in the place of the one there.
    pub(super) fn replace(&mut self, place: &Place, entry: Entry<V>, weight: u32) -> Entry<V> {
        let dies = entry.dies;
        let mut entry = entry.weighing(weight);
        self.deaths.unlink(&mut self.slots, place.index);
        if let Some(slot) = self.slots.occupied_mut(place.index) {
            self.serial = self.serial.wrapping_add(1);
            slot.serial = self.serial;
            std::mem::swap(&mut slot.entry, &mut entry);
        }
        self.weight = self.weight + u64::from(weight) - u64::from(entry.weight);
        self.deaths.link(&mut self.slots, place.index, dies);
        entry
    }

    pub(super) fn update(&mut self, place: &Place, change: &mut dyn FnMut(&mut Entry<V>)) {
        let Some(slot) = self.slots.occupied_mut(place.index) else { return };
        change(&mut slot.entry);
        let dies = slot.entry.dies;
        self.deaths.unlink(&mut self.slots, place.index);
        self.deaths.link(&mut self.slots, place.index, dies);
    }

    pub(super) fn update_all(&mut self, change: &mut dyn FnMut(&mut Entry<V>)) {
        for index in 0..u32::try_from(self.slots.0.len()).unwrap_or(NIL) {
            let Some(slot) = self.slots.occupied(index) else { continue };
            let place = Place { index, serial: slot.serial, weight: slot.entry.weight };
            self.update(&place, change);
        }
    }

    /// Takes the slot out. The slot must be occupied.
    pub(super) fn remove(&mut self, index: u32) -> Removed<K, V> {
        self.deaths.unlink(&mut self.slots, index);
        let hash = self.slots.hash(index);
        self.table.remove(hash, index);
        let vacant = Slot::Vacant { next: self.vacant };
        let Slot::Occupied(slot) = std::mem::replace(&mut self.slots.0[index as usize], vacant) else {
            unreachable!("a slot is removed once, under the lock that found it occupied")
        };
        self.vacant = index;
        self.weight -= u64::from(slot.entry.weight);
        Removed { key: slot.key, entry: slot.entry }
    }

    /// Takes out what is least worth keeping.
    pub(super) fn evict(&mut self) -> Option<Removed<K, V>> {
        let victim = self.victim()?;
        Some(self.remove(victim))
    }

    /// The first slot under the hand that was not visited since the hand was there. After one round all are unvisited.
    fn victim(&mut self) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        let end = u32::try_from(self.slots.0.len()).unwrap_or(NIL);
        loop {
            let here = if self.hand < end { self.hand } else { 0 };
            self.hand = here + 1;
            let Some(slot) = self.slots.occupied_mut(here) else { continue };
            if !std::mem::take(slot.visited.get_mut()) {
                return Some(here);
            }
        }
    }

    pub(super) fn take_dead(&mut self, now: Nanos, most: usize, removed: &mut Vec<Removed<K, V>>) {
        for _ in 0..most {
            let Some(index) = self.deaths.dead(now) else { break };
            removed.push(self.remove(index));
        }
        self.shrink();
    }

    /// Gives the memory of a shard back that has become empty.
    fn shrink(&mut self) {
        if self.table.is_empty() && !self.slots.0.is_empty() {
            self.take();
        }
    }

    /// Takes everything out. The serials go on: a place that was found before holds nothing any more.
    pub(super) fn take(&mut self) -> Self {
        let serial = self.serial;
        std::mem::replace(self, Self { serial, ..Self::new() })
    }

    pub(super) fn next_death(&self) -> Option<Nanos> {
        self.deaths.next()
    }

    pub(super) fn into_removed(self) -> Vec<Removed<K, V>> {
        let removed = self.slots.0.into_iter().filter_map(|slot| match slot {
            Slot::Occupied(Occupied { key, entry, .. }) => Some(Removed { key, entry }),
            Slot::Vacant { .. } => None,
        });
        removed.collect()
    }
}
