//! The memory tier, held against simple models of it.

mod concurrent;
mod deaths;
mod eviction;
mod model;

use super::{Memory, Removed, slab::Slab};
use crate::{
    clock::{ANCHOR, Clock, NEVER, Nanos},
    entry::Entry,
    policy::Lifetime,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
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

impl Drop for Value {
    fn drop(&mut self) {
        self.living.fetch_sub(1, Relaxed);
    }
}

fn entry<V>(value: V, dies: Nanos) -> Entry<V> {
    let life = Lifetime { stored: ANCHOR, early_at: dies, fresh_until: dies, windows: true };
    Entry::new(value, life, Clock::Real, dies, 0)
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
