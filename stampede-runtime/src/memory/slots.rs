//! What a look-up reads of the entries of one shard: keys, values, and until when a value is a hit without a question.
//! The only part of memory that knows its types, and no more than that.

use crate::{
    clock::Nanos,
    erased::{Item, Stored, erase},
};
use std::{
    any::Any,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// The places of one shard, whatever is in them.
pub(crate) trait Slots: Send + Sync {
    fn key(&self, index: u32) -> Option<&dyn Any>;
    /// A copy of the value, which the user's `Clone` makes.
    fn value(&self, index: u32) -> Option<Stored>;
    /// Fills the vacant place, or a new one behind all others.
    fn fill(&mut self, index: u32, until: Nanos, item: Item);
    /// Puts the value of `item` in the place of the one there, which `item` has then.
    fn exchange(&mut self, index: u32, item: &mut Item);
    /// Says anew until when the value is a hit.
    fn set_until(&mut self, index: u32, until: Nanos);
    /// Takes out what is there.
    fn vacate(&mut self, index: u32) -> Option<Item>;
    fn visit(&self, index: u32);
    /// Whether the place was visited since this was last asked.
    fn unvisit(&mut self, index: u32) -> bool;
    /// Takes everything out.
    fn take(&mut self) -> Box<dyn Slots>;
}

/// The places of one shard of a cache.
#[derive(Debug)]
pub(crate) struct SlotsOf<K, V, F>(Vec<Slot<K, V, F>>);

/// All that a hit reads of an entry, side by side.
#[derive(Debug)]
pub(super) struct Slot<K, V, F> {
    /// Before this the value is fresh, on the system's clock.
    pub(super) until: Nanos,
    visited: AtomicBool,
    item: ItemOf<K, V, F>,
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

impl<K, V, F> Slot<K, V, F> {
    #[inline]
    pub(super) fn visit(&self) {
        // Read first: a store to a line that other cores read would be dear.
        if !self.visited.load(Relaxed) {
            self.visited.store(true, Relaxed);
        }
    }

    #[inline]
    pub(super) fn item(&self) -> Option<&(K, Result<V, F>)> {
        self.item.as_ref()
    }
}

impl<K, V, F> SlotsOf<K, V, F> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Slot<K, V, F>> {
        self.0.get(index as usize)
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut Slot<K, V, F>> {
        self.0.get_mut(index as usize)
    }
}

impl<K, V, F> Slots for SlotsOf<K, V, F>
where
    K: Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    F: Clone + Send + Sync + 'static,
{
    fn key(&self, index: u32) -> Option<&dyn Any> {
        let (key, _) = self.get(index)?.item()?;
        Some(key)
    }

    fn value(&self, index: u32) -> Option<Stored> {
        let (_, value) = self.get(index)?.item()?;
        Some(erase(value.clone()))
    }

    fn fill(&mut self, index: u32, until: Nanos, mut item: Item) {
        let Some(item) = item.downcast_mut::<ItemOf<K, V, F>>().map(Option::take) else {
            unreachable!("a cache's items have one type")
        };
        let filled = Slot { until, visited: AtomicBool::new(false), item };
        match self.get_mut(index) {
            Some(slot) => *slot = filled,
            None => self.0.push(filled),
        }
    }

    fn exchange(&mut self, index: u32, item: &mut Item) {
        let Some(Some((_, value))) = self.get_mut(index).map(|slot| &mut slot.item) else { return };
        if let Some(Some((_, other))) = item.downcast_mut::<ItemOf<K, V, F>>() {
            std::mem::swap(value, other);
        }
    }

    fn set_until(&mut self, index: u32, until: Nanos) {
        if let Some(slot) = self.get_mut(index) {
            slot.until = until;
        }
    }

    fn vacate(&mut self, index: u32) -> Option<Item> {
        let (key, value) = self.get_mut(index)?.item.take()?;
        Some(item(key, value))
    }

    fn visit(&self, index: u32) {
        if let Some(slot) = self.get(index) {
            slot.visit();
        }
    }

    fn unvisit(&mut self, index: u32) -> bool {
        self.get_mut(index).is_some_and(|slot| std::mem::take(slot.visited.get_mut()))
    }

    fn take(&mut self) -> Box<dyn Slots> {
        Box::new(std::mem::replace(self, Self::new()))
    }
}
