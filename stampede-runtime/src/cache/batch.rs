//! Batches: one load for many keys, each with an entry and a flight of its own.
//!
//! Every key rides by itself, and so joins, waits, and is told what a single call would be told. Only the loads are
//! gathered: whoever would lead hands its job in, and all jobs that are in by the time all keys have boarded are one load.

use super::{
    Flight, Key,
    begin::Call,
    land::Failed,
    load::{Job, until_landed},
    ride::Started,
};
use crate::{
    clock::Now,
    context::{Loading, Reason, Tag},
    flight::LoadTask,
    outcome::Outcome,
};
use std::{
    future::poll_fn,
    hash::Hash,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

/// The flights that one load is for, each with the id that it was asked for by. Dropped before the end, all of them are
/// abandoned.
pub(crate) struct Members<I, K: Key, O: Outcome>(Vec<(I, Job<K, O>)>);

impl<I, K, O, U> Members<I, K, O>
where
    I: Hash + Eq + Clone,
    K: Key,
    O: Outcome<Value = Option<U>>,
{
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
    pub(crate) async fn run<F, P>(self, load: Option<F>, open: fn(F::Output) -> Result<P, O::Error>)
    where
        F: Future,
        P: IntoIterator<Item = (I, U)>,
    {
        let (Some(load), Some((_, first))) = (load, self.0.first()) else { return };
        let permit = first.permit().await;
        self.0.iter().for_each(|(_, job)| job.watch());
        first.count_load();
        let started = Now::read();
        let flights: Arc<[_]> = self.0.iter().map(|(_, job)| Arc::clone(job.flight())).collect();
        let landed = || self.0.iter().all(|(_, job)| job.flight().landing().is_some());
        let load = first.within(load, Some(Arc::new(Together::<O>(flights))));
        let answer = until_landed(landed, load).await;
        drop(permit);
        match answer {
            // The deadline came first: the load has been dropped.
            None => {}
            Some(Ok(answer)) => {
                first.note_time(started);
                match catch_unwind(AssertUnwindSafe(|| open(answer).map(|pairs| pairs.into_iter().collect()))) {
                    Ok(Ok(values)) => first.span().in_scope(|| self.settle(values)),
                    Ok(Err(error)) => self.fail(&first.blame(error)),
                    Err(payload) => self.fail(&Failed::panicked(payload)),
                }
            }
            Some(Err(payload)) => self.fail(&Failed::panicked(payload)),
        }
    }

    /// What the load did not return is a `None`.
    fn settle(&self, mut values: std::collections::HashMap<I, U>) {
        for (id, job) in &self.0 {
            job.settle(Ok(values.remove(id)));
        }
    }

    fn fail(&self, failed: &Failed<O::Failure>) {
        self.0.iter().for_each(|(_, job)| job.fail(failed.clone()));
    }

    /// The task that the load runs in.
    pub(crate) fn flights(&self) -> Vec<Arc<Flight<O>>> {
        self.0.iter().map(|(_, job)| Arc::clone(job.flight())).collect()
    }
}

/// Many flights of one load, as the load sees them.
struct Together<O: Outcome>(Arc<[Arc<Flight<O>>]>);

impl<O: Outcome> Loading for Together<O> {
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
type Gathered<I, K, O> = Arc<Mutex<Vec<(I, Job<K, O>)>>>;

/// One key on its way.
type Rider<R> = Pin<Box<dyn Future<Output = R> + Send>>;

/// Rides for many keys. `lead` makes one load of those that lead, and starts it.
pub(crate) async fn ride_batch<I, K, O, L, B>(calls: Vec<(I, Call<K, O>)>, mut lead: L) -> Vec<(I, O::Return)>
where
    I: Clone + Send + 'static,
    K: Key,
    O: Outcome<Return: Send>,
    L: FnMut(Members<I, K, O>) -> (Started<B>, Vec<Arc<Flight<O>>>),
    B: Future<Output = ()> + Unpin,
{
    let gathered: Gathered<I, K, O> = Arc::default();
    let mut riders: Vec<(I, Rider<O::Return>)> = calls
        .into_iter()
        .map(|(id, call)| {
            let (gathered, as_member) = (Arc::clone(&gathered), id.clone());
            let hand_in = move |job| {
                gathered.lock().unwrap_or_else(PoisonError::into_inner).push((as_member.clone(), job));
            };
            (id, Box::pin(call.ride().go_with(hand_in)) as Rider<O::Return>)
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

fn poll_all<I, R>(riders: &mut Vec<(I, Rider<R>)>, answers: &mut Vec<(I, R)>, cx: &mut Context<'_>) {
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
async fn begin_gathered<I, K, O, L, B>(gathered: &Gathered<I, K, O>, lead: &mut L)
where
    K: Key,
    O: Outcome,
    L: FnMut(Members<I, K, O>) -> (Started<B>, Vec<Arc<Flight<O>>>),
    B: Future<Output = ()> + Unpin,
{
    let members = std::mem::take(&mut *gathered.lock().unwrap_or_else(PoisonError::into_inner));
    // Nobody waits for what is refreshed, and those who miss are not to wait for it either.
    let (refreshes, misses): (Vec<_>, Vec<_>) = members.into_iter().partition(|(_, job)| job.flight().is_refresh());
    begin_load(misses, lead).await;
    begin_load(refreshes, lead).await;
}

async fn begin_load<I, K, O, L, B>(members: Vec<(I, Job<K, O>)>, lead: &mut L)
where
    K: Key,
    O: Outcome,
    L: FnMut(Members<I, K, O>) -> (Started<B>, Vec<Arc<Flight<O>>>),
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
