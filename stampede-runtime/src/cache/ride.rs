//! A call that memory could not answer, or not without asking for a refresh.

use super::{
    Core, Flight, Key, Stored,
    begin::{Call, Purpose, Seat, how},
    load::Job,
    look::Demand,
};
use crate::{
    clock::{Clock, Nanos, Now},
    context::{Context, Held, Inside, Reason, Tag},
    error::SharedError,
    flight::{Failure, Landing, LoadTask, Patience, Role, Waited, next_number},
    observe::{How, Served, StaleReason},
    outcome::Outcome,
    policy::Run,
    stats::count,
};
use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::{Pin, pin},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::Poll,
    time::Duration,
};
use tokio::task::AbortHandle;

/// A load as a task of its own can run it.
pub(crate) type BoxedLoad = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a load was started.
pub(crate) enum Started<B> {
    /// In a task of its own.
    Task(AbortHandle),
    /// Not yet: the caller is to run it.
    Here(B),
}

/// A flight that a call leads, and its load to run.
type Led<K, O> = (Job<K, O>, Arc<Flight<O>>);

impl<K: Key, O: Outcome> Call<K, O> {
    /// The tags of the entry that the load will make, from the user's expression: if it panics, so does a call that needs
    /// the load, and a call that has its answer begins no refresh.
    pub(crate) fn tag(&mut self, tags: impl FnOnce() -> Vec<Tag>) {
        match (catch_unwind(AssertUnwindSafe(tags)), &self.purpose) {
            (Ok(tags), _) => self.tags.extend(tags),
            (Err(_), Purpose::Refresh { .. }) => self.seat.pause(),
            (Err(panic), _) => resume_unwind(panic),
        }
    }

    /// Sets out for the answer.
    pub(crate) fn ride(self) -> Ride<K, O> {
        let Self { seat, purpose, outcome, demand, tags, context } = self;
        let (since, way) = match purpose {
            Purpose::Tell(missed) => (None, Way::Tell(missed)),
            Purpose::Refresh { ready } => (None, Way::Refresh(ready)),
            Purpose::Bypass => (None, Way::Load),
            Purpose::Load { since } => (Some(since), Way::Load),
        };
        Ride { seat, outcome, demand, tags, context, since, came: 0, leads: false, can_lead: true, way, here: None }
    }
}

impl<K: Key, O: Outcome> Seat<K, O> {
    /// The refresh that was asked for can't begin, nor can another for a while.
    fn pause(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.pause(self.hash, &self.key);
            self.elected = false;
        }
    }

    /// Registers the refresh, unless it has become needless.
    fn board_refresh(&mut self, context: &Context, tags: &[Tag]) -> Option<Led<K, O>> {
        if !self.elected {
            return None;
        }
        let core = self.core.upgrade()?;
        let now = Now::read();
        let mut locked = core.flights.lock(self.hash);
        if core.is_fresh(self.hash, &|key| *key == self.key) {
            return None;
        }
        let mut new =
            || Arc::new(Flight::<O>::new(self.hash, Arc::clone(&core.name), now, Reason::Refresh, tags.to_vec()));
        let flight = locked.board_refresh(&self.key, self.hash, &mut new);
        drop(locked);
        // From here on the end of a flight clears the mark.
        self.elected = false;
        let (flight, anew) = flight?;
        count(&core.counters.refreshes);
        if anew {
            count(&core.counters.direct);
        }
        let inside = Inside { flight: Arc::<Flight<O>>::clone(&flight), cache: core.held() };
        let (load, inside) = (Some(flight.load()), Some(inside));
        let context = Context { scope: context.scope.clone(), load, inside, ..Context::default() };
        Some((Job::new(&core, Arc::clone(&flight), context), flight))
    }
}

/// What the caller of a refresh gets who has waited for it.
fn refreshed<O: Outcome>(flight: &Flight<O>, ready: Stored<O>) -> Stored<O> {
    match flight.landing() {
        Some(Landing::Value(value)) => Ok(value.clone()),
        // The refresh failed; its error is hidden by what there is.
        Some(Landing::Kept { .. } | Landing::Failed(Failure::Abandoned)) | None => ready,
        Some(Landing::Failed(Failure::Error(failure))) => Err(failure.clone()),
        Some(Landing::Failed(Failure::Panicked(panic))) => panic.resume(),
    }
}

/// How long ago it was that time on that clock.
fn age(stored: Nanos, clock: Clock) -> Nanos {
    Now::for_entry(clock).map_or(0, |now| now.at.saturating_sub(stored))
}

/// A call on its way to an answer.
pub(crate) struct Ride<K: Key, O: Outcome> {
    seat: Seat<K, O>,
    outcome: O,
    demand: Demand,
    tags: Vec<Tag>,
    context: Context,
    /// `None`: for itself alone.
    since: Option<u64>,
    /// The number at which the caller came to the flight that it waits for.
    came: u64,
    /// Whether it leads that flight.
    leads: bool,
    /// Whether it still has the means to lead, which are used once.
    can_lead: bool,
    way: Way<K, O>,
    /// A load that could not be started anywhere else.
    here: Option<BoxedLoad>,
}

/// Where a ride goes on.
enum Way<K: Key, O: Outcome> {
    Tell(Arc<AtomicBool>),
    Refresh(Stored<O>),
    /// Its refresh has been handed out. `here`: to be run by this caller.
    Refreshing {
        flight: Arc<Flight<O>>,
        ready: Stored<O>,
        here: bool,
    },
    Load,
    /// Its load has been handed out.
    Led(Interest<K, O>),
}

/// How far a ride has come.
#[expect(clippy::large_enum_variant, reason = "moved once in a miss, where a box would cost more")]
pub(crate) enum Step<K: Key, O: Outcome> {
    /// The call has its answer.
    Answer(O::Return),
    /// It leads: the load is to be started before the ride goes on.
    Lead(Job<K, O>, Ride<K, O>),
}

/// What a call does next.
enum Next<K: Key, O: Outcome> {
    Take(Stored<O>),
    Lead(Job<K, O>, Arc<Flight<O>>),
    Follow(Arc<Flight<O>>),
    Await(Arc<Flight<O>>),
    Stranded,
}

/// A caller who waits; with `run = "cancellable"`, the last one's end is the load's.
struct Interest<K: Key, O: Outcome> {
    core: Weak<Core<K, O>>,
    flight: Arc<Flight<O>>,
}

impl<K: Key, O: Outcome> Drop for Interest<K, O> {
    fn drop(&mut self) {
        if !self.flight.leave() {
            return;
        }
        if let Some(core) = self.core.upgrade() {
            if core.policy.run() == Run::Cancellable {
                core.give_up(&self.flight);
            }
        }
    }
}

impl<K: Key, O: Outcome> Ride<K, O> {
    /// Rides until there is an answer, or a load to start. It gives out no load twice.
    pub(crate) async fn go(mut self) -> Step<K, O> {
        if let Some(load) = self.here.take() {
            self.run_here(load).await;
        }
        match std::mem::replace(&mut self.way, Way::Load) {
            Way::Tell(missed) => {
                missed.store(true, Relaxed);
                return std::future::pending().await;
            }
            Way::Refresh(ready) => {
                let Some((job, flight)) = self.seat.board_refresh(&self.context, &self.tags) else {
                    return Step::Answer(self.outcome.close(ready));
                };
                self.way = Way::Refreshing { flight, ready, here: false };
                return Step::Lead(job, self);
            }
            Way::Refreshing { flight, ready, here: true } => {
                return Step::Answer(self.outcome.close(refreshed::<O>(&flight, ready)));
            }
            Way::Refreshing { ready, here: false, .. } => return Step::Answer(self.outcome.close(ready)),
            Way::Load => {}
            Way::Led(interest) => {
                if let Some(answer) = self.wait(interest).await {
                    return Step::Answer(answer);
                }
            }
        }
        loop {
            let flight = match self.board() {
                Next::Take(value) => return Step::Answer(self.outcome.close(value)),
                Next::Stranded => return Step::Answer(self.strand()),
                Next::Lead(job, flight) => {
                    (self.leads, self.can_lead) = (true, false);
                    self.way = Way::Led(self.interest(flight));
                    return Step::Lead(job, self);
                }
                Next::Await(flight) => {
                    flight.wait(Patience { soft: false, overdue: self.can_lead }).await;
                    continue;
                }
                Next::Follow(flight) => flight,
            };
            self.leads = false;
            if let Some(answer) = self.wait(self.interest(flight)).await {
                return Step::Answer(answer);
            }
        }
    }

    /// Rides to the answer. `lead` starts the load.
    pub(crate) async fn go_with(self, mut lead: impl FnMut(Job<K, O>)) -> O::Return {
        let mut ride = self;
        loop {
            match ride.go().await {
                Step::Answer(answer) => return answer,
                Step::Lead(job, led) => {
                    lead(job);
                    ride = led;
                }
            }
        }
    }

    /// The load that was handed out has been started.
    pub(crate) fn started(&mut self, load: Started<BoxedLoad>) {
        match load {
            Started::Task(task) => {
                if let Some(flight) = self.led() {
                    flight.set_task(LoadTask::new(task, 1));
                }
            }
            Started::Here(load) => self.here = Some(load),
        }
    }

    /// The flight whose load was handed out.
    fn led(&self) -> Option<&Arc<Flight<O>>> {
        match &self.way {
            Way::Refreshing { flight, .. } => Some(flight),
            Way::Led(interest) => Some(&interest.flight),
            Way::Tell(_) | Way::Refresh(_) | Way::Load => None,
        }
    }

    /// Runs the load that was handed out, until it ends or its flight lands without it.
    pub(crate) async fn run_here<B: Future<Output = ()> + Unpin>(&mut self, mut load: B) {
        if let Way::Refreshing { here, .. } = &mut self.way {
            *here = true;
        }
        let Some(flight) = self.led() else { return };
        let mut landed = pin!(flight.wait(Patience { soft: false, overdue: false }));
        poll_fn(|cx| {
            if landed.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            Pin::new(&mut load).poll(cx)
        })
        .await;
    }

    fn interest(&self, flight: Arc<Flight<O>>) -> Interest<K, O> {
        Interest { core: Weak::clone(&self.seat.core), flight }
    }

    fn board(&mut self) -> Next<K, O> {
        let (can_lead, now) = (self.can_lead, Now::read());
        let Some(core) = self.seat.core.upgrade() else { return self.alone(now) };
        let Some(since) = self.since else {
            let flight = Arc::new(self.flight(&core.name, now));
            flight.join();
            return if can_lead { self.lead(&core, flight) } else { Next::Stranded };
        };
        let (hash, key) = (self.seat.hash, &self.seat.key);
        let mut locked = core.flights.lock(hash);
        self.came = next_number();
        // A flight may have landed since memory was asked.
        if since == 0 {
            let found = core.look_again(hash, &|other| other == key, self.demand.without_refresh());
            if let Some(found) = found {
                self.tell(how(found.freshness), found.age);
                return Next::Take(found.value);
            }
        }
        let role = locked.board(key, hash, since, can_lead, &mut || Arc::new(self.flight(&core.name, now)));
        drop(locked);
        match role {
            Role::Lead { flight, anew } => {
                if anew {
                    count(&core.counters.direct);
                }
                self.lead(&core, flight)
            }
            Role::Follow(flight) => {
                count(&core.counters.coalesced);
                Next::Follow(flight)
            }
            Role::Await(flight) => Next::Await(flight),
            Role::Stranded => Next::Stranded,
        }
    }

    fn lead(&self, core: &Core<K, O>, flight: Arc<Flight<O>>) -> Next<K, O> {
        Next::Lead(Job::new(core, Arc::clone(&flight), self.load_context(&flight)), flight)
    }

    fn flight(&self, name: &Arc<str>, now: Now) -> Flight<O> {
        let reason = if self.since == Some(0) { Reason::Miss } else { Reason::Forced };
        Flight::<O>::new(self.seat.hash, Arc::clone(name), now, reason, self.tags.clone())
    }

    /// The cache is gone with its scope: the load is run for this caller alone.
    fn alone(&self, now: Now) -> Next<K, O> {
        if !self.can_lead {
            return Next::Stranded;
        }
        let flight = Arc::new(self.flight(&Arc::from("a dropped cache"), now));
        Next::Lead(Job::without_cache(Arc::clone(&flight), self.outcome, self.load_context(&flight)), flight)
    }

    fn load_context(&self, flight: &Arc<Flight<O>>) -> Context {
        let cache: Weak<dyn Held> = self.seat.core.clone();
        let inside = Inside { flight: Arc::<Flight<O>>::clone(flight), cache };
        let mode = self.context.mode.through_a_load();
        let (load, inside) = (Some(flight.load()), Some(inside));
        Context { scope: self.context.scope.clone(), mode, observer: None, load, inside }
    }

    async fn wait(&mut self, interest: Interest<K, O>) -> Option<O::Return> {
        let mut patience = Patience { soft: true, overdue: self.can_lead };
        loop {
            match interest.flight.wait(patience).await {
                Waited::Landed(_) if interest.flight.is_tainted_for(self.came) => return None,
                Waited::Landed(landing) => return self.answer(landing),
                Waited::Overdue => return None,
                Waited::Soft => match self.old() {
                    Some(value) => {
                        interest.flight.keep_going();
                        return Some(self.outcome.close(Ok(value)));
                    }
                    None => patience.soft = false,
                },
            }
        }
    }

    /// The old value that a caller may leave with after `soft_timeout`.
    fn old(&self) -> Option<O::Value> {
        let core = self.seat.core.upgrade()?;
        let old = core.old(self.seat.hash, &|key| *key == self.seat.key)?;
        let accepted = self.demand.accepts(old.stored, old.clock) && self.since == Some(0);
        accepted.then(|| {
            count(&core.counters.served_on_error);
            self.tell(How::Stale(StaleReason::SlowLoad), age(old.stored, old.clock));
            old.value
        })
    }

    /// What a landing means for this caller. `None`: the flight was abandoned and is led anew.
    fn answer(&self, landing: &Landing<O::Value, O::Failure>) -> Option<O::Return> {
        let loaded = if self.leads { How::Loaded } else { How::Joined };
        let failure = match landing {
            Landing::Value(value) => {
                self.tell(loaded, 0);
                return Some(self.outcome.close(Ok(value.clone())));
            }
            Landing::Kept { value, stored, clock, .. } if self.demand.accepts(*stored, *clock) => {
                if let Some(core) = self.seat.core.upgrade() {
                    count(&core.counters.served_on_error);
                }
                self.tell(How::Stale(StaleReason::LoadFailed), age(*stored, *clock));
                return Some(self.outcome.close(Ok(value.clone())));
            }
            Landing::Kept { cause, .. } | Landing::Failed(cause) => cause,
        };
        match failure {
            Failure::Error(failure) => {
                self.tell(loaded, 0);
                Some(self.outcome.close(Err(failure.clone())))
            }
            Failure::Panicked(panic) => panic.resume(),
            Failure::Abandoned => None,
        }
    }

    /// Tells who observes how the call was answered.
    fn tell(&self, how: How, age: Nanos) {
        if let (Some(observer), Some(core)) = (&self.context.observer, self.seat.core.upgrade()) {
            observer.tell(Served::new(&core.name, how, Duration::from_nanos(age)));
        }
    }

    /// The load was lost, its arguments with it, and nobody else leads: its runtime was shut down under the caller.
    fn strand(&self) -> O::Return {
        let lost = SharedError::lost();
        let message = lost.to_string();
        match self.outcome.give_up(lost) {
            Some(failure) => self.outcome.close(Err(failure)),
            None => panic!("{message}"),
        }
    }
}

impl<K: Key, O: Outcome> Core<K, O> {
    /// Drops the load of a flight that nobody waits for.
    fn give_up(&self, flight: &Arc<Flight<O>>) {
        // Under the lock, where callers join.
        let locked = self.flights.lock(flight.hash);
        let alone = flight.serves_nobody();
        drop(locked);
        if alone {
            self.land_failure(flight, super::land::Failed::unwanted());
            flight.abort();
        }
    }
}
