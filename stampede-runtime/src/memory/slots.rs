//! Where the entries of one shard stand: the only part of memory that knows their types, and no more than that.

use super::death::{Linked, Links};
use crate::{
    entry::Entry,
    erased::{AnyValue, Item, Stored},
};
use std::{
    any::Any,
    sync::{Arc, atomic::AtomicBool},
};

/// What a place has beside its key and value.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(super) hash: u64,
    pub(super) entry: Entry,
    pub(super) links: Links,
    pub(super) serial: u32,
    pub(super) visited: AtomicBool,
}

/// The places of one shard, whatever is in them.
pub(crate) trait Slots: Send + Sync {
    /// All places, vacant ones included.
    fn len(&self) -> u32;
    fn slot(&self, index: u32) -> Option<&Slot>;
    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot>;
    fn key(&self, index: u32) -> Option<&dyn Any>;
    /// A copy of the value, which the user's `Clone` makes.
    fn value(&self, index: u32) -> Option<Stored>;
    /// Fills the place, or a new one if there is none of this index. The next vacant place after it.
    fn fill(&mut self, index: u32, slot: Slot, item: Item) -> Option<u32>;
    /// Puts the value of `item` in the place of the one there, which `item` has then.
    fn exchange(&mut self, index: u32, item: &mut Item);
    /// Takes out what is there. `next`: the next vacant place.
    fn vacate(&mut self, index: u32, next: u32) -> Option<(Slot, Item)>;
    /// Takes everything out.
    fn take(&mut self) -> Box<dyn Slots>;
}

impl Linked for dyn Slots {
    fn links(&mut self, index: u32) -> Option<&mut Links> {
        self.slot_mut(index).map(|slot| &mut slot.links)
    }
}

/// The places of one shard of a cache.
#[derive(Debug)]
pub(crate) struct SlotsOf<K, V, F>(Vec<Place<K, V, F>>);

#[derive(Debug)]
enum Place<K, V, F> {
    Occupied { slot: Slot, key: K, value: Result<V, F> },
    Vacant { next: u32 },
}

/// An item of a cache of this type.
type ItemOf<K, V, F> = Option<(K, Result<V, F>)>;

/// Makes an item, as memory keeps it.
pub(crate) fn item<K, V, F>(key: K, value: Result<V, F>) -> Item
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
    F: Send + Sync + 'static,
{
    let item: ItemOf<K, V, F> = Some((key, value));
    Box::new(item)
}

impl<K, V, F> SlotsOf<K, V, F> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// What stands in a place, as a hit reads it.
    #[inline]
    pub(super) fn occupied(&self, index: u32) -> Option<(&Slot, &K, &Result<V, F>)> {
        match self.0.get(index as usize) {
            Some(Place::Occupied { slot, key, value }) => Some((slot, key, value)),
            Some(Place::Vacant { .. }) | None => None,
        }
    }
}

impl<K, V, F> Slots for SlotsOf<K, V, F>
where
    K: Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    F: Clone + Send + Sync + 'static,
{
    fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    fn slot(&self, index: u32) -> Option<&Slot> {
        Some(self.occupied(index)?.0)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot> {
        match self.0.get_mut(index as usize) {
            Some(Place::Occupied { slot, .. }) => Some(slot),
            Some(Place::Vacant { .. }) | None => None,
        }
    }

    fn key(&self, index: u32) -> Option<&dyn Any> {
        Some(self.occupied(index)?.1)
    }

    fn value(&self, index: u32) -> Option<Stored> {
        let (_, _, value) = self.occupied(index)?;
        Some(match value {
            Ok(value) => Ok(Arc::new(value.clone()) as AnyValue),
            Err(failure) => Err(Arc::new(failure.clone()) as AnyValue),
        })
    }

    fn fill(&mut self, index: u32, slot: Slot, mut item: Item) -> Option<u32> {
        let Some((key, value)) = item.downcast_mut::<ItemOf<K, V, F>>().and_then(Option::take) else {
            unreachable!("a cache's items have one type, and are stored once")
        };
        let filled = Place::Occupied { slot, key, value };
        match self.0.get_mut(index as usize) {
            Some(place) => match std::mem::replace(place, filled) {
                Place::Vacant { next } => Some(next),
                Place::Occupied { .. } => None,
            },
            None => {
                self.0.push(filled);
                None
            }
        }
    }

    fn exchange(&mut self, index: u32, item: &mut Item) {
        let Some(Place::Occupied { value, .. }) = self.0.get_mut(index as usize) else { return };
        if let Some(Some((_, other))) = item.downcast_mut::<ItemOf<K, V, F>>() {
            std::mem::swap(value, other);
        }
    }

    fn vacate(&mut self, index: u32, next: u32) -> Option<(Slot, Item)> {
        let place = self.0.get_mut(index as usize)?;
        match std::mem::replace(place, Place::Vacant { next }) {
            Place::Occupied { slot, key, value } => Some((slot, item(key, value))),
            Place::Vacant { .. } => None,
        }
    }

    fn take(&mut self) -> Box<dyn Slots> {
        Box::new(std::mem::replace(self, Self::new()))
    }
}
