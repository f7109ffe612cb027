//! Keyed singleflight: one load of a key, and everybody who waits for it.
//!
//! 1. Every load that may store is in its cache's table from before it starts until it has landed.
//! 2. A flight lands once; its landing is set after it has left the table, and never changes.
//! 3. Numbers rise with every flight. A key's `floor` rises with every invalidation and store: a flight below the floor
//!    stores nothing, and whoever comes later does not get its answer. The floor lives as long as a flight that could
//!    be below it.
//! 4. One flight of a key at most is superseded and still running (those that were overdue apart). Who would need one
//!    more waits for the current flight to land first.
//! 5. All of this is read and changed under the lock of the key's stripe, which [`Locked`] stands for.
//!
//! Architecture invariant: nothing here knows a cache, an entry's state or a store.

mod cycle;
mod landing;
mod table;

use crate::{
    clock::Now,
    context::{self, Load, Loading, Reason, Tag},
    erased::SharedKey,
    timekeeper,
    urgency::Urgency,
};
pub(crate) use landing::{Failure, Landing, Panic};
use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
    task::Poll,
    time::Duration,
};
pub(crate) use table::{Flights, Locked, Role};
use tokio::sync::Notify;

/// The number of the next flight of the process.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The number that the next flight will have, or a later one: what began before has a lower one.
pub(crate) fn next_number() -> u64 {
    NEXT.load(Acquire)
}

/// The number of an event: above those of all flights before it, and of those who came before it.
pub(crate) fn bump_number() -> u64 {
    NEXT.fetch_add(1, AcqRel)
}

/// One load in progress.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) number: u64,
    pub(crate) hash: u64,
    pub(crate) key: SharedKey,
    pub(crate) name: Arc<str>,
    pub(crate) started: Now,
    /// The load that it shares with the first of many flights.
    joined: OnceLock<Load>,
    /// Why it was begun.
    reason: Reason,
    /// What its load said about itself, and the tags of the attribute.
    notes: Mutex<Notes>,
    /// A tag of it was invalidated at this number, before it was known; `NEVER_TAINTED`: none was.
    tainted: AtomicU64,
    landing: OnceLock<Landing>,
    /// Somebody is about to set the landing.
    claimed: AtomicBool,
    bell: Notify,
    /// Nobody waits for it: it replaces a value that is still served. A caller who joins makes it a miss.
    refresh: AtomicBool,
    /// `soft_timeout` has passed.
    soft: AtomicBool,
    /// `lead_after` has passed.
    overdue: AtomicBool,
    /// The entry was expired while it ran.
    expired: AtomicBool,
    /// Callers who wait, as far as `run = "cancellable"` counts them.
    callers: AtomicUsize,
    task: OnceLock<LoadTask>,
    watch: Mutex<Option<Watch>>,
    urgency: Arc<Urgency>,
}

/// What a load says about itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) tags: Vec<Tag>,
    /// The upper bound of the value's lifetime.
    pub(crate) ttl: Option<Duration>,
}

const NEVER_TAINTED: u64 = u64::MAX;

/// The task of a load, which may be one load for many flights. Aborted when all of them have asked for it.
#[derive(Clone, Debug)]
pub(crate) struct LoadTask {
    handle: tokio::task::AbortHandle,
    flights: Arc<AtomicUsize>,
}

impl LoadTask {
    pub(crate) fn new(handle: tokio::task::AbortHandle, flights: usize) -> Self {
        Self { handle, flights: Arc::new(AtomicUsize::new(flights)) }
    }

    fn abort(&self) {
        if self.flights.fetch_sub(1, AcqRel) == 1 {
            self.handle.abort();
        }
    }
}

/// What rings the flight's deadlines; ended with the flight.
#[derive(Debug)]
pub(crate) enum Watch {
    /// A moment of the timekeeper, and what keeps its target alive.
    Moment(timekeeper::Moment, Target),
    /// A task on a paused clock.
    Task(tokio::task::AbortHandle),
}

/// Keeps what is due alive.
pub(crate) struct Target {
    _due: Arc<dyn timekeeper::Due>,
}

impl Target {
    pub(crate) fn new(due: Arc<dyn timekeeper::Due>) -> Self {
        Self { _due: due }
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Target")
    }
}

impl Watch {
    fn end(self) {
        match self {
            Self::Moment(moment, target) => {
                timekeeper::cancel(moment);
                drop(target);
            }
            Self::Task(task) => task.abort(),
        }
    }
}

/// The duty to set a landing. Dropped without one (code of the user's has panicked), the flight is abandoned.
#[derive(Debug)]
pub(crate) struct Claim<'a>(&'a Flight);

impl Claim<'_> {
    /// Sets the landing and wakes everybody.
    pub(crate) fn land(self, landing: Landing) {
        self.0.land(landing);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if self.0.landing().is_none() {
            self.0.land(Landing::Failed(Failure::Abandoned));
        }
    }
}

/// Why waiting ended.
pub(crate) enum Waited<'a> {
    Landed(&'a Landing),
    /// `soft_timeout` has passed: an old value will do.
    Soft,
    /// `lead_after` has passed: one may lead anew.
    Overdue,
}

/// What ends a wait besides the landing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Whether to leave when `soft_timeout` has passed.
    pub(crate) soft: bool,
    /// Whether to leave when `lead_after` has passed.
    pub(crate) overdue: bool,
}

impl Loading for Flight {
    fn flight(&self) -> u64 {
        self.number
    }

    fn hash(&self) -> u64 {
        self.hash
    }

    fn reason(&self) -> Reason {
        self.reason
    }

    fn set_ttl(&self, ttl: Duration) {
        let mut notes = self.notes();
        notes.ttl = Some(notes.ttl.map_or(ttl, |other| other.min(ttl)));
    }

    fn add_tag(&self, tag: Tag) {
        self.notes().tags.push(tag);
    }

    fn taint(&self, number: u64) {
        self.tainted.fetch_min(number, AcqRel);
    }

    fn each(&self, visit: &mut dyn FnMut(&dyn Loading)) {
        visit(self);
    }
}

impl Flight {
    pub(crate) fn new(hash: u64, key: SharedKey, name: Arc<str>, started: Now, reason: Reason, tags: Vec<Tag>) -> Self {
        let number = NEXT.fetch_add(1, AcqRel);
        Self {
            number,
            joined: OnceLock::new(),
            hash,
            key,
            name,
            started,
            reason,
            notes: Mutex::new(Notes { tags, ttl: None }),
            tainted: AtomicU64::new(NEVER_TAINTED),
            landing: OnceLock::new(),
            claimed: AtomicBool::new(false),
            bell: Notify::new(),
            refresh: AtomicBool::new(reason == Reason::Refresh),
            soft: AtomicBool::new(false),
            overdue: AtomicBool::new(false),
            expired: AtomicBool::new(false),
            callers: AtomicUsize::new(0),
            task: OnceLock::new(),
            watch: Mutex::new(None),
            urgency: Arc::default(),
        }
    }

    /// The flight's load, as what runs in it and who waits for it know it.
    pub(crate) fn load(&self) -> Load {
        let own = || Load { flight: self.number, name: Arc::clone(&self.name), urgency: Arc::clone(&self.urgency) };
        self.joined.get().cloned().unwrap_or_else(own)
    }

    /// Another flight's load is this one's too.
    pub(crate) fn join_load(&self, load: Load) {
        let _ = self.joined.set(load);
    }

    /// Whether it was asked for with mode `Refresh`.
    fn is_forced(&self) -> bool {
        self.reason == Reason::Forced
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the load has said about itself. The flight keeps it: its tags may be invalidated until it has landed.
    pub(crate) fn read_notes(&self) -> Notes {
        self.notes().clone()
    }

    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        self.notes().tags.iter().any(|other| other == tag)
    }

    /// Whether a caller who came at `number` must not get its answer.
    pub(crate) fn is_tainted_for(&self, number: u64) -> bool {
        self.tainted.load(Acquire) < number
    }

    pub(crate) fn landing(&self) -> Option<&Landing> {
        self.landing.get()
    }

    /// Sets the landing and wakes everybody.
    pub(crate) fn land(&self, landing: Landing) {
        let _ = self.landing.set(landing);
        self.end_watch();
        self.bell.notify_waiters();
    }

    /// One caller more waits.
    pub(crate) fn join(&self) {
        self.callers.fetch_add(1, AcqRel);
    }

    /// One caller fewer waits. `true` if it was the last one and the flight has not landed.
    pub(crate) fn leave(&self) -> bool {
        self.callers.fetch_sub(1, AcqRel) == 1 && self.landing().is_none()
    }

    /// Whether its load is of no use to anybody: not a refresh, which never is given up.
    pub(crate) fn serves_nobody(&self) -> bool {
        self.callers.load(Relaxed) == 0 && !self.is_refresh() && self.landing().is_none()
    }

    /// Somebody has left with an old value: the load goes on, whoever else gives up.
    pub(crate) fn keep_going(&self) {
        self.callers.fetch_add(1, AcqRel);
    }

    /// The right and the duty to set the landing, given once: to whoever ends the flight first.
    pub(crate) fn claim_landing(&self) -> Option<Claim<'_>> {
        (!self.claimed.swap(true, AcqRel)).then(|| Claim(self))
    }

    pub(crate) fn is_refresh(&self) -> bool {
        self.refresh.load(Relaxed)
    }

    pub(crate) fn is_overdue(&self) -> bool {
        self.overdue.load(Acquire)
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.expired.load(Relaxed)
    }

    pub(crate) fn pass_soft(&self) {
        self.soft.store(true, Release);
        self.bell.notify_waiters();
    }

    pub(crate) fn pass_overdue(&self) {
        self.overdue.store(true, Release);
        self.bell.notify_waiters();
    }

    /// The task that the load runs in.
    pub(crate) fn set_task(&self, task: LoadTask) {
        // One that was given up before its task was known.
        if self.landing().is_some() {
            task.abort();
        }
        let _ = self.task.set(task);
    }

    /// Drops the load, if it has a task of its own.
    pub(crate) fn abort(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    pub(crate) fn set_watch(&self, watch: Watch) {
        let before = self.watch.lock().unwrap_or_else(PoisonError::into_inner).replace(watch);
        if let Some(before) = before {
            before.end();
        }
        if self.landing().is_some() {
            self.end_watch();
        }
    }

    fn end_watch(&self) {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(watch) = watch {
            watch.end();
        }
    }

    /// Waits for the landing, or as long as `patience` goes.
    ///
    /// # Panics
    ///
    /// If the flight waits, through whatever other loads, for the load that this is called from.
    pub(crate) async fn wait(&self, patience: Patience) -> Waited<'_> {
        let mut edge = cycle::Edge::default();
        loop {
            let mut bell = pin!(self.bell.notified());
            bell.as_mut().enable();
            if let Some(waited) = self.over(patience) {
                return waited;
            }
            poll_fn(|cx| match bell.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => {
                    self.note_edge(&mut edge);
                    Poll::Pending
                }
            })
            .await;
        }
    }

    fn over(&self, patience: Patience) -> Option<Waited<'_>> {
        if let Some(landing) = self.landing() {
            Some(Waited::Landed(landing))
        } else if patience.soft && self.soft.load(Acquire) {
            Some(Waited::Soft)
        } else if patience.overdue && self.is_overdue() {
            Some(Waited::Overdue)
        } else {
            None
        }
    }

    fn note_edge(&self, edge: &mut cycle::Edge) {
        let Some(load) = context::load() else { return };
        if let Err(chain) = edge.set(&load, &self.load()) {
            crate::events::self_deadlock(&chain);
            panic!("a cached function waits for itself and would wait for ever: {chain}");
        }
    }
}

#[cfg(test)]
mod tests;
