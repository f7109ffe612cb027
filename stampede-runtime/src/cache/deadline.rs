//! The deadlines of a flight: `soft_timeout`, `timeout` and `lead_after`, with one timer for all of them.

use super::{AnyCore, land::Failed};
use crate::{
    clock::{Clock, NEVER, Nanos, Now, saturating_nanos},
    error::SharedError,
    events,
    flight::{Flight, Target, Watch},
    stats::count,
    timekeeper::{self, Due},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
    time::Duration,
};

/// The deadlines of one flight.
struct Deadlines {
    core: Weak<AnyCore>,
    flight: Weak<Flight>,
    soft: Nanos,
    timeout: Nanos,
    overdue: Nanos,
}

impl AnyCore {
    /// Sets the deadlines of a flight whose body begins now.
    pub(super) fn watch(&self, flight: &Arc<Flight>) {
        let now = Now::read();
        let timeout = after(now.at, self.policy.timeout());
        // A timer moves a paused clock as soon as all else waits: one that nobody asked for must not.
        let untold = now.clock != Clock::Real && !self.policy.says_lead_after();
        let overdue = if untold { NEVER } else { self.policy.lead_until(now.at) };
        self.set_deadlines(flight, now.clock, timeout, overdue);
    }

    /// Sets the one deadline of a flight whose body has to wait for a permit: the callers' patience.
    pub(super) fn watch_queued(&self, flight: &Arc<Flight>) {
        self.set_deadlines(flight, flight.started.clock, NEVER, NEVER);
    }

    fn set_deadlines(&self, flight: &Arc<Flight>, clock: Clock, timeout: Nanos, overdue: Nanos) {
        let soft = after(flight.started.at, self.policy.soft_timeout());
        let (core, flight_of) = (self.weak(), Arc::downgrade(flight));
        let deadlines = Deadlines { core, flight: flight_of, soft, timeout, overdue };
        let Some(first) = deadlines.next(0) else { return };
        flight.set_watch(start(Arc::new(deadlines), first, clock));
    }

    /// Gives a load up whose `timeout` has passed.
    fn time_out(&self, flight: &Arc<Flight>) {
        let Some(limit) = self.policy.timeout() else { return };
        count(&self.counters.timeouts);
        count(&self.counters.errors);
        // The error is made by the user's code.
        let error = SharedError::timeout(&self.name, limit);
        let sealed = catch_unwind(AssertUnwindSafe(|| self.types.give_up(error)));
        match sealed {
            Ok(Some(failure)) => self.land_failure(flight, self.sealed(failure)),
            // Without a way to say so the attribute and the builder don't take a timeout.
            Ok(None) => return,
            Err(payload) => self.land_failure(flight, Failed::panicked(payload)),
        }
        flight.abort();
    }

    /// A refresh that takes too long keeps no other from beginning.
    fn let_refresh(&self, flight: &Arc<Flight>) {
        let locked = self.flights.lock(flight.hash);
        if locked.is_current(flight) {
            self.let_ask(flight.hash, &super::is(&flight.key));
        }
    }
}

/// The moment `limit` after `start`.
fn after(start: Nanos, limit: Option<Duration>) -> Nanos {
    limit.map_or(NEVER, |limit| start.saturating_add(saturating_nanos(limit)))
}

fn start(deadlines: Arc<Deadlines>, first: Nanos, clock: Clock) -> Watch {
    let deadlines: Arc<dyn Due> = deadlines;
    match clock {
        Clock::Real => Watch::Moment(timekeeper::set(first, Arc::downgrade(&deadlines)), Target::new(deadlines)),
        Clock::Paused(_) => Watch::Task(tokio::spawn(ring(deadlines, first)).abort_handle()),
    }
}

/// Rings on a paused clock, which only tokio's timers follow.
async fn ring(deadlines: Arc<dyn Due>, first: Nanos) {
    let mut next = Some(first);
    while let Some(at) = next {
        let rest = at.saturating_sub(Now::read().at);
        tokio::time::sleep(Duration::from_nanos(rest)).await;
        next = deadlines.due(Now::read().at);
    }
}

impl Deadlines {
    /// The first deadline after `now`.
    fn next(&self, now: Nanos) -> Option<Nanos> {
        [self.soft, self.timeout, self.overdue].into_iter().filter(|&at| at > now && at != NEVER).min()
    }
}

impl Due for Deadlines {
    fn due(&self, now: Nanos) -> Option<Nanos> {
        let flight = self.flight.upgrade()?;
        if flight.landing().is_some() {
            return None;
        }
        if self.soft <= now {
            flight.pass_soft();
        }
        if self.timeout <= now {
            self.core.upgrade()?.time_out(&flight);
            return None;
        }
        if self.overdue <= now && !flight.is_overdue() {
            events::led_anew(&flight.name);
            flight.pass_overdue();
            self.core.upgrade()?.let_refresh(&flight);
        }
        self.next(now)
    }
}
