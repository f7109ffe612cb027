//! An entry: a stored value with its times, and the mark that elects who refreshes it.

use crate::{
    clock::{Clock, Nanos},
    policy::Lifetime,
    tags::Label,
};
use std::sync::atomic::{
    AtomicU8, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// The times of a stored value.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) life: Lifetime,
    pub(crate) clock: Clock,
    /// When the sweeper may free it; `NEVER` on a clock that the sweeper can't read.
    pub(crate) dies: Nanos,
    pub(crate) weight: u32,
    /// What its cache's index of tags knows it by.
    pub(crate) label: Label,
    refresh: Refresh,
}

/// The mark: the time from which a refresh may begin, or `RUNNING`. With it, no hit has to look for a flight.
#[derive(Debug)]
struct Refresh {
    after: AtomicU64,
    failures: AtomicU8,
}

/// A refresh has been asked for and has not ended.
const RUNNING: Nanos = Nanos::MAX;

impl Entry {
    /// An entry whose first refresh begins no earlier than `refresh_after`.
    pub(crate) fn new(life: Lifetime, clock: Clock, dies: Nanos, refresh_after: Nanos) -> Self {
        let refresh = Refresh { after: AtomicU64::new(refresh_after.min(RUNNING - 1)), failures: AtomicU8::new(0) };
        Self { life, clock, dies, weight: 0, label: None, refresh }
    }

    /// The entry, counted as `weight`.
    pub(crate) fn weighing(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// The entry, known to the index of tags.
    pub(crate) fn labelled(mut self, label: Label) -> Self {
        self.label = label;
        self
    }

    /// Before this, its value is fresh by the system's clock, and nothing else has to be looked at. On a paused clock
    /// that can't be said.
    pub(crate) fn hit_until(&self) -> Nanos {
        match self.clock {
            Clock::Real => self.life.early_at,
            Clock::Paused(_) => 0,
        }
    }

    /// Elects the caller to ask for a refresh, if none runs and none is too early. At most one caller gets `true`.
    pub(crate) fn elect(&self, now: Nanos) -> bool {
        let after = self.refresh.after.load(Relaxed);
        after <= now && self.refresh.after.compare_exchange(after, RUNNING, AcqRel, Relaxed).is_ok()
    }

    /// The refresh that was asked for is not coming.
    pub(crate) fn give_back(&self) {
        let _ = self.refresh.after.compare_exchange(RUNNING, 0, Release, Relaxed);
    }

    /// Whether a refresh failed a short while ago and none may begin.
    pub(crate) fn is_paused(&self, now: Nanos) -> bool {
        let after = self.refresh.after.load(Acquire);
        self.refresh.failures.load(Relaxed) > 0 && after != RUNNING && now < after
    }

    /// Counts a failure and lets no refresh begin for the pause that `pause` gives for that count.
    pub(crate) fn fail(&self, now: Nanos, pause: impl FnOnce(u32) -> Nanos) {
        let failures = self.refresh.failures.load(Relaxed).saturating_add(1);
        self.refresh.failures.store(failures, Relaxed);
        let until = now.saturating_add(pause(u32::from(failures)));
        self.refresh.after.store(until.min(RUNNING - 1), Release);
    }

    /// As if `fresh_until` were `now`; the windows begin there.
    pub(crate) fn expire(&mut self, now: Nanos, dies: Nanos) {
        self.life.early_at = self.life.early_at.min(now);
        self.life.fresh_until = self.life.fresh_until.min(now);
        self.dies = self.dies.min(dies);
        // Somebody said that the value is old: the least gap between refreshes is no reason to go on with it.
        if self.refresh.failures.load(Relaxed) == 0 && *self.refresh.after.get_mut() != RUNNING {
            *self.refresh.after.get_mut() = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::NEVER;
    use std::{
        hint,
        sync::{Barrier, atomic::AtomicU32},
        thread,
    };

    const DIES: Nanos = 10_000;

    /// Stored at 100, early from 500 and fresh until 1,000.
    fn entry(refresh_after: Nanos) -> Entry {
        let life = Lifetime { stored: 100, early_at: 500, fresh_until: 1_000, windows: true };
        Entry::new(life, Clock::Real, DIES, refresh_after)
    }

    /// A failure at `now`, after which no refresh begins for `pause`; the count that the pause is drawn for.
    fn fail(entry: &Entry, now: Nanos, pause: Nanos) -> u32 {
        let mut count = 0;
        entry.fail(now, |failures| {
            count = failures;
            pause
        });
        count
    }

    #[test]
    fn one_caller_is_elected_and_not_too_early() {
        let entry = entry(700);
        assert!(!entry.elect(699));
        assert!(entry.elect(700));
        assert!(!entry.elect(700));
        assert!(!entry.elect(NEVER - 1));
    }

    #[test]
    fn a_refresh_that_does_not_come_lets_the_next_caller_ask() {
        let entry = entry(700);
        assert!(entry.elect(700));
        entry.give_back();
        assert!(entry.elect(700));
    }

    #[test]
    fn no_refresh_begins_in_a_pause() {
        let entry = entry(0);
        assert!(entry.elect(600) && !entry.is_paused(600));
        assert_eq!(fail(&entry, 600, 50), 1);
        assert!(entry.is_paused(600) && entry.is_paused(649) && !entry.is_paused(650));
        assert!(!entry.elect(649));
        entry.give_back();
        assert!(!entry.elect(649), "giving back what is not held ends no pause");
        assert!(entry.elect(650));
        assert!(!entry.is_paused(600), "the next attempt is on its way");
        assert_eq!(fail(&entry, 650, 100), 2);
        assert!(!entry.elect(749) && entry.elect(750));
    }

    #[test]
    fn the_least_gap_is_no_pause() {
        let entry = entry(700);
        assert!(!entry.is_paused(600));
    }

    #[test]
    fn a_pause_for_ever_is_no_refresh_that_runs() {
        let entry = entry(0);
        for count in 1..=300 {
            assert_eq!(fail(&entry, 600, NEVER), count.min(255));
        }
        assert!(entry.is_paused(NEVER - 2));
        assert!(!entry.elect(NEVER - 2));
    }

    #[test]
    fn expiring_ends_the_fresh_time_and_the_least_gap() {
        let mut entry = entry(900);
        entry.expire(600, 2_000);
        assert_eq!((entry.life.stored, entry.life.early_at, entry.life.fresh_until), (100, 500, 600));
        assert_eq!(entry.dies, 2_000);
        assert!(entry.elect(600));
    }

    #[test]
    fn expiring_lengthens_nothing() {
        let mut entry = entry(900);
        entry.expire(200, 1_500);
        entry.expire(5_000, 3 * DIES);
        assert_eq!((entry.life.early_at, entry.life.fresh_until, entry.dies), (200, 200, 1_500));
    }

    #[test]
    fn expiring_ends_no_pause_and_no_refresh() {
        let mut paused = entry(0);
        fail(&paused, 600, 50);
        paused.expire(610, DIES);
        assert!(!paused.elect(649) && paused.elect(650));
        let mut running = entry(0);
        assert!(running.elect(600));
        running.expire(610, DIES);
        assert!(!running.elect(700));
    }

    #[test]
    fn of_many_threads_one_is_elected() {
        const THREADS: usize = 3;
        let entry = entry(0);
        let start = Barrier::new(THREADS);
        let (refreshing, together) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..100_000 {
                        while !entry.elect(600) {
                            hint::spin_loop();
                        }
                        together.fetch_max(refreshing.fetch_add(1, Relaxed) + 1, Relaxed);
                        // As long as others need to come by.
                        (0..10).for_each(|_| hint::spin_loop());
                        refreshing.fetch_sub(1, Relaxed);
                        entry.give_back();
                    }
                });
            }
        });
        assert_eq!(together.into_inner(), 1);
    }
}
