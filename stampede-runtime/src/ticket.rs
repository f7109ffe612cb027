//! A call that needs the loader: how its body becomes a load, and where the load runs.
//!
//! What is compiled for each function is kept small: it makes the body's future, and all else takes that future boxed.
//! The futures that are returned are boxed too, and said to be `Send` once: else the compiler would find that out anew
//! for each function, through all that a cache is made of.

use crate::{
    cache::{Answer, Answered, Begin, BoxedLoad, Call, Job, Kind, Ride, Started, Step},
    context::Tag,
    erased::take,
    error::SharedError,
    outcome::Outcome,
};
use std::{fmt, pin::Pin};

/// A future that is compiled once for all functions with this return type.
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A call that needs the loader, or is to refresh.
pub struct Ticket<O: Outcome> {
    call: Call,
    kind: Kind<O>,
}

impl<O: Outcome> fmt::Debug for Ticket<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}

impl<O: Outcome> Ticket<O> {
    pub(crate) fn new(call: Call, kind: Kind<O>) -> Self {
        Self { call, kind }
    }

    /// The tags of the entry.
    #[must_use]
    pub fn tags<I: IntoIterator<Item: Into<Tag>>>(mut self, tags: impl FnOnce() -> I) -> Self {
        self.call.tag(|| tags().into_iter().map(Into::into).collect());
        self
    }

    /// Waits for an answer, or until it is this call that leads.
    #[must_use]
    pub fn ride(self) -> Boxed<Begin<O::Return, Lead<O>>> {
        let Self { call, kind } = self;
        // Outside of the future, which would keep room for the call.
        let ride = call.ride();
        Box::pin(async move {
            match ride.go().await {
                Step::Answer(answer) => Begin::Ready(kind.close(answer)),
                Step::Lead(job, ride) => Begin::Load(Lead { job, ride, kind }),
            }
        })
    }
}

/// A call that leads a flight.
pub struct Lead<O: Outcome> {
    job: Job,
    ride: Box<Ride>,
    kind: Kind<O>,
}

impl<O: Outcome> fmt::Debug for Lead<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lead")
    }
}

impl<O: Outcome> Lead<O> {
    /// Runs the load as a task of its own, and waits for the answer.
    pub fn run<M, F>(self, make: M) -> Boxed<O::Return>
    where
        M: FnOnce() -> F,
        // The compiler shows the next line where a body is not `Send`, and so shows what to do.
        F: Future<Output = O::Return> + Send + 'static, // else write `run = "in_caller"` in the attribute
    {
        let mut make = Some(make);
        self.start(&mut || Some(Box::pin((make.take()?)())))
    }

    fn start(mut self, make: &mut dyn FnMut() -> Option<Boxed<O::Return>>) -> Boxed<O::Return> {
        let kind = self.kind;
        let answered =
            |body: Boxed<O::Return>| -> Boxed<Answered> { Box::pin(async move { kind.answered(body.await) }) };
        let body = self.job.prepare(make).flatten().map(answered);
        self.ride.started(spawn(self.job.boxed(body)));
        kind.rest(self.ride)
    }

    /// Runs the load in this call's own task, and waits for the answer.
    pub fn run_in_caller<M, F>(self, make: M) -> impl Future<Output = O::Return>
    where
        M: FnOnce() -> F,
        F: Future<Output = O::Return>,
    {
        let Self { job, mut ride, kind } = self;
        Box::pin(async move {
            let body = job.prepare(make).map(|body| async move { kind.answered(body.await) });
            ride.run_here(Box::pin(job.run(body))).await;
            kind.rest(ride).await
        })
    }
}

impl<O: Outcome> Kind<O> {
    /// The ride of a call that has led: it does so once.
    fn rest(self, ride: Box<Ride>) -> Boxed<O::Return> {
        Box::pin(async move { self.close(ride.go_with(drop).await) })
    }

    /// What the caller gets.
    pub(crate) fn close(&self, answer: Answer) -> O::Return {
        let failure = match answer {
            Answer::Value(value) => return self.outcome.close(Ok(take(value))),
            Answer::Error(failure) => take(failure),
            Answer::Lost => {
                let lost = SharedError::lost();
                let message = lost.to_string();
                match self.outcome.give_up(lost) {
                    Some(failure) => failure,
                    None => panic!("{message}"),
                }
            }
        };
        self.outcome.close(Err(failure))
    }
}

/// Starts a load in the current runtime; without one the caller runs it.
pub(crate) fn spawn(load: BoxedLoad) -> Started<BoxedLoad> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => Started::Task(runtime.spawn(load).abort_handle()),
        Err(_) => Started::Here(load),
    }
}
