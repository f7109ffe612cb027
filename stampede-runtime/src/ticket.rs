//! A call that needs the loader: how its body becomes a load, and where the load runs.
//!
//! What is compiled for each function is kept small: it makes the body's future, and all else takes that future boxed.

use crate::{
    cache::{BoxedLoad, Call, Key, Ride, Started, Step},
    context::Tag,
    outcome::Outcome,
};
use pin_project_lite::pin_project;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

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

    /// Runs the load as a task of its own if this call leads, and waits for the answer.
    pub fn run<M, F>(self, make: M) -> impl Future<Output = O::Return>
    where
        M: FnOnce() -> F,
        F: Future<Output = O::Return> + Send + 'static,
    {
        Box::pin(Riding { ride: self.0.ride().go(), go: Ride::go, make: Some(make) })
    }

    /// Runs the load in this call's own task if it leads, and waits for the answer.
    pub fn run_in_caller<M, F>(self, make: M) -> impl Future<Output = O::Return>
    where
        M: FnOnce() -> F,
        F: Future<Output = O::Return>,
    {
        let mut make = Some(make);
        Box::pin(self.0.ride().go_with(move |job| {
            let load = job.prepare(make.take()?);
            Some(Box::pin(job.run(load)))
        }))
    }
}

pin_project! {
    /// A call whose load runs as a task of its own.
    struct Riding<K, O, R, M>
    where
        K: Key,
        O: Outcome,
    {
        #[pin]
        ride: R,
        go: fn(Ride<K, O>) -> R,
        make: Option<M>,
    }
}

impl<K, O, R, M, F> Future for Riding<K, O, R, M>
where
    K: Key,
    O: Outcome,
    R: Future<Output = Step<K, O>>,
    M: FnOnce() -> F,
    F: Future<Output = O::Return> + Send + 'static,
{
    type Output = O::Return;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<O::Return> {
        let this = self.project();
        poll_ride(this.ride, *this.go, cx, &mut || Some(Box::pin(this.make.take()?())))
    }
}

/// A body's future.
type Body<R> = Pin<Box<dyn Future<Output = R> + Send>>;

fn poll_ride<K: Key, O: Outcome, R: Future<Output = Step<K, O>>>(
    mut ride: Pin<&mut R>,
    go: fn(Ride<K, O>) -> R,
    cx: &mut Context<'_>,
    make: &mut dyn FnMut() -> Option<Body<O::Return>>,
) -> Poll<O::Return> {
    loop {
        match ready!(ride.as_mut().poll(cx)) {
            Step::Answer(answer) => return Poll::Ready(answer),
            Step::Lead(job, mut led) => {
                let body = job.prepare(&mut *make).flatten();
                led.started(spawn(Box::pin(job.run(body))));
                ride.set(go(led));
            }
        }
    }
}

/// Starts a load in the current runtime; without one the caller runs it.
pub(crate) fn spawn(load: BoxedLoad) -> Started<BoxedLoad> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => Started::Task(runtime.spawn(load).abort_handle()),
        Err(_) => Started::Here(load),
    }
}
