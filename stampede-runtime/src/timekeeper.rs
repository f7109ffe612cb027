//! The one thread of the process that waits for moments of real time: to sweep caches and to ring flights.
//!
//! Not tokio's timers: a cache outlives the runtime that filled it, and a load may run in a runtime without time or in
//! none. The thread begins when the first moment is set and sleeps without a deadline while none is.

use crate::clock::{NEVER, Nanos, Now};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

/// What can be due.
pub(crate) trait Due: Send + Sync {
    /// Does what is due at `now`, in a bounded step. Says when to come again.
    fn due(&self, now: Nanos) -> Option<Nanos>;
}

/// A moment that was set, by which it can be called off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    at: Nanos,
    number: u64,
}

struct Agenda {
    moments: BTreeMap<Moment, Weak<dyn Due>>,
    numbers: u64,
    running: bool,
    /// When the thread will wake by itself. A moment that comes after it needs no bell: most are called off before.
    wakes: Nanos,
}

struct Timekeeper {
    agenda: Mutex<Agenda>,
    /// Rung when a moment is set before the thread would wake.
    earlier: Condvar,
}

static TIMEKEEPER: LazyLock<Timekeeper> = LazyLock::new(|| Timekeeper {
    agenda: Mutex::new(Agenda { moments: BTreeMap::new(), numbers: 0, running: false, wakes: NEVER }),
    earlier: Condvar::new(),
});

/// Has `due` called at the real time `at`.
pub(crate) fn set(at: Nanos, due: Weak<dyn Due>) -> Moment {
    let mut agenda = TIMEKEEPER.lock();
    agenda.numbers += 1;
    let moment = Moment { at, number: agenda.numbers };
    agenda.moments.insert(moment, due);
    if !agenda.running {
        // Where no thread can be had nothing is swept until one can, and deadlines are checked by those who come by.
        let name = String::from("stampede-timekeeper");
        agenda.running = std::thread::Builder::new().name(name).spawn(|| TIMEKEEPER.keep()).is_ok();
    }
    if at < agenda.wakes {
        agenda.wakes = at;
        TIMEKEEPER.earlier.notify_one();
    }
    moment
}

/// Calls a moment off.
pub(crate) fn cancel(moment: Moment) {
    let due = TIMEKEEPER.lock().moments.remove(&moment);
    // Dropped outside of the lock: it may be the last that keeps the allocation.
    drop(due);
}

impl Timekeeper {
    fn lock(&self) -> MutexGuard<'_, Agenda> {
        self.agenda.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self) {
        loop {
            let (due, now) = self.next();
            let Some(due) = due.upgrade() else { continue };
            // A panic of a user's `Drop` must not end the sweeping of all caches.
            let later = Arc::downgrade(&due);
            if let Ok(Some(at)) = catch_unwind(AssertUnwindSafe(move || due.due(now))) {
                set(at, later);
            }
        }
    }

    /// Waits until something is due.
    fn next(&self) -> (Weak<dyn Due>, Nanos) {
        let mut agenda = self.lock();
        loop {
            let now = Now::real();
            let first = agenda.moments.first_key_value().map(|(moment, _)| *moment);
            match first.and_then(|first| if first.at <= now { agenda.moments.remove(&first) } else { None }) {
                Some(due) => return (due, now),
                None => agenda = self.sleep(agenda, first.map_or(NEVER, |first| first.at), now),
            }
        }
    }

    fn sleep<'a>(&self, mut agenda: MutexGuard<'a, Agenda>, until: Nanos, now: Nanos) -> MutexGuard<'a, Agenda> {
        agenda.wakes = until;
        if until == NEVER {
            return self.earlier.wait(agenda).unwrap_or_else(PoisonError::into_inner);
        }
        let rest = Duration::from_nanos(until - now);
        self.earlier.wait_timeout(agenda, rest).unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        panic::resume_unwind,
        sync::mpsc::{Receiver, Sender, channel},
    };

    const MILLISECOND: Nanos = 1_000_000;
    /// As good as for ever, for what should come within milliseconds.
    const LONG: Duration = Duration::from_secs(30);

    /// Says its name when it is due, and comes again as often as it is told.
    struct Bell {
        name: &'static str,
        rung: Sender<(&'static str, Nanos)>,
        again: Mutex<u32>,
    }

    impl Due for Bell {
        fn due(&self, now: Nanos) -> Option<Nanos> {
            self.rung.send((self.name, now)).unwrap();
            let mut again = self.again.lock().unwrap();
            *again = again.checked_sub(1)?;
            Some(now + MILLISECOND)
        }
    }

    /// Holds the timekeeper up until it is let go.
    struct Hold(Mutex<Receiver<()>>);

    impl Due for Hold {
        fn due(&self, _: Nanos) -> Option<Nanos> {
            let _ = self.0.lock().unwrap().recv_timeout(LONG);
            None
        }
    }

    /// Panics, without the noise.
    struct Fault;

    impl Due for Fault {
        fn due(&self, _: Nanos) -> Option<Nanos> {
            resume_unwind(Box::new("a fault of the user's"))
        }
    }

    struct Tower {
        rung: Sender<(&'static str, Nanos)>,
        heard: Receiver<(&'static str, Nanos)>,
        bells: Vec<Arc<dyn Due>>,
    }

    impl Tower {
        fn new() -> Self {
            let (rung, heard) = channel();
            Self { rung, heard, bells: Vec::new() }
        }

        fn bell(&self, name: &'static str, again: u32) -> Arc<dyn Due> {
            Arc::new(Bell { name, rung: self.rung.clone(), again: Mutex::new(again) })
        }

        fn set(&mut self, due: Arc<dyn Due>, at: Nanos) -> Moment {
            let moment = set(at, Arc::downgrade(&due));
            self.bells.push(due);
            moment
        }

        /// Nothing rings until what is returned is dropped.
        fn hold(&mut self) -> Sender<()> {
            let (release, held) = channel();
            self.set(Arc::new(Hold(Mutex::new(held))), 0);
            release
        }

        fn hear(&self) -> (&'static str, Nanos) {
            self.heard.recv_timeout(LONG).expect("a bell was not rung")
        }

        fn hear_all(&self, count: usize) -> Vec<&'static str> {
            (0..count).map(|_| self.hear().0).collect()
        }
    }

    #[test]
    fn moments_come_in_their_order_and_not_early() {
        let mut tower = Tower::new();
        let hold = tower.hold();
        let now = Now::real();
        for (name, after) in [("third", 30), ("first", 10), ("second", 20), ("fourth", 30)] {
            let bell = tower.bell(name, 0);
            tower.set(bell, now + after * MILLISECOND);
        }
        drop(hold);
        for (name, after) in [("first", 10), ("second", 20), ("third", 30), ("fourth", 30)] {
            let (heard, at) = tower.hear();
            assert_eq!(heard, name);
            assert!(now + after * MILLISECOND <= at);
        }
    }

    #[test]
    fn a_moment_that_is_called_off_does_not_come() {
        let mut tower = Tower::new();
        let hold = tower.hold();
        let now = Now::real();
        let [cancelled, kept] = ["cancelled", "kept"].map(|name| tower.bell(name, 0));
        let moment = tower.set(Arc::clone(&cancelled), now);
        tower.set(kept, now + MILLISECOND);
        cancel(moment);
        drop(hold);
        assert_eq!(tower.hear().0, "kept");
        // One that has come, or that is not known any more, can be called off too.
        cancel(moment);
        assert!(tower.heard.try_recv().is_err());
    }

    #[test]
    fn who_says_so_comes_again() {
        let mut tower = Tower::new();
        let bell = tower.bell("again", 2);
        tower.set(bell, 0);
        assert_eq!(tower.hear_all(3), ["again"; 3]);
    }

    #[test]
    fn an_earlier_moment_need_not_wait_for_a_later_one() {
        let mut tower = Tower::new();
        let [late, soon] = ["late", "soon"].map(|name| tower.bell(name, 0));
        let far = tower.set(late, Now::real() + 3_600_000 * MILLISECOND);
        tower.set(soon, Now::real() + 5 * MILLISECOND);
        assert_eq!(tower.hear().0, "soon");
        cancel(far);
    }

    #[test]
    fn neither_a_panic_nor_a_target_that_is_gone_ends_the_keeping() {
        let mut tower = Tower::new();
        let hold = tower.hold();
        tower.set(Arc::new(Fault), 1);
        let gone = tower.bell("gone", 0);
        set(2, Arc::downgrade(&gone));
        drop(gone);
        let bell = tower.bell("after", 0);
        tower.set(bell, 3);
        drop(hold);
        assert_eq!(tower.hear().0, "after");
    }
}
