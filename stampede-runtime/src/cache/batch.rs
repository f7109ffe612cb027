//! Batches: one load for many keys, each with an entry and a flight of its own.
//!
//! Every key rides by itself, and so joins, waits, and is told what a single call would be told. Only the loads are
//! gathered: whoever would lead hands its job in, and all jobs that are in by the time all keys have boarded are one load.

use super::{
    Kind,
    begin::Call,
    land::Failed,
    load::{Job, until_landed},
    ride::{Answer, Started},
};
use crate::{
    clock::Now,
    context::{Loading, Reason, Tag},
    flight::{Flight, LoadTask},
    outcome::Outcome,
};
use std::{
    future::poll_fn,
    hash::Hash,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

/// The flights that one load is for, each with the id that it was asked for by. Dropped before the end, all of them are
/// abandoned.
pub(crate) struct Members<I>(Vec<(I, Job)>);

impl<I: Hash + Eq + Clone> Members<I> {
    /// What to load.
    pub(crate) fn ids(&self) -> Vec<I> {
        self.0.iter().map(|(id, _)| id.clone()).collect()
    }

    /// Makes the load's future, which the user's code does: it clones arguments.
    pub(crate) fn prepare<F>(&self, make: impl FnOnce(Vec<I>) -> F) -> Option<F> {
        match catch_unwind(AssertUnwindSafe(|| make(self.ids()))) {
            Ok(load) => Some(load),
            Err(payload) => {
                self.fail(&Failed::panicked(payload));
                None
            }
        }
    }

    /// Runs the load to its end and lands all flights. `open` finds the value of each id, or the error of all.
    pub(crate) async fn run<F, P, U, O>(
        self,
        load: Option<F>,
        open: fn(F::Output) -> Result<P, O::Error>,
        kind: Kind<O>,
    ) where
        F: Future,
        P: IntoIterator<Item = (I, U)>,
        U: Send + Sync + 'static,
        O: Outcome<Value = Option<U>>,
    {
        let (Some(load), Some((_, first))) = (load, self.0.first()) else { return };
        let permit = first.permit().await;
        self.0.iter().for_each(|(_, job)| job.watch());
        first.count_load();
        let started = Now::read();
        let flights: Arc<[_]> = self.0.iter().map(|(_, job)| Arc::clone(job.flight())).collect();
        let landed = || self.0.iter().all(|(_, job)| job.flight().landing().is_some());
        let load = pin!(first.within(load, Some(Arc::new(Together(flights)))));
        let answer = until_landed(landed, load).await;
        drop(permit);
        let answer = match answer {
            // The deadline came first: the load has been dropped.
            None => return,
            Some(Err(payload)) => return self.fail(&Failed::panicked(payload)),
            Some(Ok(answer)) => answer,
        };
        first.note_time(started);
        let opened = || open(answer).map(|pairs| pairs.into_iter().collect()).map_err(|error| kind.blamed(error));
        match catch_unwind(AssertUnwindSafe(opened)) {
            Ok(Ok(values)) => first.span().in_scope(|| self.settle(values)),
            Ok(Err(answer)) => self.fail(&first.blame(answer)),
            Err(payload) => self.fail(&Failed::panicked(payload)),
        }
    }

    /// What the load did not return is a `None`.
    fn settle<U: Send + Sync + 'static>(&self, mut values: std::collections::HashMap<I, U>) {
        for (id, job) in &self.0 {
            job.settle(Ok(Arc::new(values.remove(id))));
        }
    }

    fn fail(&self, failed: &Failed) {
        self.0.iter().for_each(|(_, job)| job.fail(failed.clone()));
    }

    /// The task that the load runs in.
    pub(crate) fn flights(&self) -> Vec<Arc<Flight>> {
        self.0.iter().map(|(_, job)| Arc::clone(job.flight())).collect()
    }
}

/// Many flights of one load, as the load sees them.
struct Together(Arc<[Arc<Flight>]>);

impl Loading for Together {
    fn flight(&self) -> u64 {
        self.0.first().map_or(0, |flight| flight.number)
    }

    /// No one key: there is no one previous value either.
    fn hash(&self) -> u64 {
        0
    }

    fn reason(&self) -> Reason {
        self.0.first().map_or(Reason::Miss, |flight| flight.reason())
    }

    fn set_ttl(&self, ttl: Duration) {
        self.0.iter().for_each(|flight| flight.set_ttl(ttl));
    }

    fn add_tag(&self, tag: Tag) {
        self.0.iter().for_each(|flight| flight.add_tag(tag.clone()));
    }

    fn taint(&self, number: u64) {
        self.0.iter().for_each(|flight| flight.taint(number));
    }

    fn each(&self, visit: &mut dyn FnMut(&dyn Loading)) {
        self.0.iter().for_each(|flight| visit(&**flight));
    }
}

/// Jobs that were handed in and wait to be one load.
type Gathered<I> = Arc<Mutex<Vec<(I, Job)>>>;

/// One key on its way.
type Rider = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Rides for many keys. `lead` makes one load of those that lead, and starts it.
pub(crate) async fn ride_batch<I, L, B>(calls: Vec<(I, Call)>, mut lead: L) -> Vec<(I, Answer)>
where
    I: Clone + Send + 'static,
    L: FnMut(Members<I>) -> (Started<B>, Vec<Arc<Flight>>),
    B: Future<Output = ()> + Unpin,
{
    let gathered: Gathered<I> = Arc::default();
    let mut riders: Vec<(I, Rider)> = calls
        .into_iter()
        .map(|(id, call)| {
            let (gathered, as_member) = (Arc::clone(&gathered), id.clone());
            let hand_in = move |job| {
                gathered.lock().unwrap_or_else(PoisonError::into_inner).push((as_member.clone(), job));
            };
            (id, Box::pin(call.ride().go_with(hand_in)) as Rider)
        })
        .collect();
    let mut answers = Vec::with_capacity(riders.len());
    // All board before any load begins, so that one load is for all of them.
    poll_fn(|cx| {
        poll_all(&mut riders, &mut answers, cx);
        Poll::Ready(())
    })
    .await;
    begin_gathered(&gathered, &mut lead).await;
    for (id, mut rider) in riders {
        loop {
            let polled = poll_fn(|cx| match rider.as_mut().poll(cx) {
                Poll::Ready(answer) => Poll::Ready(Some(answer)),
                // It was left to lead anew.
                Poll::Pending if !gathered.lock().unwrap_or_else(PoisonError::into_inner).is_empty() => {
                    Poll::Ready(None)
                }
                Poll::Pending => Poll::Pending,
            });
            if let Some(answer) = polled.await {
                answers.push((id, answer));
                break;
            }
            begin_gathered(&gathered, &mut lead).await;
        }
    }
    answers
}

fn poll_all<I>(riders: &mut Vec<(I, Rider)>, answers: &mut Vec<(I, Answer)>, cx: &mut Context<'_>) {
    let mut waiting = Vec::with_capacity(riders.len());
    for (id, mut rider) in riders.drain(..) {
        match rider.as_mut().poll(cx) {
            Poll::Ready(answer) => answers.push((id, answer)),
            Poll::Pending => waiting.push((id, rider)),
        }
    }
    *riders = waiting;
}

/// Begins the load of all jobs that are in.
async fn begin_gathered<I, L, B>(gathered: &Gathered<I>, lead: &mut L)
where
    L: FnMut(Members<I>) -> (Started<B>, Vec<Arc<Flight>>),
    B: Future<Output = ()> + Unpin,
{
    let members = std::mem::take(&mut *gathered.lock().unwrap_or_else(PoisonError::into_inner));
    // Nobody waits for what is refreshed, and those who miss are not to wait for it either.
    let (refreshes, misses): (Vec<_>, Vec<_>) = members.into_iter().partition(|(_, job)| job.flight().is_refresh());
    begin_load(misses, lead).await;
    begin_load(refreshes, lead).await;
}

async fn begin_load<I, L, B>(members: Vec<(I, Job)>, lead: &mut L)
where
    L: FnMut(Members<I>) -> (Started<B>, Vec<Arc<Flight>>),
    B: Future<Output = ()> + Unpin,
{
    let Some((_, first)) = members.first() else { return };
    let load = first.flight().load();
    members.iter().skip(1).for_each(|(_, job)| job.flight().join_load(load.clone()));
    let (started, flights) = lead(Members(members));
    match started {
        Started::Task(task) => {
            let task = LoadTask::new(task, flights.len());
            for flight in flights {
                flight.set_task(task.clone());
            }
        }
        Started::Here(load) => load.await,
    }
}
