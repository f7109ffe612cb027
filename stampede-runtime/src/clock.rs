//! Time: what one entry or flight is measured with.
//!
//! Two clocks. The real one is the system's monotonic clock. A hit reads it in its coarse form, a few nanoseconds, and in
//! its precise form only where the coarse one, which lags behind, can't tell on which side of a deadline it is. The other
//! is tokio's, when it is paused: an entry that was stored under a paused clock is measured with that clock, and seen
//! only in the runtime whose clock it is. That is found out where time is not short (a store, the start of a load), so
//! that a hit on a real entry costs one coarse read.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

/// A moment in nanoseconds, on one of the clocks. `NEVER` is later than all others.
pub(crate) type Nanos = u64;

/// The end of time: where durations that overflow end up.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// The anchor's own moment. In the middle, since a paused clock may stand before the anchor.
pub(crate) const ANCHOR: Nanos = 1 << 62;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The clock that an entry or a flight lives by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The system's monotonic clock.
    Real,
    /// The paused clock of this tokio runtime.
    Paused(tokio::runtime::Id),
}

/// A moment and the clock it was read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) clock: Clock,
    pub(crate) at: Nanos,
}

impl Now {
    /// Reads the clock of the place we run in, with full resolution. Takes some 100 ns.
    pub(crate) fn read() -> Self {
        match paused() {
            Some((id, instant)) => Self { clock: Clock::Paused(id), at: nanos(instant) },
            None => Self { clock: Clock::Real, at: nanos(Instant::now()) },
        }
    }

    /// The real clock with full resolution.
    pub(crate) fn real() -> Nanos {
        nanos(Instant::now())
    }

    /// A cheap look at the real clock: a moment that the precise clock has not passed, soon after its time.
    #[inline]
    pub(crate) fn glance() -> Nanos {
        moved().unwrap_or_else(|| coarse().saturating_add(LAG))
    }

    /// Reads the clock that an entry of `clock` is judged by, or `None` where that entry can't be seen.
    pub(crate) fn for_entry(clock: Clock) -> Option<Self> {
        match clock {
            Clock::Real => Some(Self { clock, at: moved().unwrap_or_else(Self::real) }),
            Clock::Paused(id) => {
                let handle = tokio::runtime::Handle::try_current().ok()?;
                (handle.id() == id).then(|| Self { clock, at: nanos(tokio::time::Instant::now().into_std()) })
            }
        }
    }
}

/// How far the coarse clock is behind at most, for all we have seen: its tick can be late on a busy machine.
const LAG: Nanos = 50_000_000;

/// The time of a clock that was paused after a store: it goes on from the same instant, so that it and the real one are
/// one line. Looked for only with the feature `test-util`.
#[inline]
fn moved() -> Option<Nanos> {
    if cfg!(feature = "test-util") { paused().map(|(_, instant)| nanos(instant)) } else { None }
}

/// The paused clock of the current runtime, if there is one.
///
/// tokio does not say whether its clock is paused, but a running clock lies between two reads of the system's, and one
/// that stands still can't do so twice.
fn paused() -> Option<(tokio::runtime::Id, Instant)> {
    let handle = tokio::runtime::Handle::try_current().ok()?;
    let stands_still = || {
        let before = Instant::now();
        let theirs = tokio::time::Instant::now().into_std();
        let after = Instant::now();
        (!(before <= theirs && theirs <= after)).then_some(theirs)
    };
    let instant = stands_still().or_else(stands_still)?;
    Some((handle.id(), instant))
}

fn nanos(instant: Instant) -> Nanos {
    let start = *START;
    let ahead = saturating_nanos(instant.saturating_duration_since(start));
    let behind = saturating_nanos(start.saturating_duration_since(instant));
    ANCHOR.saturating_add(ahead).saturating_sub(behind)
}

/// `duration` in nanoseconds; one of more than 584 years is as good as for ever.
pub(crate) fn saturating_nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(NEVER)
}

/// The real clock, read cheaply: behind the precise one by a tick or, on a busy machine, a few; never ahead of it.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn coarse() -> Nanos {
    /// What turns the system's numbers into ours.
    static OFFSET: LazyLock<Nanos> = LazyLock::new(|| {
        // What has passed since the anchor is read first: too short by a little, so that coarse time is never ahead.
        let passed = saturating_nanos(START.elapsed());
        (ANCHOR + passed).wrapping_sub(monotonic(rustix::time::ClockId::Monotonic))
    });
    monotonic(rustix::time::ClockId::MonotonicCoarse).wrapping_add(*OFFSET)
}

/// The system's clock, in nanoseconds since some moment before the program.
#[cfg(target_os = "linux")]
#[inline]
fn monotonic(clock: rustix::time::ClockId) -> Nanos {
    let rustix::time::Timespec { tv_sec, tv_nsec } = rustix::time::clock_gettime(clock);
    // The time since boot is never negative, and its nanoseconds are less than a second.
    tv_sec.unsigned_abs().wrapping_mul(1_000_000_000).wrapping_add(tv_nsec.unsigned_abs())
}

/// The real clock. `Instant` is the cheapest that the standard library has here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn coarse() -> Nanos {
    nanos(Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coarse_clock_follows_the_precise_one_and_is_never_ahead() {
        for _ in 0..10_000 {
            let before = nanos(Instant::now());
            let coarse = coarse();
            let after = nanos(Instant::now());
            assert!(coarse <= after, "{coarse} is ahead of {after}");
            // A busy machine's tick can be late; a wrong offset would be off by far more.
            assert!(coarse + 1_000_000_000 >= before, "{coarse} is behind {before}");
        }
    }

    #[test]
    fn outside_of_a_runtime_time_is_real() {
        assert_eq!(Now::read().clock, Clock::Real);
    }

    #[tokio::test]
    async fn a_running_clock_is_never_taken_for_a_paused_one() {
        for _ in 0..10_000 {
            assert_eq!(Now::read().clock, Clock::Real);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_paused_clock_moves_when_it_is_moved() {
        let step = Duration::from_nanos(3_600_000_000_001);
        let before = Now::read();
        assert_eq!(before.clock, Clock::Paused(tokio::runtime::Handle::current().id()));
        assert_eq!(Now::read().at, before.at);
        tokio::time::advance(step).await;
        assert_eq!(Now::read().at - before.at, saturating_nanos(step));
        let seen = Now::for_entry(before.clock).unwrap();
        assert_eq!((seen.clock, seen.at), (before.clock, Now::read().at));
    }

    /// A clock that runs again after it was moved is not the system's: what is measured with it stays with it.
    #[tokio::test(start_paused = true)]
    async fn a_clock_that_was_moved_and_runs_again_keeps_its_entries() {
        let before = Now::read();
        tokio::time::advance(Duration::from_secs(3_600)).await;
        tokio::time::resume();
        let after = Now::read();
        assert_eq!(after.clock, before.clock);
        assert!(after.at - before.at >= 3_600_000_000_000);
        assert!(Now::for_entry(before.clock).is_some_and(|now| now.at >= after.at));
    }

    #[test]
    fn an_entry_of_a_paused_clock_is_seen_in_its_runtime_only() {
        let paused = || tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (one, other) = (paused(), paused());
        let clock = one.block_on(async { Now::read().clock });
        assert!(Now::for_entry(clock).is_none());
        assert!(other.block_on(async { Now::for_entry(clock) }).is_none());
        assert!(one.block_on(async { Now::for_entry(clock) }).is_some());
    }

    #[cfg(feature = "test-util")]
    #[tokio::test]
    async fn pausing_after_a_store_moves_what_was_stored_before() {
        let stored = Now::read();
        assert_eq!(stored.clock, Clock::Real);
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(60)).await;
        let now = Now::for_entry(Clock::Real).unwrap();
        assert!(now.at - stored.at >= 60_000_000_000);
    }

    #[test]
    fn moments_before_the_anchor_and_long_durations_have_numbers() {
        let start = *START;
        let minute = Duration::from_secs(60);
        assert_eq!(nanos(start), ANCHOR);
        assert_eq!(nanos(start + minute), ANCHOR + 60_000_000_000);
        if let Some(earlier) = start.checked_sub(minute) {
            assert_eq!(nanos(earlier), ANCHOR - 60_000_000_000);
        }
        assert_eq!(saturating_nanos(Duration::MAX), NEVER);
        assert_eq!(saturating_nanos(Duration::from_nanos(NEVER - 1)), NEVER - 1);
        assert_eq!(saturating_nanos(Duration::from_secs(u64::from(u32::MAX) * 1_000)), NEVER);
    }
}
