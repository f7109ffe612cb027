//! Answering from memory.

use super::{Core, Key, Stored};
use crate::{
    clock::{Clock, Nanos, Now, saturating_nanos},
    entry::Entry,
    key::KeyRef,
    mode::CacheMode,
    outcome::Outcome,
    policy::Freshness,
    stats::{Hit, count},
};
use std::sync::atomic::Ordering::Relaxed;

/// An entry that a call can be answered with.
#[derive(Debug)]
pub(crate) struct Found<S> {
    pub(crate) value: S,
    pub(crate) freshness: Freshness,
    /// This caller is to ask for a refresh.
    pub(crate) refresh: bool,
    /// How long ago it was stored.
    pub(crate) age: Nanos,
}

/// An old value that may take the place of a failed load's.
#[derive(Debug)]
pub(crate) struct Old<V> {
    pub(crate) value: V,
    pub(crate) stored: Nanos,
    pub(crate) clock: Clock,
}

/// What a caller accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// No older than this.
    pub(crate) max_age: Option<Nanos>,
    /// Whether the caller may be elected to ask for a refresh.
    pub(crate) elect: bool,
}

impl Demand {
    pub(crate) fn of(mode: CacheMode) -> Self {
        match mode {
            CacheMode::MaxAge(age) => Self { max_age: Some(saturating_nanos(age)), elect: true },
            CacheMode::Normal | CacheMode::Refresh | CacheMode::Bypass => Self { max_age: None, elect: true },
        }
    }

    /// Whether a value that was stored then is young enough.
    pub(crate) fn accepts(self, stored: Nanos, clock: Clock) -> bool {
        self.max_age.is_none_or(|most| Now::for_entry(clock).is_some_and(|now| now.at.saturating_sub(stored) <= most))
    }

    pub(crate) fn without_refresh(self) -> Self {
        Self { elect: false, ..self }
    }
}

impl<K: Key, O: Outcome> Core<K, O> {
    /// What memory has for a call, if it may be answered with it.
    #[inline]
    pub(crate) fn look<Q: KeyRef<Owned = K>>(&self, hash: u64, key: &Q, demand: Demand) -> Option<Found<Stored<O>>> {
        self.memory.hit(hash, |owned| key.is(owned), |entry| self.assess(entry, demand)).flatten()
    }

    /// The same for a call that has looked before.
    pub(super) fn look_again(&self, hash: u64, is: &dyn Fn(&K) -> bool, demand: Demand) -> Option<Found<Stored<O>>> {
        self.memory.get(hash, is, |entry| self.assess(entry, demand)).flatten()
    }

    #[inline]
    fn assess(&self, entry: &Entry<Stored<O>>, demand: Demand) -> Option<Found<Stored<O>>> {
        let (now, lag) = Now::glance(entry.clock)?;
        // The hit: nothing else is looked at.
        if now.saturating_add(lag) < entry.life.early_at && demand.max_age.is_none() {
            let age = now.saturating_sub(entry.life.stored);
            return Some(Found { value: entry.value.clone(), freshness: Freshness::Fresh, refresh: false, age });
        }
        self.judge(entry, Now::for_entry(entry.clock)?.at, demand)
    }

    #[cold]
    fn judge(&self, entry: &Entry<Stored<O>>, now: Nanos, demand: Demand) -> Option<Found<Stored<O>>> {
        let age = now.saturating_sub(entry.life.stored);
        if demand.max_age.is_some_and(|most| age > most) {
            return None;
        }
        let freshness = self.policy.freshness(&entry.life, now);
        // Expired, only while its load is known to fail.
        let kept = || now < self.policy.gone_at(&entry.life) && entry.is_paused(now);
        if freshness == Freshness::Expired && !kept() {
            return None;
        }
        // Before anybody is elected: it may panic.
        let value = entry.value.clone();
        let refresh = match freshness {
            Freshness::Fresh | Freshness::Expired => false,
            Freshness::Early => demand.elect && self.early_is_due(entry, now) && entry.elect(now),
            Freshness::Stale => demand.elect && entry.elect(now),
        };
        Some(Found { value, freshness, refresh, age })
    }

    /// Whether a key has a fresh entry: one that needs no refresh.
    pub(super) fn is_fresh(&self, hash: u64, is: &dyn Fn(&K) -> bool) -> bool {
        self.state(hash, is) == Some(Freshness::Fresh)
    }

    fn early_is_due(&self, entry: &Entry<Stored<O>>, now: Nanos) -> bool {
        let random = if self.policy.beta().is_some() { self.dice.draw() } else { 0.0 };
        self.policy.early_is_due(&entry.life, now, self.cost.load(Relaxed), random)
    }

    /// What a call would get without loading.
    pub(crate) fn peek<Q: KeyRef<Owned = K>>(&self, hash: u64, key: &Q) -> Option<O::Value> {
        self.look(hash, key, Demand { max_age: None, elect: false })?.value.ok()
    }

    /// Counts a call that was answered.
    pub(crate) fn count_hit(&self, freshness: Freshness) {
        match freshness {
            Freshness::Fresh => self.counters.hit(Hit::Fresh),
            Freshness::Early => self.counters.hit(Hit::Early),
            Freshness::Stale => self.counters.hit(Hit::Stale),
            Freshness::Expired => count(&self.counters.served_on_error),
        }
    }

    /// The state of a key's entry; `None` if there is none that may be served in any case.
    pub(crate) fn state(&self, hash: u64, is: &dyn Fn(&K) -> bool) -> Option<Freshness> {
        let state = self.memory.get(hash, is, |entry| {
            let now = Now::for_entry(entry.clock)?.at;
            (now < self.policy.gone_at(&entry.life)).then(|| self.policy.freshness(&entry.life, now))
        });
        state.flatten()
    }

    /// The old value that may be given where a load fails or is slow.
    pub(super) fn old(&self, hash: u64, is: &dyn Fn(&K) -> bool) -> Option<Old<O::Value>> {
        let old = self.memory.get(hash, is, |entry| {
            let now = Now::for_entry(entry.clock)?.at;
            let Ok(value) = &entry.value else { return None };
            let usable = now < self.policy.gone_at(&entry.life);
            usable.then(|| Old { value: value.clone(), stored: entry.life.stored, clock: entry.clock })
        });
        old.flatten()
    }
}
