//! Answering from memory.

use super::{AnyCore, Core, Key, types::Typed};
use crate::{
    clock::{Clock, Nanos, Now, saturating_nanos},
    entry::Entry,
    erased::{AnyKeyRef, AnyValue, Is, Stored},
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
pub(crate) struct Old {
    pub(crate) value: AnyValue,
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
    pub(crate) const NORMAL: Self = Self { max_age: None, elect: true };

    pub(crate) fn of(mode: CacheMode) -> Self {
        match mode {
            CacheMode::MaxAge(age) => Self { max_age: Some(saturating_nanos(age)), elect: true },
            CacheMode::Normal | CacheMode::Refresh | CacheMode::Bypass => Self::NORMAL,
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

impl<K: Key, O: Outcome> Core<Typed<K, O>> {
    /// The hit: a fresh value, and nothing else is looked at.
    #[inline]
    pub(super) fn fresh<Q: KeyRef<Owned = K>>(&self, key: &Q) -> Option<Result<O::Value, O::Failure>> {
        let now = Now::glance();
        self.types.memory.hit(self.hash(key), |owned| key.is(owned), now, Clone::clone)
    }

    /// What memory has for a call, if it may be answered with it.
    pub(super) fn look<Q: KeyRef<Owned = K>>(
        &self,
        hash: u64,
        key: &Q,
        demand: Demand,
    ) -> Option<Found<Result<O::Value, O::Failure>>> {
        let assess = |entry: &Entry, value: &Result<O::Value, O::Failure>| {
            let (now, freshness) = self.any().servable(entry, demand)?;
            // Before anybody is elected: it may panic.
            let value = value.clone();
            Some(self.any().found(entry, now, freshness, demand, value))
        };
        self.types.memory.visit(hash, |owned| key.is(owned), assess).flatten()
    }
}

impl AnyCore {
    /// What memory has for a call that has looked before.
    pub(super) fn look_again(&self, hash: u64, is: Is<'_>, demand: Demand) -> Option<Found<Stored>> {
        let found = self.memory().get(hash, is, |seen| {
            seen.visit();
            let (now, freshness) = self.servable(seen.entry, demand)?;
            let value = seen.value()?;
            Some(self.found(seen.entry, now, freshness, demand, value))
        });
        found.flatten()
    }

    /// What a call is answered with, elected to ask for a refresh or not.
    fn found<S>(&self, entry: &Entry, now: Nanos, freshness: Freshness, demand: Demand, value: S) -> Found<S> {
        let refresh = demand.elect && self.elects(entry, now, freshness);
        Found { value, freshness, refresh, age: now.saturating_sub(entry.life.stored) }
    }

    /// The time and the state of an entry, if a call may be answered with it.
    #[cold]
    fn servable(&self, entry: &Entry, demand: Demand) -> Option<(Nanos, Freshness)> {
        let now = Now::for_entry(entry.clock)?.at;
        let age = now.saturating_sub(entry.life.stored);
        if demand.max_age.is_some_and(|most| age > most) {
            return None;
        }
        let freshness = self.policy.freshness(&entry.life, now);
        // Expired, only while its load is known to fail.
        let kept = || now < self.policy.gone_at(&entry.life) && entry.is_paused(now);
        (freshness != Freshness::Expired || kept()).then_some((now, freshness))
    }

    /// Whether the caller is to ask for a refresh.
    fn elects(&self, entry: &Entry, now: Nanos, freshness: Freshness) -> bool {
        match freshness {
            Freshness::Fresh | Freshness::Expired => false,
            Freshness::Early => self.early_is_due(entry, now) && entry.elect(now),
            Freshness::Stale => entry.elect(now),
        }
    }

    /// Whether a key has a fresh entry: one that needs no refresh.
    pub(super) fn is_fresh(&self, hash: u64, is: Is<'_>) -> bool {
        self.state(hash, is) == Some(Freshness::Fresh)
    }

    fn early_is_due(&self, entry: &Entry, now: Nanos) -> bool {
        let random = if self.policy.beta().is_some() { self.dice.draw() } else { 0.0 };
        self.policy.early_is_due(&entry.life, now, self.cost.load(Relaxed), random)
    }

    /// What a call would get without loading.
    pub(crate) fn peek(&self, hash: u64, key: &dyn AnyKeyRef) -> Option<AnyValue> {
        self.look_again(hash, &|owned| key.matches(owned), Demand::NORMAL.without_refresh())?.value.ok()
    }

    /// Counts a call that was answered.
    #[inline]
    pub(crate) fn count_hit(&self, freshness: Freshness) {
        match freshness {
            Freshness::Fresh => self.counters.hit(Hit::Fresh),
            Freshness::Early => self.counters.hit(Hit::Early),
            Freshness::Stale => self.counters.hit(Hit::Stale),
            Freshness::Expired => count(&self.counters.served_on_error),
        }
    }

    /// The state of a key's entry; `None` if there is none that may be served in any case.
    pub(crate) fn state(&self, hash: u64, is: Is<'_>) -> Option<Freshness> {
        let state = self.memory().get(hash, is, |seen| {
            let now = Now::for_entry(seen.entry.clock)?.at;
            let life = &seen.entry.life;
            (now < self.policy.gone_at(life)).then(|| self.policy.freshness(life, now))
        });
        state.flatten()
    }

    /// The old value that may be given where a load fails or is slow.
    pub(super) fn old(&self, hash: u64, is: Is<'_>) -> Option<Old> {
        let old = self.memory().get(hash, is, |seen| {
            let (life, clock) = (&seen.entry.life, seen.entry.clock);
            let now = Now::for_entry(clock)?.at;
            if now >= self.policy.gone_at(life) {
                return None;
            }
            Some(Old { value: seen.value()?.ok()?, stored: life.stored, clock })
        });
        old.flatten()
    }
}
