//! Filling memory, and what follows from it: weights, evictions, tags, sweeps.

use super::{AnyCore, Me};
use crate::{
    clock::{Clock, NEVER, Nanos, Now},
    context::Tag,
    entry::Entry,
    erased::{Is, Item},
    events,
    flight::{Flight, Locked},
    memory::Removed,
    policy::{Freshness, Kind, Lifetime},
    stats::count,
    timekeeper::{self, Due},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak, atomic::Ordering::Relaxed},
};

/// Entries that one step of a sweep frees at most: some tens of microseconds under a lock.
const SWEEP_STEP: usize = 256;

/// What comes with a value that is stored.
pub(super) struct Fill<'a> {
    kind: Kind,
    weight: u32,
    tags: &'a [Tag],
    /// When its load began; `None`: there was none.
    began: Option<Nanos>,
    /// The entry was expired while it was loaded.
    expired: bool,
}

impl<'a> Fill<'a> {
    pub(super) fn of_flight(flight: &Flight, kind: Kind, weight: u32, tags: &'a [Tag]) -> Self {
        Self { kind, weight, tags, began: Some(flight.started.at), expired: flight.is_expired() }
    }

    pub(super) fn planted(kind: Kind, weight: u32, tags: &'a [Tag]) -> Self {
        Self { kind, weight, tags, began: None, expired: false }
    }
}

/// Values and keys on their way out: dropped where no lock is held, since their `Drop` is the user's.
#[derive(Default)]
#[expect(dead_code, reason = "they are only held, to be dropped later")]
pub(super) struct Dropped {
    item: Option<Item>,
    removed: Vec<Removed>,
}

impl Dropped {
    pub(super) fn unstored(item: Item) -> Self {
        Self { item: Some(item), removed: Vec::new() }
    }
}

impl AnyCore {
    /// Stores a value under the key's flight lock, or removes what was there if it is not to be stored.
    pub(super) fn put(
        &self,
        _key_is_locked: &Locked<'_>,
        hash: u64,
        is: Is<'_>,
        item: Item,
        fill: &Fill<'_>,
    ) -> Dropped {
        let now = Now::read();
        let Some(life) = self.policy.lifetime(fill.kind, now.at, self.dice.draw()) else {
            return Dropped { item: Some(item), ..self.take(hash, is) };
        };
        // Before it is stored, so that whoever takes it out finds its label.
        let entry = self.entry(life, now, fill).labelled(self.tags.label(hash, fill.tags));
        let dies = entry.dies;
        let put = self.memory().put(hash, is, entry, fill.weight, item);
        for evicted in &put.evicted {
            self.forget_evicted(&evicted.entry);
        }
        if let Some(Removed { entry, item }) = put.refused {
            self.warn_of_weight(fill.weight);
            self.tags.forget(entry.label);
            return Dropped { item: Some(item), ..self.take(hash, is) };
        }
        if let Some(replaced) = &put.replaced {
            self.tags.forget(replaced.entry.label);
        }
        self.plan_sweep(dies);
        let mut removed = put.evicted;
        removed.extend(put.replaced);
        Dropped { item: None, removed }
    }

    fn entry(&self, life: Lifetime, now: Now, fill: &Fill<'_>) -> Entry {
        let mut refresh_after = fill.began.map_or(0, |began| began.saturating_add(self.policy.least_gap(&life)));
        let mut life = life;
        if fill.expired {
            life.early_at = now.at;
            life.fresh_until = now.at;
            refresh_after = 0;
        }
        Entry::new(life, now.clock, self.dies(&life, now.clock), refresh_after)
    }

    /// When the sweeper may free an entry. It can't read a paused clock.
    pub(super) fn dies(&self, life: &Lifetime, clock: Clock) -> Nanos {
        if clock == Clock::Real { self.policy.gone_at(life) } else { NEVER }
    }

    /// Removes the entry of a key.
    pub(super) fn take(&self, hash: u64, is: Is<'_>) -> Dropped {
        self.let_go(self.memory().remove_if(hash, is, |_| true))
    }

    /// What was removed, on its way out.
    pub(super) fn let_go(&self, removed: Option<Removed>) -> Dropped {
        if let Some(removed) = &removed {
            self.tags.forget(removed.entry.label);
        }
        Dropped { item: None, removed: removed.into_iter().collect() }
    }

    fn forget_evicted(&self, evicted: &Entry) {
        self.tags.forget(evicted.label);
        count(&self.counters.evictions);
        let now = Now::for_entry(evicted.clock);
        if now.is_some_and(|now| self.policy.freshness(&evicted.life, now.at) <= Freshness::Early) {
            count(&self.counters.evictions_fresh);
        }
    }

    fn warn_of_weight(&self, weight: u32) {
        count(&self.counters.too_heavy);
        if !self.warned_of_weight.swap(true, Relaxed) {
            events::too_heavy(&self.name, weight, self.policy.capacity());
        }
    }

    /// Has the sweeper come when an entry can be freed that dies at `dies`.
    pub(super) fn plan_sweep(&self, dies: Nanos) {
        if dies != NEVER && dies < self.sweep_at.fetch_min(dies, Relaxed) {
            let sweep: Weak<Me> = Arc::downgrade(&self.me);
            timekeeper::set(dies, sweep);
        }
    }

    /// One bounded step of a sweep.
    fn sweep(&self, now: Nanos) -> Option<Nanos> {
        // This moment was set for an entry that has been swept or outlived by a sooner one: the sweep goes on elsewhere.
        if now < self.sweep_at.load(Relaxed) {
            return None;
        }
        // Whatever is stored from here on and dies sooner than what is found sets a moment of its own.
        self.sweep_at.store(NEVER, Relaxed);
        let swept = self.memory().sweep(now, SWEEP_STEP);
        for removed in &swept.removed {
            self.tags.forget(removed.entry.label);
        }
        let next = swept.next;
        // A user's `Drop` that panics must not keep the next step from coming.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(swept.removed)));
        let next = next?;
        (next < self.sweep_at.fetch_min(next, Relaxed)).then_some(next)
    }
}

impl Due for Me {
    fn due(&self, now: Nanos) -> Option<Nanos> {
        self.0.upgrade()?.sweep(now)
    }
}
