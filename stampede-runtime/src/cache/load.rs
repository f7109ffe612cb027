//! Running a load.

use super::{Core, Flight, Key, land::Failed};
use crate::{
    clock::Now,
    context::{Change, Context, Loading, within},
    events,
    flight::{Failure, Landing},
    outcome::Outcome,
    stats::count,
};
use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Weak, atomic::Ordering::Relaxed},
    task::Poll,
    time::Duration,
};
use tokio::sync::OwnedSemaphorePermit;

/// The right and the duty to run the load of a flight. Dropped before the end, the flight is abandoned.
pub(crate) struct Job<K: Key, O: Outcome> {
    core: Weak<Core<K, O>>,
    flight: Arc<Flight<O>>,
    outcome: O,
    context: Context,
    span: events::LoadSpan,
}

impl<K: Key, O: Outcome> Job<K, O> {
    pub(super) fn new(core: &Core<K, O>, flight: Arc<Flight<O>>, context: Context) -> Self {
        let span = events::load_span(&flight.name, flight.is_refresh());
        count(&core.counters.in_flight);
        Self { core: Weak::clone(&core.me), flight, outcome: core.outcome, context, span }
    }

    /// The job of a flight whose cache is gone.
    pub(super) fn without_cache(flight: Arc<Flight<O>>, outcome: O, context: Context) -> Self {
        let span = events::load_span(&flight.name, false);
        Self { core: Weak::new(), flight, outcome, context, span }
    }

    /// Makes the load's future, which the user's code does: it clones arguments.
    pub(crate) fn prepare<F>(&self, make: impl FnOnce() -> F) -> Option<F> {
        catch_unwind(AssertUnwindSafe(make)).map_err(|payload| self.fail(Failed::panicked(payload))).ok()
    }

    /// Runs the load to its end and lands the flight.
    pub(crate) async fn run<F: Future<Output = O::Return>>(self, load: Option<F>) {
        let Some(load) = load else { return };
        let permit = self.permit().await;
        self.watch();
        self.count_load();
        let started = Now::read();
        let load = self.within(load, None);
        let answer = until_landed(|| self.flight.landing().is_some(), load).await;
        drop(permit);
        match answer {
            // The deadline came first: the load has been dropped.
            None => {}
            // What the user's callbacks tell, and the failure, belong to the load.
            Some(Ok(answer)) => self.span.in_scope(|| {
                self.note_time(started);
                self.settle(self.outcome.open(answer));
            }),
            Some(Err(payload)) => self.fail(Failed::panicked(payload)),
        }
    }

    pub(super) fn flight(&self) -> &Arc<Flight<O>> {
        &self.flight
    }

    pub(super) fn span(&self) -> &events::LoadSpan {
        &self.span
    }

    /// The load in its context and span. `members`: what it is the load of, if that is more than this flight.
    pub(super) fn within<F: Future>(
        &self,
        load: F,
        members: Option<Arc<dyn Loading>>,
    ) -> impl Future<Output = F::Output> + use<K, O, F> {
        let mut context = self.context.clone();
        if let (Some(inside), Some(members)) = (&mut context.inside, members) {
            inside.flight = members;
        }
        events::inside(self.span.clone(), within(Change::All(context), load))
    }

    /// Sets the deadlines of the flight: the body begins.
    pub(super) fn watch(&self) {
        if let Some(core) = self.core.upgrade() {
            core.watch(&self.flight);
        }
    }

    pub(super) fn count_load(&self) {
        if let Some(core) = self.core.upgrade() {
            count(&core.counters.loads);
        }
    }

    /// Waits for one of the cache's `max_loads`, or as long as nobody waits for this load who holds one.
    pub(super) async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        let core = self.core.upgrade()?;
        let permits = core.permits.clone()?;
        let urgency = self.flight.load().urgency;
        let permit = match Arc::clone(&permits).try_acquire_owned() {
            Ok(permit) => Some(permit),
            Err(_) => {
                core.watch_queued(&self.flight);
                // A cache that is dropped meanwhile goes with its permits.
                drop(core);
                first(urgency.wait(), permits.acquire_owned()).await.and_then(Result::ok)
            }
        };
        if permit.is_some() {
            urgency.raise();
        } else if let Some(core) = self.core.upgrade() {
            count(&core.counters.over_limit);
            events::over_limit(&core.name);
        }
        permit
    }

    pub(super) fn note_time(&self, started: Now) {
        let Some(core) = self.core.upgrade() else { return };
        let took = Now::read().at.saturating_sub(started.at);
        core.counters.load_took(Duration::from_nanos(took));
        core.learn_cost(took);
    }

    /// Lands the flight with what the loader has made.
    pub(super) fn settle(&self, answer: Result<O::Value, O::Error>) {
        let Some(core) = self.core.upgrade() else {
            return self.land_alone(answer);
        };
        match answer {
            Ok(value) => match catch_unwind(AssertUnwindSafe(|| core.appraise(value, self.flight.read_notes()))) {
                Ok(appraised) => core.land_value(&self.flight, appraised),
                Err(payload) => self.fail(Failed::panicked(payload)),
            },
            Err(error) => match catch_unwind(AssertUnwindSafe(|| core.blame(error))) {
                Ok(failed) => self.fail(failed),
                Err(payload) => self.fail(Failed::panicked(payload)),
            },
        }
    }

    /// Makes of an error what many flights can fail with.
    pub(super) fn blame(&self, error: O::Error) -> Failed<O::Failure> {
        match self.core.upgrade() {
            Some(core) => catch_unwind(AssertUnwindSafe(|| core.blame(error))).unwrap_or_else(Failed::panicked),
            None => Failed::unstored(self.outcome.seal(error)),
        }
    }

    pub(super) fn fail(&self, failed: Failed<O::Failure>) {
        self.span.in_scope(|| match self.core.upgrade() {
            Some(core) => core.land_failure(&self.flight, failed),
            None => self.flight.land(Landing::Failed(failed.failure)),
        });
    }

    /// The scope was dropped: the flight still serves its callers.
    fn land_alone(&self, answer: Result<O::Value, O::Error>) {
        self.flight.land(match answer {
            Ok(value) => Landing::Value(value),
            Err(error) => Landing::Failed(Failure::Error(self.outcome.seal(error))),
        });
    }
}

impl<K: Key, O: Outcome> Drop for Job<K, O> {
    fn drop(&mut self) {
        if self.flight.landing().is_none() {
            self.fail(Failed::abandoned());
        }
        if let Some(core) = self.core.upgrade() {
            core.counters.in_flight.fetch_sub(1, Relaxed);
        }
    }
}

/// Waits for `other`, but not longer than for `end`.
async fn first<F: Future>(end: impl Future<Output = ()>, other: F) -> Option<F::Output> {
    let (mut end, mut other) = (pin!(end), pin!(other));
    poll_fn(|cx| match end.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => other.as_mut().poll(cx).map(Some),
    })
    .await
}

/// Polls the load until it ends, panics, or all it was for has landed without it.
pub(super) async fn until_landed<L: Future>(
    landed: impl Fn() -> bool,
    load: L,
) -> Option<Result<L::Output, Box<dyn Any + Send>>> {
    let mut load = pin!(load);
    poll_fn(|cx| {
        if landed() {
            return Poll::Ready(None);
        }
        match catch_unwind(AssertUnwindSafe(|| load.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(Some(Ok(answer))),
            Err(payload) => Poll::Ready(Some(Err(payload))),
        }
    })
    .await
}
