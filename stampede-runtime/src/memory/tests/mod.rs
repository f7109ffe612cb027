//! The memory tier, held against simple models of it.

mod concurrent;
mod deaths;
mod eviction;
mod hits;
mod model;

use super::{
    AnyMemory, Memory, Removed, Seen, ShardsOf, SlotsOf, Taken, item,
    slab::{AnySlab, Slab},
};
use crate::{
    clock::{ANCHOR, Clock, NEVER, Nanos},
    entry::Entry,
    erased::{AnyValue, Item},
    policy::Lifetime,
};
use std::{
    any::Any,
    num::NonZeroU64,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// What a death list tells apart.
const TICK: Nanos = 1 << 28;

/// A number of all values that were made and not dropped yet.
type Living = Arc<AtomicU64>;

/// A value that can be told from all others, and is counted while it lives.
#[derive(Debug)]
struct Value {
    key: u16,
    id: u64,
    living: Living,
}

impl Value {
    fn new(key: u16, id: u64, living: &Living) -> Self {
        living.fetch_add(1, Relaxed);
        Self { key, id, living: Arc::clone(living) }
    }
}

impl Clone for Value {
    fn clone(&self) -> Self {
        Self::new(self.key, self.id, &self.living)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.living.fetch_sub(1, Relaxed);
    }
}

fn entry(dies: Nanos) -> Entry {
    let life = Lifetime { stored: ANCHOR, early_at: dies, fresh_until: dies, windows: true };
    Entry::new(life, Clock::Real, dies, 0)
}

/// Memory of one type, which only a hit has to know.
struct Typed<V, F>(Memory<ShardsOf<u16, V, F>>);

impl<V, F> Typed<V, F> {
    fn new(capacity: u64) -> Self {
        Self(Memory::new(capacity, capacity))
    }
}

impl<V, F> Deref for Typed<V, F>
where
    V: Clone + Send + Sync + 'static,
    F: Clone + Send + Sync + 'static,
{
    type Target = AnyMemory;

    fn deref(&self) -> &AnyMemory {
        &self.0
    }
}

/// Whether keys are this one.
fn is(key: u16) -> impl Fn(&dyn Any) -> bool {
    move |other| other.downcast_ref() == Some(&key)
}

/// The key and the value of an item, which nobody has taken out of it.
fn unpack<V: 'static, F: 'static>(item: &Item) -> &(u16, Result<V, F>) {
    item.downcast_ref::<Option<_>>().expect("an item of this type").as_ref().expect("a whole item")
}

/// Every fourth value is an error that is kept.
fn is_error(id: u64) -> bool {
    id % 4 == 3
}

/// An entry that has the number of its value for a label, and an item with the value.
fn numbered(value: Value, dies: Nanos) -> (Entry, Item) {
    let (key, id) = (value.key, value.id);
    let item = item(key, if is_error(id) { Err(value) } else { Ok(value) });
    (entry(dies).labelled(NonZeroU64::new(id)), item)
}

/// The key and the number of a value, which is that of the entry.
fn told(entry: &Entry, value: Result<&Value, &Value>) -> (u16, u64) {
    let (Ok(&Value { key, id, .. }) | Err(&Value { key, id, .. })) = value;
    assert_eq!((entry.label, value.is_err()), (NonZeroU64::new(id), is_error(id)));
    (key, id)
}

/// The key and the number of what was handed out.
fn told_of_removed(Removed { entry, item }: &Removed) -> (u16, u64) {
    let (key, value) = unpack(item);
    let told = told(entry, value.as_ref());
    assert_eq!(told.0, *key);
    told
}

/// The key and the number of what was found.
fn told_of_seen(seen: &Seen<'_>) -> (u16, u64) {
    fn of(any: &AnyValue) -> &Value {
        any.downcast_ref().expect("a value of this type")
    }
    let stored = seen.value().expect("a value");
    told(seen.entry, stored.as_ref().map(of).map_err(of))
}

/// A hash that reaches all shards, and that some keys have in common.
fn hash(key: u16) -> u64 {
    u64::from(key % 37).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// When a sweep may free what dies at `dies`: at the end of its tick.
fn freed_at(dies: Nanos) -> Option<Nanos> {
    let tick = dies.saturating_sub(ANCHOR) / TICK;
    u32::try_from(tick).is_ok().then(|| ANCHOR + (tick + 1) * TICK)
}

/// Some moments within a few ticks, on their edges and between, and some far away.
fn moments() -> Vec<Nanos> {
    let near = (0..6).flat_map(|tick| [0, 1, TICK / 2, TICK - 1].map(|rest| ANCHOR + tick * TICK + rest));
    near.chain([0, ANCHOR - 1, ANCHOR + (1 << 60), NEVER - 1, NEVER]).collect()
}
