//! A call that memory could not answer, or not without asking for a refresh.

use super::{
    AnyCore, Me,
    begin::{Call, Purpose, Seat, how},
    load::Job,
    look::Demand,
};
use crate::{
    clock::{Clock, Nanos, Now},
    context::{Context, Held, Inside, Reason, Tag},
    erased::{AnyValue, Stored},
    flight::{Failure, Flight, Landing, LoadTask, Patience, Role, Waited, next_number},
    observe::{How, Served, StaleReason},
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
type Led = (Job, Arc<Flight>);

impl Call {
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
    pub(crate) fn ride(self) -> Box<Ride> {
        let Self { seat, purpose, demand, tags, context } = self;
        let (since, way) = match purpose {
            Purpose::Tell(missed) => (None, Way::Tell(missed)),
            Purpose::Refresh { ready } => (None, Way::Refresh(ready)),
            Purpose::Bypass => (None, Way::Load),
            Purpose::Load { since } => (Some(since), Way::Load),
        };
        Box::new(Ride { seat, demand, tags, context, since, came: 0, leads: false, can_lead: true, way, here: None })
    }
}

impl Seat {
    /// The refresh that was asked for can't begin, nor can another for a while.
    fn pause(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.pause(self.hash, &super::is(&self.key));
            self.elected = false;
        }
    }

    /// Registers the refresh, unless it has become needless.
    fn board_refresh(&mut self, context: &Context, tags: &[Tag]) -> Option<Led> {
        if !self.elected {
            return None;
        }
        let core = self.core.upgrade()?;
        let now = Now::read();
        let mut locked = core.flights.lock(self.hash);
        if core.is_fresh(self.hash, &super::is(&self.key)) {
            return None;
        }
        let mut new = || {
            Arc::new(Flight::new(
                self.hash,
                Arc::clone(&self.key),
                Arc::clone(&core.name),
                now,
                Reason::Refresh,
                tags.to_vec(),
            ))
        };
        let flight = locked.board_refresh(&self.key, self.hash, &mut new);
        drop(locked);
        // From here on the end of a flight clears the mark.
        self.elected = false;
        let (flight, anew) = flight?;
        count(&core.counters.refreshes);
        if anew {
            count(&core.counters.direct);
        }
        let inside = Inside { flight: Arc::<Flight>::clone(&flight), cache: core.held() };
        let (load, inside) = (Some(flight.load()), Some(inside));
        let context = Context { scope: context.scope.clone(), load, inside, ..Context::default() };
        Some((Job::new(&core, Arc::clone(&flight), context), flight))
    }
}

/// What the caller of a refresh gets who has waited for it.
fn refreshed(flight: &Flight, ready: Stored) -> Stored {
    match flight.landing() {
        Some(Landing::Value(value)) => Ok(Arc::clone(value)),
        // The refresh failed; its error is hidden by what there is.
        Some(Landing::Kept { .. } | Landing::Failed(Failure::Abandoned)) | None => ready,
        Some(Landing::Failed(Failure::Error(failure))) => Err(Arc::clone(failure)),
        Some(Landing::Failed(Failure::Panicked(panic))) => panic.resume(),
    }
}

/// How long ago it was that time on that clock.
fn age(stored: Nanos, clock: Clock) -> Nanos {
    Now::for_entry(clock).map_or(0, |now| now.at.saturating_sub(stored))
}

/// A call on its way to an answer. Boxed, as futures keep what is moved into them twice.
pub(crate) struct Ride {
    seat: Seat,
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
    way: Way,
    /// A load that could not be started anywhere else.
    here: Option<BoxedLoad>,
}

/// Where a ride goes on.
enum Way {
    Tell(Arc<AtomicBool>),
    Refresh(Stored),
    /// Its refresh has been handed out. `here`: to be run by this caller.
    Refreshing {
        flight: Arc<Flight>,
        ready: Stored,
        here: bool,
    },
    Load,
    /// Its load has been handed out.
    Led(Interest),
}

/// What a call gets.
pub(crate) enum Answer {
    Value(AnyValue),
    Error(AnyValue),
    /// The load was lost, its arguments with it, and nobody else leads: its runtime was shut down under the caller.
    Lost,
}

impl From<Stored> for Answer {
    fn from(stored: Stored) -> Self {
        match stored {
            Ok(value) => Self::Value(value),
            Err(failure) => Self::Error(failure),
        }
    }
}

/// How far a ride has come.
pub(crate) enum Step {
    /// The call has its answer.
    Answer(Answer),
    /// It leads: the load is to be started before the ride goes on.
    Lead(Job, Box<Ride>),
}

/// What a call does next.
enum Next {
    Take(Stored),
    Lead(Job, Arc<Flight>),
    Follow(Arc<Flight>),
    Await(Arc<Flight>),
    Stranded,
}

/// A caller who waits; with `run = "cancellable"`, the last one's end is the load's.
struct Interest {
    core: Weak<AnyCore>,
    flight: Arc<Flight>,
}

impl Drop for Interest {
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

impl Ride {
    /// Rides until there is an answer, or a load to start. It gives out no load twice.
    pub(crate) async fn go(mut self: Box<Self>) -> Step {
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
                    return Step::Answer(ready.into());
                };
                self.way = Way::Refreshing { flight, ready, here: false };
                return Step::Lead(job, self);
            }
            Way::Refreshing { flight, ready, here: true } => {
                return Step::Answer(refreshed(&flight, ready).into());
            }
            Way::Refreshing { ready, here: false, .. } => return Step::Answer(ready.into()),
            Way::Load => {}
            Way::Led(interest) => {
                if let Some(answer) = self.wait(interest).await {
                    return Step::Answer(answer);
                }
            }
        }
        loop {
            let flight = match self.board() {
                Next::Take(value) => return Step::Answer(value.into()),
                Next::Stranded => return Step::Answer(Answer::Lost),
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
    pub(crate) async fn go_with(self: Box<Self>, mut lead: impl FnMut(Job)) -> Answer {
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
    fn led(&self) -> Option<&Arc<Flight>> {
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

    fn interest(&self, flight: Arc<Flight>) -> Interest {
        Interest { core: Weak::clone(&self.seat.core), flight }
    }

    fn board(&mut self) -> Next {
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
            let found = core.look_again(hash, &super::is(key), self.demand.without_refresh());
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

    fn lead(&self, core: &AnyCore, flight: Arc<Flight>) -> Next {
        Next::Lead(Job::new(core, Arc::clone(&flight), self.load_context(core.held(), &flight)), flight)
    }

    fn flight(&self, name: &Arc<str>, now: Now) -> Flight {
        let reason = if self.since == Some(0) { Reason::Miss } else { Reason::Forced };
        Flight::new(self.seat.hash, Arc::clone(&self.seat.key), Arc::clone(name), now, reason, self.tags.clone())
    }

    /// The cache is gone with its scope: the load is run for this caller alone.
    fn alone(&self, now: Now) -> Next {
        if !self.can_lead {
            return Next::Stranded;
        }
        let flight = Arc::new(self.flight(&Arc::from("a dropped cache"), now));
        let context = self.load_context(Weak::<Me>::new(), &flight);
        Next::Lead(Job::without_cache(Weak::clone(&self.seat.core), Arc::clone(&flight), context), flight)
    }

    fn load_context(&self, cache: Weak<dyn Held>, flight: &Arc<Flight>) -> Context {
        let inside = Inside { flight: Arc::<Flight>::clone(flight), cache };
        let mode = self.context.mode.through_a_load();
        let (load, inside) = (Some(flight.load()), Some(inside));
        Context { scope: self.context.scope.clone(), mode, observer: None, load, inside }
    }

    async fn wait(&mut self, interest: Interest) -> Option<Answer> {
        let mut patience = Patience { soft: true, overdue: self.can_lead };
        loop {
            match interest.flight.wait(patience).await {
                Waited::Landed(_) if interest.flight.is_tainted_for(self.came) => return None,
                Waited::Landed(landing) => return self.answer(landing),
                Waited::Overdue => return None,
                Waited::Soft => match self.old() {
                    Some(value) => {
                        interest.flight.keep_going();
                        return Some(Answer::Value(value));
                    }
                    None => patience.soft = false,
                },
            }
        }
    }

    /// The old value that a caller may leave with after `soft_timeout`.
    fn old(&self) -> Option<AnyValue> {
        let core = self.seat.core.upgrade()?;
        let old = core.old(self.seat.hash, &super::is(&self.seat.key))?;
        let accepted = self.demand.accepts(old.stored, old.clock) && self.since == Some(0);
        accepted.then(|| {
            count(&core.counters.served_on_error);
            self.tell(How::Stale(StaleReason::SlowLoad), age(old.stored, old.clock));
            old.value
        })
    }

    /// What a landing means for this caller. `None`: the flight was abandoned and is led anew.
    fn answer(&self, landing: &Landing) -> Option<Answer> {
        let loaded = if self.leads { How::Loaded } else { How::Joined };
        let failure = match landing {
            Landing::Value(value) => {
                self.tell(loaded, 0);
                return Some(Answer::Value(Arc::clone(value)));
            }
            Landing::Kept { value, stored, clock, .. } if self.demand.accepts(*stored, *clock) => {
                if let Some(core) = self.seat.core.upgrade() {
                    count(&core.counters.served_on_error);
                }
                self.tell(How::Stale(StaleReason::LoadFailed), age(*stored, *clock));
                return Some(Answer::Value(Arc::clone(value)));
            }
            Landing::Kept { cause, .. } | Landing::Failed(cause) => cause,
        };
        match failure {
            Failure::Error(failure) => {
                self.tell(loaded, 0);
                Some(Answer::Error(Arc::clone(failure)))
            }
            Failure::Panicked(panic) => panic.resume(),
            Failure::Abandoned => None,
        }
    }

    /// Tells who observes how the call was answered.
    fn tell(&self, how: How, age: Nanos) {
        let Some(observer) = &self.context.observer else { return };
        if let Some(core) = self.seat.core.upgrade() {
            observer.tell(Served::new(&core.name, how, Duration::from_nanos(age)));
        }
    }
}

impl AnyCore {
    /// Drops the load of a flight that nobody waits for.
    fn give_up(&self, flight: &Arc<Flight>) {
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
