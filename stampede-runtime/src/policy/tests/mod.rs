//! The arithmetic of a policy, held against exact integers.

mod builder;
mod lifetime;
mod refresh;

use super::{Kind, Lifetime, Policy};
use crate::clock::{ANCHOR, NEVER, Nanos};
use proptest::prelude::*;
use std::time::Duration;

const MILLISECOND: Nanos = 1_000_000;
const SECOND: Nanos = 1_000_000_000;
const YEAR: Nanos = 31_557_600 * SECOND;

/// The greatest number below 1.
const ALMOST_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn nanos(nanos: Nanos) -> Duration {
    Duration::from_nanos(nanos)
}

/// Lengths of all sizes; those at the edges often.
fn length() -> impl Strategy<Value = Nanos> {
    prop_oneof![
        0..=10 * MILLISECOND,
        (1..=100_000_u64).prop_map(|count| count * MILLISECOND),
        (1..=10_000_000_u64).prop_map(|count| count * SECOND),
        any::<Nanos>(),
        prop::sample::select(vec![0, 1, 2, MILLISECOND, SECOND, 1 << 63, NEVER - 1, NEVER]),
    ]
}

/// A share of a whole; none and all of it often.
fn share() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]
}

/// What the dice give.
fn random() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(ALMOST_ONE), 0.0..1.0]
}

/// Moments that a clock can show: a paused one also before the anchor.
fn moment() -> impl Strategy<Value = Nanos> {
    ANCHOR - 100 * YEAR..ANCHOR + 100 * YEAR
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "which part it is does not matter, as long as it is none, all or between"
)]
fn part(whole: Nanos, share: f64) -> Nanos {
    ((whole as f64 * share) as Nanos).min(whole)
}

/// Policies that hold together, with `jitter` and `early` up to their bounds, and lifetimes unlike `ttl`.
fn policy() -> impl Strategy<Value = Policy> {
    let ttl = length().prop_map(|ttl| ttl.max(1));
    (ttl, share(), share(), [length(), length()], [length(), length()]).prop_map(
        |(ttl, jitter, early, [stale, stale_if_error], [none_ttl, err_ttl])| {
            let jitter = part(ttl - 1, jitter);
            Policy::builder()
                .ttl(nanos(ttl))
                .jitter(nanos(jitter))
                .early(nanos(part(ttl - jitter - 1, early)))
                .stale(nanos(stale))
                .stale_if_error(nanos(stale_if_error))
                .none_ttl(nanos(none_ttl))
                .err_ttl(nanos(err_ttl))
                .build()
                .unwrap()
        },
    )
}

/// Everything a load can end with.
fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        prop::option::of(length()).prop_map(Kind::Value),
        prop::option::of(length()).prop_map(Kind::None),
        Just(Kind::Err),
    ]
}

/// The lifetime that a kind of outcome is asked to have, before jitter, and whether it is an upper bound.
fn asked(policy: &Policy, kind: Kind) -> (Nanos, bool) {
    match kind {
        Kind::Value(Some(bound)) | Kind::None(Some(bound)) => (bound, true),
        Kind::Value(None) => (to_nanos(policy.ttl()), false),
        Kind::None(None) => (to_nanos(policy.none_ttl()), false),
        Kind::Err => (to_nanos(policy.err_ttl()), false),
    }
}

fn to_nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(NEVER)
}

/// `window · length / ttl`, exactly, and by how much 53 bits may miss it.
fn scaled(window: Duration, length: Nanos, policy: &Policy) -> (u128, u128) {
    let exact = window.as_nanos() * u128::from(length) / policy.ttl().as_nanos();
    (exact, (exact >> 50) + 1)
}

/// A lifetime on a clock without a tick.
fn stored(policy: &Policy, random: f64) -> Lifetime {
    policy.lifetime(Kind::Value(None), ANCHOR, random).unwrap()
}
