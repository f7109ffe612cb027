//! Running a load.

use super::{AnyCore, BoxedLoad, Kind, land::Failed};
use crate::{
    clock::Now,
    context::{Change, Context, Loading, within},
    erased::AnyValue,
    events,
    flight::{Flight, Landing},
    outcome::Outcome,
    stats::count,
};
use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{Arc, Weak, atomic::Ordering::Relaxed},
    task::Poll,
    time::Duration,
};
use tokio::sync::OwnedSemaphorePermit;

/// What a loader answered, of any type.
pub(crate) type Answered = Result<AnyValue, Blamed>;

/// What a loader failed with, in a form that can be shared.
pub(crate) struct Blamed {
    failure: AnyValue,
    /// Whether the old value may hide it.
    hidden: bool,
}

impl<O: Outcome> Kind<O> {
    /// Takes a loader's answer apart. The user's callbacks are asked here, inside of the load.
    pub(crate) fn answered(&self, answer: O::Return) -> Answered {
        match self.outcome.open(answer) {
            Ok(value) => Ok(Arc::new(value)),
            Err(error) => Err(self.blamed(error)),
        }
    }

    /// Makes of an error what many flights can fail with.
    pub(crate) fn blamed(&self, error: O::Error) -> Blamed {
        let hidden = self.hooks.outage.is_none_or(|outage| outage(&error));
        Blamed { failure: Arc::new(self.outcome.seal(error)), hidden }
    }
}

/// The right and the duty to run the load of a flight. Dropped before the end, the flight is abandoned.
pub(crate) struct Job {
    core: Weak<AnyCore>,
    flight: Arc<Flight>,
    context: Context,
    span: events::LoadSpan,
}

impl Job {
    pub(super) fn new(core: &AnyCore, flight: Arc<Flight>, context: Context) -> Self {
        let span = events::load_span(&flight.name, flight.is_refresh());
        count(&core.counters.in_flight);
        Self { core: core.weak(), flight, context, span }
    }

    /// The job of a flight whose cache is gone.
    pub(super) fn without_cache(core: Weak<AnyCore>, flight: Arc<Flight>, context: Context) -> Self {
        let span = events::load_span(&flight.name, false);
        Self { core, flight, context, span }
    }

    /// Makes the load's future, which the user's code does: it clones arguments.
    pub(crate) fn prepare<F>(&self, make: impl FnOnce() -> F) -> Option<F> {
        catch_unwind(AssertUnwindSafe(make)).map_err(|payload| self.fail(Failed::panicked(payload))).ok()
    }

    /// The load as a task of its own can run it. Compiled once: its body is boxed.
    pub(crate) fn boxed(self, body: Option<Pin<Box<dyn Future<Output = Answered> + Send>>>) -> BoxedLoad {
        Box::pin(self.run(body))
    }

    /// Runs the load to its end and lands the flight.
    pub(crate) async fn run<F: Future<Output = Answered>>(self, load: Option<F>) {
        let Some(load) = load else { return };
        let permit = self.permit().await;
        self.watch();
        self.count_load();
        let started = Now::read();
        let load = pin!(self.within(load, None));
        let answer = until_landed(|| self.flight.landing().is_some(), load).await;
        drop(permit);
        match answer {
            // The deadline came first: the load has been dropped.
            None => {}
            // What the user's callbacks tell, and the failure, belong to the load.
            Some(Ok(answer)) => self.span.in_scope(|| {
                self.note_time(started);
                self.settle(answer);
            }),
            Some(Err(payload)) => self.fail(Failed::panicked(payload)),
        }
    }

    pub(super) fn flight(&self) -> &Arc<Flight> {
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
    ) -> impl Future<Output = F::Output> + use<F> {
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
    pub(super) fn settle(&self, answer: Answered) {
        match (answer, self.core.upgrade()) {
            (Ok(value), Some(core)) => {
                let land = AssertUnwindSafe(|| core.land_value(&self.flight, value));
                if let Err(payload) = catch_unwind(land) {
                    self.fail(Failed::panicked(payload));
                }
            }
            // The scope was dropped: the flight still serves its callers.
            (Ok(value), None) => self.flight.land(Landing::Value(value)),
            (Err(blamed), _) => self.fail(self.blame(blamed)),
        }
    }

    /// What follows from an error.
    pub(super) fn blame(&self, Blamed { failure, hidden }: Blamed) -> Failed {
        match self.core.upgrade() {
            Some(core) => core.blame(failure, hidden),
            None => Failed::unstored(failure),
        }
    }

    pub(super) fn fail(&self, failed: Failed) {
        self.span.in_scope(|| match self.core.upgrade() {
            Some(core) => core.land_failure(&self.flight, failed),
            None => self.flight.land(Landing::Failed(failed.failure)),
        });
    }
}

impl Drop for Job {
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
pub(super) fn until_landed<L: Future>(
    landed: impl Fn() -> bool,
    mut load: Pin<&mut L>,
) -> impl Future<Output = Option<Result<L::Output, Box<dyn Any + Send>>>> {
    poll_fn(move |cx| {
        if landed() {
            return Poll::Ready(None);
        }
        match catch_unwind(AssertUnwindSafe(|| load.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(Some(Ok(answer))),
            Err(payload) => Poll::Ready(Some(Err(payload))),
        }
    })
}
