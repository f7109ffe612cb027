//! The order in which entries die: lists of slots by the time at which nothing of them may be served any more.
//!
//! Time is cut into ticks. All slots of a tick are one list, linked through the slots by index, so that an entry
//! which is removed or renewed leaves nothing behind.

use crate::clock::{ANCHOR, NEVER, Nanos};
use std::collections::BTreeMap;

/// 2^28 ns, some quarter of a second: how late a sweep may be.
const TICK: u32 = 28;

/// No slot.
pub(super) const NIL: u32 = u32::MAX;

/// The links of one slot in its tick's list.
#[derive(Debug)]
pub(super) struct Links {
    /// `None`: in no list.
    tick: Option<u32>,
    previous: u32,
    next: u32,
}

impl Links {
    pub(super) const UNLINKED: Self = Self { tick: None, previous: NIL, next: NIL };
}

/// Where the lists begin.
#[derive(Debug)]
pub(super) struct Deaths {
    first: BTreeMap<u32, u32>,
}

/// The tick in which `at` lies, counted from the anchor. Decades from now is as good as never.
fn tick(at: Nanos) -> Option<u32> {
    if at == NEVER { None } else { u32::try_from(at.saturating_sub(ANCHOR) >> TICK).ok() }
}

/// When all of a tick is over.
fn end_of(tick: u32) -> Nanos {
    ANCHOR + ((u64::from(tick) + 1) << TICK)
}

/// Lists need to reach the links of other slots.
pub(super) trait Linked {
    fn links(&mut self, index: u32) -> Option<&mut Links>;
}

impl Deaths {
    pub(super) const fn new() -> Self {
        Self { first: BTreeMap::new() }
    }

    /// Files the slot `index`, which must be in no list, under its time of death.
    pub(super) fn link(&mut self, slots: &mut (impl Linked + ?Sized), index: u32, at: Nanos) {
        let Some(tick) = tick(at) else { return };
        let next = self.first.insert(tick, index).unwrap_or(NIL);
        if let Some(links) = slots.links(next) {
            links.previous = index;
        }
        if let Some(links) = slots.links(index) {
            *links = Links { tick: Some(tick), previous: NIL, next };
        }
    }

    /// Takes the slot out of its list, if it is in one.
    pub(super) fn unlink(&mut self, slots: &mut (impl Linked + ?Sized), index: u32) {
        let Some(links) = slots.links(index) else { return };
        let Links { tick: Some(tick), previous, next } = std::mem::replace(links, Links::UNLINKED) else { return };
        if let Some(links) = slots.links(next) {
            links.previous = previous;
        }
        match slots.links(previous) {
            Some(links) => links.next = next,
            None if next == NIL => drop(self.first.remove(&tick)),
            None => drop(self.first.insert(tick, next)),
        }
    }

    /// A slot that is dead at `now`.
    pub(super) fn dead(&self, now: Nanos) -> Option<u32> {
        let (&tick, &index) = self.first.first_key_value()?;
        (end_of(tick) <= now).then_some(index)
    }

    /// When the next slot will be dead.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.first.first_key_value().map(|(&tick, _)| end_of(tick))
    }
}
