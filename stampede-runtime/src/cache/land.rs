//! Landing a flight: what its end does to the entry, and what its callers get.

use super::{Core, Flight, Key, put::Dropped, put::Fill};
use crate::{
    clock::{Nanos, Now, saturating_nanos},
    context::Tag,
    entry::Entry,
    events,
    flight::{Failure, Landing, Notes, Panic},
    outcome::Outcome,
    policy::Kind,
    stats::count,
};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

/// How a load failed, and what follows from it.
#[derive(Clone)]
pub(super) struct Failed<F> {
    pub(super) failure: Failure<F>,
    /// Whether an old value may hide it.
    hidden: bool,
    /// The error once more, if memory is to have it.
    stored: Option<F>,
    /// Whether no refresh is to begin for a while.
    pauses: bool,
}

impl<F> Failed<F> {
    /// As most failures are: an old value may hide it, nothing is stored, and a pause begins.
    fn new(failure: Failure<F>) -> Self {
        Self { failure, hidden: true, stored: None, pauses: true }
    }

    pub(super) fn panicked(payload: Box<dyn Any + Send>) -> Self {
        Self::new(Failure::Panicked(Panic::new(payload)))
    }

    /// An error that no cache is left to store.
    pub(super) fn unstored(failure: F) -> Self {
        Self::new(Failure::Error(failure))
    }

    pub(super) fn abandoned() -> Self {
        Self::new(Failure::Abandoned)
    }

    /// Nobody waited any more: that says nothing about the loader.
    pub(super) fn unwanted() -> Self {
        Self { pauses: false, ..Self::abandoned() }
    }
}

/// A value that a load ended with, and what the user's callbacks say about it.
pub(super) struct Appraised<V> {
    /// For the callers of the flight.
    pub(super) shared: V,
    /// For memory.
    pub(super) value: V,
    pub(super) kind: Kind,
    pub(super) weight: u32,
    pub(super) tags: Vec<Tag>,
}

impl<K: Key, O: Outcome> Core<K, O> {
    /// Asks the user's code about a value, before any lock is taken.
    pub(super) fn appraise(&self, value: O::Value, notes: Notes) -> Appraised<O::Value> {
        let ttl = notes.ttl.or_else(|| self.hooks.ttl_of.and_then(|ttl_of| ttl_of(&value)));
        let bound = ttl.map(saturating_nanos);
        let kind = if self.outcome.is_none(&value) { Kind::None(bound) } else { Kind::Value(bound) };
        // Weight 0 counts as 1, so that nothing is held for nothing.
        let weight = self.hooks.weight.map_or(1, |weight| weight(&value)).max(1);
        Appraised { shared: value.clone(), value, kind, weight, tags: notes.tags }
    }

    /// Seals an error, and asks whether the old value may hide it.
    pub(super) fn blame(&self, error: O::Error) -> Failed<O::Failure> {
        count(&self.counters.errors);
        let hidden = self.hooks.outage.is_none_or(|outage| outage(&error));
        Failed { hidden, ..self.sealed(self.outcome.seal(error)) }
    }

    /// The failure of a load that was given up, or of one whose error is sealed; cloned here, before any lock is taken.
    pub(super) fn sealed(&self, failure: O::Failure) -> Failed<O::Failure> {
        let stored = (!self.policy.err_ttl().is_zero()).then(|| failure.clone());
        Failed { stored, ..Failed::unstored(failure) }
    }

    pub(super) fn learn_cost(&self, took: Nanos) {
        let learn = |cost: u64| Some(if cost == 0 { took } else { cost - cost / 8 + took / 8 });
        let _ = self.cost.fetch_update(Relaxed, Relaxed, learn);
    }

    pub(super) fn land_value(&self, flight: &Arc<Flight<O>>, appraised: Appraised<O::Value>) {
        let Appraised { shared, value, kind, weight, tags } = appraised;
        let Some(claim) = flight.claim_landing() else { return };
        let mut locked = self.flights.lock(flight.hash);
        let landed = locked.land(flight);
        let dropped = match (landed.accepted, landed.key) {
            (true, Some(key)) => {
                let fill = Fill::of_flight(flight, kind, weight, &tags);
                self.put(&locked, flight.hash, key, Ok(value), &fill)
            }
            (_, key) => {
                // A load in mode `Bypass` was never meant to be stored.
                if let Some(key) = &key {
                    count(&self.counters.refused);
                    self.give_back(flight.hash, key, landed.last);
                }
                Dropped::unstored(key, Ok(value))
            }
        };
        drop(locked);
        claim.land(Landing::Value(shared));
        drop(dropped);
    }

    pub(super) fn land_failure(&self, flight: &Arc<Flight<O>>, failed: Failed<O::Failure>) {
        let Failed { failure, hidden, stored, pauses } = failed;
        let Some(claim) = flight.claim_landing() else { return };
        let mut locked = self.flights.lock(flight.hash);
        let landed = locked.land(flight);
        // A clone that panics is no old value; it must not take the landing with it.
        let find_old = || landed.key.as_ref().and_then(|key| self.old(flight.hash, &|other| other == key));
        let old = hidden.then(|| catch_unwind(AssertUnwindSafe(find_old)).ok().flatten()).flatten();
        let mut pause = None;
        let dropped = match (&failure, landed.key) {
            (_, Some(key)) if landed.accepted && pauses && old.is_some() => {
                pause = self.begin_pause(flight.hash, &key);
                Dropped::key(key)
            }
            (Failure::Error(_), Some(key)) if landed.accepted => {
                let notes = flight.read_notes();
                let fill = Fill::of_flight(flight, Kind::Err, 1, &notes.tags);
                match stored {
                    Some(error) => self.put(&locked, flight.hash, key, Err(error), &fill),
                    None => self.take(flight.hash, key),
                }
            }
            // Nothing is stored.
            (_, Some(key)) => {
                self.give_back(flight.hash, &key, landed.last);
                Dropped::key(key)
            }
            (_, None) => Dropped::none(),
        };
        drop(locked);
        self.tell_failure(&failure, old.is_some(), pause);
        claim.land(match old {
            Some(old) => Landing::Kept { value: old.value, stored: old.stored, clock: old.clock, cause: failure },
            None => Landing::Failed(failure),
        });
        drop(dropped);
    }

    /// The end of a flight that leaves the entry as it is, which another may have planted: if nothing else will clear
    /// the mark of a refresh, the next caller is to be elected.
    fn give_back(&self, hash: u64, key: &K, last: bool) {
        if last {
            self.memory.get(hash, &|other| other == key, Entry::give_back);
        }
    }

    fn tell_failure(&self, failure: &Failure<O::Failure>, served_old: bool, pause: Option<Nanos>) {
        let how = match failure {
            Failure::Error(_) => "error",
            Failure::Panicked(_) => {
                count(&self.counters.panics);
                "panic"
            }
            Failure::Abandoned => {
                count(&self.counters.abandoned);
                "abandoned"
            }
        };
        events::load_failed(&self.name, how, served_old);
        if let Some(pause) = pause {
            self.tell_pause(pause);
        }
    }

    fn tell_pause(&self, pause: Nanos) {
        count(&self.counters.pauses);
        events::pause(&self.name, Duration::from_nanos(pause));
    }

    /// Begins the pause of a refresh that could not even begin.
    pub(super) fn pause(&self, hash: u64, key: &K) {
        if let Some(pause) = self.begin_pause(hash, key) {
            self.tell_pause(pause);
        }
    }

    /// The old value stays: no refresh begins for a while.
    fn begin_pause(&self, hash: u64, key: &K) -> Option<Nanos> {
        let random = self.dice.draw();
        let pause = self.memory.get(hash, &|other| other == key, |entry| {
            let now = Now::for_entry(entry.clock)?.at;
            let mut paused = None;
            entry.fail(now, |failures| *paused.insert(self.policy.pause(failures, random)));
            paused
        });
        pause.flatten()
    }
}
