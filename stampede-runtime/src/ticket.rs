//! A call that needs the loader: how its body becomes a load, and where the load runs.
//!
//! What is compiled for each function is kept small: it makes the body's future, and all else takes that future boxed.
//! The futures that are returned are boxed too, and said to be `Send` once: else the compiler would find that out anew
//! for each function, through all that a cache is made of.

use crate::{
    cache::{Begin, BoxedLoad, Call, Job, Key, Ride, Started, Step},
    context::Tag,
    outcome::Outcome,
};
use std::{fmt, pin::Pin};

/// A future that is compiled once for all functions with this key and return type.
type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A call that needs the loader, or is to refresh.
pub struct Ticket<K: Key, O: Outcome>(Call<K, O>);

impl<K: Key, O: Outcome> fmt::Debug for Ticket<K, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}

impl<K: Key, O: Outcome> Ticket<K, O> {
    pub(crate) fn new(call: Call<K, O>) -> Self {
        Self(call)
    }

    /// The tags of the entry.
    #[must_use]
    pub fn tags<I: IntoIterator<Item: Into<Tag>>>(mut self, tags: impl FnOnce() -> I) -> Self {
        self.0.tag(|| tags().into_iter().map(Into::into).collect());
        self
    }

    /// Waits for an answer, or until it is this call that leads.
    #[must_use]
    pub fn ride(self) -> Boxed<'static, Begin<O::Return, Lead<K, O>>> {
        Box::pin(async {
            match self.0.ride().go().await {
                Step::Answer(answer) => Begin::Ready(answer),
                Step::Lead(job, ride) => Begin::Load(Lead { job, ride }),
            }
        })
    }
}

/// A call that leads a flight.
pub struct Lead<K: Key, O: Outcome> {
    job: Job<K, O>,
    ride: Ride<K, O>,
}

impl<K: Key, O: Outcome> fmt::Debug for Lead<K, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lead")
    }
}

impl<K: Key, O: Outcome> Lead<K, O> {
    /// Runs the load as a task of its own, and waits for the answer.
    pub fn run<M, F>(self, make: M) -> Boxed<'static, O::Return>
    where
        M: FnOnce() -> F,
        // The compiler shows the next line where a body is not `Send`, and so shows what to do.
        F: Future<Output = O::Return> + Send + 'static, // else write `run = "in_caller"` in the attribute
    {
        self.start(Box::new(|| Box::pin(make())))
    }

    fn start(mut self, make: Box<dyn FnOnce() -> Boxed<'static, O::Return> + '_>) -> Boxed<'static, O::Return> {
        let body = self.job.prepare(make);
        self.ride.started(spawn(Box::pin(self.job.run(body))));
        Box::pin(self.ride.go_with(drop))
    }

    /// Runs the load in this call's own task, and waits for the answer.
    pub fn run_in_caller<M, F>(self, make: M) -> impl Future<Output = O::Return>
    where
        M: FnOnce() -> F,
        F: Future<Output = O::Return>,
    {
        let Self { job, mut ride } = self;
        Box::pin(async move {
            let body = job.prepare(make);
            ride.run_here(Box::pin(job.run(body))).await;
            let rest: Boxed<'_, O::Return> = Box::pin(ride.go_with(drop));
            rest.await
        })
    }
}

/// Starts a load in the current runtime; without one the caller runs it.
pub(crate) fn spawn(load: BoxedLoad) -> Started<BoxedLoad> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => Started::Task(runtime.spawn(load).abort_handle()),
        Err(_) => Started::Here(load),
    }
}
