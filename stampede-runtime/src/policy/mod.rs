//! [`Policy`]: how long values live, and all decisions that follow from it.
//!
//! Architecture invariant: nothing here reads a clock, draws a random number or knows a cache. Given times and a random
//! number, a policy answers.

mod builder;
mod error;
mod extent;

use crate::clock::{NEVER, Nanos};
pub use builder::PolicyBuilder;
pub use error::PolicyError;
pub use extent::Extent;
use extent::scale;

/// The longest pause between failed refreshes.
const LONGEST_PAUSE: Nanos = 30_000_000_000;

/// What jitter is drawn in.
const MILLISECOND: Nanos = 1_000_000;

/// How a cache treats its entries. Built by [`Policy::builder`], or by the arguments of the attribute.
///
/// One policy can serve many functions: `#[stampede_cached(policy = REPORTS.clone(), ttl = 60)]` takes all of it but
/// `ttl`.
#[derive(Clone, Debug)]
pub struct Policy {
    asked: PolicyBuilder,
    ttl: Nanos,
    none_ttl: Nanos,
    windows: Windows,
}

/// The windows beside `ttl`, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Windows {
    jitter: Nanos,
    early: Nanos,
    stale: Nanos,
    stale_if_error: Nanos,
}

/// Where the loads of a cache run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Run {
    /// As a task of its own that runs to its end, whoever goes away.
    #[default]
    Detached,
    /// As a task of its own that is dropped when the last caller has given up. A refresh never is.
    Cancellable,
    /// In the leader's own task: for futures that are not `Send`, and for arguments that can't be owned.
    InCaller,
}

/// What a load ended with, as far as its lifetime is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A value, with the upper bound for its lifetime that `ttl_of` or the loader gave, if any.
    Value(Option<Nanos>),
    /// A `None`, with its bound.
    None(Option<Nanos>),
    /// An `Err`.
    Err,
}

/// When an entry changes its state. All moments are on the entry's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lifetime {
    pub(crate) stored: Nanos,
    pub(crate) early_at: Nanos,
    pub(crate) fresh_until: Nanos,
    /// Whether the entry has early and stale windows: a stored `Err` has none.
    pub(crate) windows: bool,
}

/// The state of an entry at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Freshness {
    /// A hit.
    Fresh,
    /// A hit, and one refresh begins in the background.
    Early,
    /// Past `fresh_until`: served while one refresh runs, if the policy allows it.
    Stale,
    /// Past `stale_until`: the old value is given only if its load fails, if the policy allows it.
    Expired,
}

impl Policy {
    /// When an entry that is stored at `now` changes its state, or `None` where it is not to be stored.
    ///
    /// `random` is even in [0, 1).
    pub(crate) fn lifetime(&self, kind: Kind, now: Nanos, random: f64) -> Option<Lifetime> {
        let (length, bounded) = self.length(kind);
        if length == 0 || self.ttl == 0 {
            return None;
        }
        let share = ratio(length, self.ttl);
        let drawn = draw(length, scale(self.windows.jitter, share), bounded, random);
        let fresh_until = now.saturating_add(drawn);
        let windows = kind != Kind::Err;
        let early = if windows { scale(self.windows.early, share) } else { 0 };
        // For ever has no end to come early for.
        let early_at = if fresh_until == NEVER { NEVER } else { fresh_until.saturating_sub(early).max(now) };
        Some(Lifetime { stored: now, early_at, fresh_until, windows })
    }

    /// The lifetime before jitter, and whether it is an upper bound.
    fn length(&self, kind: Kind) -> (Nanos, bool) {
        match kind {
            Kind::Value(Some(bound)) | Kind::None(Some(bound)) => (bound, true),
            Kind::Value(None) => (self.ttl, false),
            Kind::None(None) => (self.none_ttl, false),
            Kind::Err => (crate::clock::saturating_nanos(self.err_ttl()), false),
        }
    }

    /// When the entry stops being served while it is refreshed.
    pub(crate) fn stale_until(&self, life: &Lifetime) -> Nanos {
        if life.windows { life.fresh_until.saturating_add(self.windows.stale) } else { life.fresh_until }
    }

    /// When nothing of the entry may be served any more.
    pub(crate) fn gone_at(&self, life: &Lifetime) -> Nanos {
        let window = if life.windows { self.windows.stale.max(self.windows.stale_if_error) } else { 0 };
        life.fresh_until.saturating_add(window)
    }

    /// The state of an entry at `now`.
    pub(crate) fn freshness(&self, life: &Lifetime, now: Nanos) -> Freshness {
        if now < life.early_at {
            Freshness::Fresh
        } else if now < life.fresh_until {
            Freshness::Early
        } else if now < self.stale_until(life) {
            Freshness::Stale
        } else {
            Freshness::Expired
        }
    }

    /// Whether an early refresh is due, `now` being in the early window, after loads that take `cost` on average.
    ///
    /// Vattani, Chierichetti, Lowenstein: "Optimal Probabilistic Cache Stampede Prevention", PVLDB 8(8), 2015: refresh
    /// when `now − delta · beta · ln(u) ≥ fresh_until`, `u` even in (0, 1].
    pub(crate) fn early_is_due(&self, life: &Lifetime, now: Nanos, cost: Nanos, random: f64) -> bool {
        let Some(beta) = self.beta() else { return true };
        let ahead = scale(cost, beta * -(1.0 - random).ln());
        now.saturating_add(ahead) >= life.fresh_until
    }

    /// The least time between the beginnings of two refreshes of an entry.
    pub(crate) fn least_gap(&self, life: &Lifetime) -> Nanos {
        crate::clock::saturating_nanos(self.backoff()).min(life.fresh_until.saturating_sub(life.stored) / 2)
    }

    /// The pause after the `failures`th failure in a row (from 1): doubling up to 30 s, ± 10 %.
    pub(crate) fn pause(&self, failures: u32, random: f64) -> Nanos {
        let first = crate::clock::saturating_nanos(self.backoff());
        let doubled = first.saturating_mul(1u64.checked_shl(failures.saturating_sub(1)).unwrap_or(Nanos::MAX));
        scale(doubled.min(LONGEST_PAUSE.max(first)), 0.9 + 0.2 * random)
    }
}

/// `length` ± `jitter`, drawn evenly in whole milliseconds; only shorter where `length` is a bound.
fn draw(length: Nanos, jitter: Nanos, bounded: bool, random: f64) -> Nanos {
    if length == NEVER {
        return NEVER;
    }
    // A jitter that was scaled may have been rounded up to the length.
    let spread = jitter.min(length - 1) / MILLISECOND;
    let steps = if bounded { spread } else { 2 * spread } + 1;
    let shortest = length - spread * MILLISECOND;
    shortest.saturating_add(scale(steps, random).saturating_mul(MILLISECOND))
}

/// `length / ttl`, where for ever is as long as for ever.
#[expect(clippy::cast_precision_loss, reason = "a ratio of durations is as good as 53 bits")]
fn ratio(length: Nanos, ttl: Nanos) -> f64 {
    if length == ttl { 1.0 } else { length as f64 / ttl as f64 }
}

#[cfg(test)]
mod tests;
