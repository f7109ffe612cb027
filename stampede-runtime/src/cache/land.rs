//! Landing a flight: what its end does to the entry, and what its callers get.

use super::{
    AnyCore,
    put::{Dropped, Fill},
};
use crate::{
    clock::{Nanos, Now, saturating_nanos},
    context::Tag,
    erased::{AnyValue, Is},
    events,
    flight::{Failure, Flight, Landing, Notes, Panic},
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
pub(super) struct Failed {
    pub(super) failure: Failure,
    /// Whether an old value may hide it.
    hidden: bool,
    /// Whether memory is to have the error, if it is one.
    stored: bool,
    /// Whether no refresh is to begin for a while.
    pauses: bool,
}

impl Failed {
    /// As most failures are: an old value may hide it, nothing is stored, and a pause begins.
    fn new(failure: Failure) -> Self {
        Self { failure, hidden: true, stored: false, pauses: true }
    }

    pub(super) fn panicked(payload: Box<dyn Any + Send>) -> Self {
        Self::new(Failure::Panicked(Panic::new(payload)))
    }

    /// An error that no cache is left to store.
    pub(super) fn unstored(failure: AnyValue) -> Self {
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

/// What the user's callbacks say about a value.
pub(super) struct Appraised {
    pub(super) kind: Kind,
    pub(super) weight: u32,
    pub(super) tags: Vec<Tag>,
}

impl AnyCore {
    /// Asks the user's code about a value, before any lock is taken.
    pub(super) fn appraise(&self, value: &AnyValue, notes: Notes) -> Appraised {
        let bound = notes.ttl.or_else(|| self.types.ttl_of(value)).map(saturating_nanos);
        let kind = if self.types.is_none(value) { Kind::None(bound) } else { Kind::Value(bound) };
        // Weight 0 counts as 1, so that nothing is held for nothing.
        Appraised { kind, weight: self.types.weight(value).max(1), tags: notes.tags }
    }

    /// The failure of a load with an error. `hidden`: whether the old value may hide it.
    pub(super) fn blame(&self, failure: AnyValue, hidden: bool) -> Failed {
        count(&self.counters.errors);
        Failed { hidden, ..self.sealed(failure) }
    }

    /// The failure of a load that was given up, or of one whose error is sealed.
    pub(super) fn sealed(&self, failure: AnyValue) -> Failed {
        Failed { stored: !self.policy.err_ttl().is_zero(), ..Failed::unstored(failure) }
    }

    pub(super) fn learn_cost(&self, took: Nanos) {
        let learn = |cost: u64| Some(if cost == 0 { took } else { cost - cost / 8 + took / 8 });
        let _ = self.cost.fetch_update(Relaxed, Relaxed, learn);
    }

    /// Lands a flight with a value. The user's code is asked first, and may panic.
    pub(super) fn land_value(&self, flight: &Arc<Flight>, value: AnyValue) {
        let Appraised { kind, weight, tags } = self.appraise(&value, flight.read_notes());
        let value = Ok(value);
        let item = self.types.item(&flight.key, &value);
        let Some(claim) = flight.claim_landing() else { return };
        let is = super::is(&flight.key);
        let mut locked = self.flights.lock(flight.hash);
        let landed = locked.land(flight);
        let dropped = if landed.accepted {
            let fill = Fill::of_flight(flight, kind, weight, &tags);
            self.put(&locked, flight.hash, &is, item, &fill)
        } else {
            // A load in mode `Bypass` was never meant to be stored.
            if landed.known {
                count(&self.counters.refused);
                self.give_back(flight.hash, &is, landed.last);
            }
            Dropped::unstored(item)
        };
        drop(locked);
        let (Ok(value) | Err(value)) = value;
        claim.land(Landing::Value(value));
        drop(dropped);
    }

    pub(super) fn land_failure(&self, flight: &Arc<Flight>, failed: Failed) {
        let Failed { failure, hidden, stored, pauses } = failed;
        // Copied here, before any lock is taken; the user's `Clone` may panic.
        let copy =
            |error: &AnyValue| catch_unwind(AssertUnwindSafe(|| self.types.item(&flight.key, &Err(Arc::clone(error)))));
        let (failure, item) = match &failure {
            Failure::Error(error) if stored => match copy(error) {
                Ok(item) => (failure, Some(item)),
                Err(payload) => (Failure::Panicked(Panic::new(payload)), None),
            },
            Failure::Error(_) | Failure::Panicked(_) | Failure::Abandoned => (failure, None),
        };
        let Some(claim) = flight.claim_landing() else { return };
        let is = super::is(&flight.key);
        let mut locked = self.flights.lock(flight.hash);
        let landed = locked.land(flight);
        // A clone that panics is no old value; it must not take the landing with it.
        let find_old = || self.old(flight.hash, &is);
        let old = (hidden && landed.known).then(|| catch_unwind(AssertUnwindSafe(find_old)).ok().flatten()).flatten();
        let mut pause = None;
        let dropped = match &failure {
            _ if landed.accepted && pauses && old.is_some() => {
                pause = self.begin_pause(flight.hash, &is);
                Dropped::default()
            }
            Failure::Error(_) if landed.accepted => {
                let notes = flight.read_notes();
                let fill = Fill::of_flight(flight, Kind::Err, 1, &notes.tags);
                match item {
                    Some(item) => self.put(&locked, flight.hash, &is, item, &fill),
                    None => self.take(flight.hash, &is),
                }
            }
            // Nothing is stored.
            _ => {
                self.give_back(flight.hash, &is, landed.last);
                Dropped::default()
            }
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
    fn give_back(&self, hash: u64, is: Is<'_>, last: bool) {
        if last {
            self.let_ask(hash, is);
        }
    }

    fn tell_failure(&self, failure: &Failure, served_old: bool, pause: Option<Nanos>) {
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
    pub(super) fn pause(&self, hash: u64, is: Is<'_>) {
        if let Some(pause) = self.begin_pause(hash, is) {
            self.tell_pause(pause);
        }
    }

    /// The old value stays: no refresh begins for a while.
    fn begin_pause(&self, hash: u64, is: Is<'_>) -> Option<Nanos> {
        let random = self.dice.draw();
        let pause = self.memory().get(hash, is, |seen| {
            let now = Now::for_entry(seen.entry.clock)?.at;
            let mut paused = None;
            seen.entry.fail(now, |failures| *paused.insert(self.policy.pause(failures, random)));
            paused
        });
        pause.flatten()
    }
}
