//! When refreshes begin, and how long they pause.

use super::*;
use crate::{clock::Clock, entry::Entry};

fn with_beta(beta: f64) -> Policy {
    Policy::builder().ttl(seconds(300)).early(seconds(200)).beta(beta).build().unwrap()
}

proptest! {
    #[test]
    fn an_early_refresh_is_due_by_the_rule(
        beta in 0.01..10.0_f64, cost in 1..100 * SECOND, random in random(), gap in 1..200 * SECOND,
    ) {
        let policy = with_beta(beta);
        let life = stored(&policy, 0.0);
        let ahead = to_float(cost) * beta * -(1.0 - random).ln();
        prop_assume!((ahead - to_float(gap)).abs() > 2.0);
        prop_assert_eq!(policy.early_is_due(&life, life.fresh_until - gap, cost, random), ahead > to_float(gap));
    }

    #[test]
    fn a_refresh_that_is_due_stays_due(
        beta in 0.01..10.0_f64, cost in length(), random in random(), gap in 0..200 * SECOND, later in 0..300 * SECOND,
    ) {
        let policy = with_beta(beta);
        let life = stored(&policy, 0.0);
        let now = life.fresh_until - gap;
        if policy.early_is_due(&life, now, cost, random) {
            prop_assert!(policy.early_is_due(&life, now + later, cost, random));
        }
    }

    #[test]
    fn pauses_double_up_to_half_a_minute(backoff in length(), failures in 1..300_u32, random in random()) {
        let policy = Policy::builder().ttl(seconds(60)).backoff(nanos(backoff)).build().unwrap();
        let doublings = (failures - 1).min(64);
        let longest = u128::from(backoff.max(30 * SECOND));
        let middle = (u128::from(backoff) << doublings.min(63)).min(longest);
        let pause = u128::from(policy.pause(failures, random));
        let slack = (middle >> 50) + 1;
        prop_assert!(pause + slack >= middle * 9 / 10, "{} for {}", pause, middle);
        prop_assert!(pause <= (middle * 11 / 10 + slack).min(NEVER.into()), "{} for {}", pause, middle);
    }

    #[test]
    fn the_least_gap_is_half_a_lifetime_at_most(
        policy in policy(), backoff in length(), kind in kind(), random in random(),
    ) {
        let policy = crate::policy::PolicyBuilder::from(policy).backoff(nanos(backoff)).build().unwrap();
        if let Some(life) = policy.lifetime(kind, ANCHOR, random) {
            prop_assert_eq!(policy.least_gap(&life), backoff.min((life.fresh_until - ANCHOR) / 2));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the rule is one of real numbers")]
fn to_float(nanos: Nanos) -> f64 {
    nanos as f64
}

#[test]
fn without_beta_a_refresh_is_due_in_all_of_the_window() {
    let policy = Policy::builder().ttl(seconds(300)).early(seconds(200)).build().unwrap();
    let life = stored(&policy, 0.0);
    for random in [0.0, 0.5, ALMOST_ONE] {
        assert!(policy.early_is_due(&life, life.early_at, 0, random));
    }
}

#[test]
fn loads_that_cost_nothing_are_not_repeated_early() {
    let policy = with_beta(1.0);
    let life = stored(&policy, 0.0);
    assert!(!policy.early_is_due(&life, life.fresh_until - 1, 0, ALMOST_ONE));
    assert!(policy.early_is_due(&life, life.fresh_until, 0, 0.0));
}

/// The share of calls that refresh `gap` before the end is e^(−gap / (delta · beta)).
#[test]
fn the_chance_of_an_early_refresh_falls_exponentially() {
    const CALLS: u32 = 10_000;
    for beta in [0.5, 1.0, 3.0] {
        let policy = with_beta(beta);
        let life = stored(&policy, 0.0);
        for gap in [0, 1, 2, 5, 10] {
            let now = life.fresh_until - gap * SECOND;
            let randoms = (0..CALLS).map(|call| (f64::from(call) + 0.5) / f64::from(CALLS));
            let due = randoms.map(|random| u32::from(policy.early_is_due(&life, now, 2 * SECOND, random))).sum::<u32>();
            let expected = (-to_float(gap) / (2.0 * beta)).exp();
            let chance = f64::from(due) / f64::from(CALLS);
            assert!((chance - expected).abs() < 2e-4, "{chance} instead of {expected}, {gap} s before the end");
        }
    }
}

#[test]
fn a_pause_is_the_backoff_within_a_tenth() {
    let policy = Policy::builder().ttl(seconds(60)).build().unwrap();
    let pauses = |random| [1, 2, 3, 4, 5, 6, 7, 255].map(|failures| policy.pause(failures, random) / MILLISECOND);
    assert_eq!(pauses(0.0), [900, 1_800, 3_600, 7_200, 14_400, 27_000, 27_000, 27_000]);
    assert_eq!(pauses(0.5), [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    assert_eq!(policy.pause(7, ALMOST_ONE), 33 * SECOND);
    // What the user asked for is not cut.
    let slow = Policy::builder().ttl(seconds(60)).backoff(seconds(50)).build().unwrap();
    assert_eq!([1, 2].map(|failures| slow.pause(failures, 0.5)), [50 * SECOND; 2]);
}

/// `early` at its bound: the refreshes are as far apart as the least gap, however often calls come.
#[test]
fn exp_23_the_longest_window_is_no_refresh_per_call() {
    let policy = Policy::builder().ttl(seconds(60)).jitter(seconds(30)).early(nanos(30 * SECOND - 1)).build().unwrap();
    for random in [0.0, 0.5, ALMOST_ONE] {
        let store = |now| {
            let life = policy.lifetime(Kind::Value(None), now, random).unwrap();
            Entry::new(life, Clock::Real, NEVER, now + policy.least_gap(&life))
        };
        let mut entry = store(ANCHOR);
        let mut refreshes = 0;
        for now in (ANCHOR..ANCHOR + 300 * SECOND).step_by(10_000_000) {
            let early = entry.life.early_at <= now && policy.early_is_due(&entry.life, now, SECOND, random);
            if early && entry.elect(now) {
                refreshes += 1;
                entry = store(now);
            }
        }
        assert!((1..=300).contains(&refreshes), "{refreshes} refreshes in 300 s");
    }
}
