//! When entries change their state.

use super::*;
use crate::policy::Freshness;

const RANDOMS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, ALMOST_ONE];

proptest! {
    #[test]
    fn the_fresh_time_lies_within_the_jitter(
        policy in policy(), kind in kind(), now in moment(), random in random(),
    ) {
        let (length, bounded) = asked(&policy, kind);
        let Some(life) = policy.lifetime(kind, now, random) else {
            prop_assert_eq!(length, 0);
            return Ok(());
        };
        let (jitter, slack) = scaled(policy.jitter(), length, &policy);
        let end = u128::from(now) + u128::from(length);
        let latest = if bounded { end } else { end + jitter + slack };
        let earliest = end.saturating_sub(jitter + slack).max(u128::from(now));
        let fresh_until = u128::from(life.fresh_until);
        if length == NEVER {
            prop_assert_eq!(life.fresh_until, NEVER);
        } else {
            let earliest = earliest.min(NEVER.into());
            prop_assert!(fresh_until <= latest, "{} is past {}", fresh_until, latest);
            prop_assert!(fresh_until >= earliest, "{} is before {}", fresh_until, earliest);
        }
    }

    #[test]
    fn the_jitter_is_drawn_in_whole_milliseconds(
        policy in policy(), kind in kind(), now in moment(), random in random(),
    ) {
        let (length, _) = asked(&policy, kind);
        if let Some(life) = policy.lifetime(kind, now, random) {
            let drawn = life.fresh_until - now;
            // What overflows has no milliseconds.
            prop_assume!(length != NEVER && life.fresh_until != NEVER);
            prop_assert_eq!(drawn.abs_diff(length) % MILLISECOND, 0);
        }
    }

    #[test]
    fn the_jitter_is_drawn_evenly(
        jitter in 0..300_u64, rest in 0..MILLISECOND, ttl in 1..100_000_u64, bounded: bool,
    ) {
        let ttl = nanos(SECOND + ttl * MILLISECOND);
        let policy = Policy::builder().ttl(ttl).jitter(nanos(jitter * MILLISECOND + rest)).build().unwrap();
        let kind = Kind::Value(bounded.then(|| to_nanos(ttl)));
        let draws = if bounded { jitter + 1 } else { 2 * jitter + 1 };
        let shortest = to_nanos(ttl) - jitter * MILLISECOND;
        for draw in 0..draws {
            let random = (draw_to_float(draw) + 0.5) / draw_to_float(draws);
            let life = policy.lifetime(kind, ANCHOR, random).unwrap();
            prop_assert_eq!(life.fresh_until - ANCHOR, shortest + draw * MILLISECOND);
        }
    }

    #[test]
    fn the_states_follow_each_other(
        policy in policy(), kind in kind(), now in moment(), random in random(),
    ) {
        if let Some(life) = policy.lifetime(kind, now, random) {
            let stale_until = policy.stale_until(&life);
            prop_assert_eq!(life.stored, now);
            prop_assert!(now <= life.early_at);
            prop_assert!(life.early_at <= life.fresh_until);
            prop_assert!(life.fresh_until <= stale_until);
            prop_assert!(stale_until <= policy.gone_at(&life));
        }
    }

    #[test]
    fn the_windows_are_as_long_as_the_policy_says(
        policy in policy(), kind in kind(), now in moment(), random in random(),
    ) {
        if let Some(life) = policy.lifetime(kind, now, random) {
            let (stale_until, gone_at) = (policy.stale_until(&life), policy.gone_at(&life));
            if kind == Kind::Err {
                prop_assert_eq!([life.early_at, stale_until, gone_at], [life.fresh_until; 3]);
                return Ok(());
            }
            let late = |window: Duration| life.fresh_until.saturating_add(to_nanos(window));
            prop_assert_eq!(stale_until, late(policy.stale()));
            prop_assert_eq!(gone_at, late(policy.stale().max(policy.stale_if_error())));
            let (early, slack) = scaled(policy.early(), asked(&policy, kind).0, &policy);
            let window = u128::from(life.fresh_until - life.early_at);
            let cut = life.early_at == now || life.fresh_until == NEVER;
            prop_assert!(window <= early + slack);
            prop_assert!(cut || window + slack >= early, "{} instead of {}", window, early);
        }
    }

    #[test]
    fn no_entry_becomes_younger(
        policy in policy(), kind in kind(), random in random(),
        earlier in any::<Nanos>(), later in any::<Nanos>(), near in 0..5_usize, step in 0..=2_u64,
    ) {
        if let Some(life) = policy.lifetime(kind, ANCHOR, random) {
            let (stale_until, gone_at) = (policy.stale_until(&life), policy.gone_at(&life));
            let edges = [life.stored, life.early_at, life.fresh_until, stale_until, gone_at];
            let edge = edges[near].saturating_sub(1).saturating_add(step);
            let mut moments = [earlier, later, edge];
            moments.sort_unstable();
            let states = moments.map(|at| policy.freshness(&life, at));
            prop_assert!(states.is_sorted(), "{:?} at {:?}", states, moments);
        }
    }

    #[test]
    fn each_state_begins_at_its_own_moment(
        policy in policy(), kind in kind(), random in random(),
        at in any::<Nanos>(), near in 0..4_usize, step in 0..=2_u64,
    ) {
        if let Some(life) = policy.lifetime(kind, ANCHOR, random) {
            let stale_until = policy.stale_until(&life);
            let edge = [at, life.early_at, life.fresh_until, stale_until][near].saturating_sub(1).saturating_add(step);
            let expected = match edge {
                at if at >= stale_until => Freshness::Expired,
                at if at >= life.fresh_until => Freshness::Stale,
                at if at >= life.early_at => Freshness::Early,
                _ => Freshness::Fresh,
            };
            prop_assert_eq!(policy.freshness(&life, edge), expected);
        }
    }

    #[test]
    fn no_numbers_overflow(
        policy in policy(), kind in kind(), now in any::<Nanos>(), at in any::<Nanos>(), random in random(),
        cost in any::<Nanos>(), failures in any::<u32>(),
    ) {
        if let Some(life) = policy.lifetime(kind, now, random) {
            policy.freshness(&life, at);
            policy.early_is_due(&life, at, cost, random);
            policy.least_gap(&life);
        }
        policy.pause(failures, random);
        policy.lead_until(now);
    }

    #[test]
    fn exp_19_a_clock_that_steps_back_finds_the_entry_fresh(
        policy in policy(), kind in kind(), now in moment(), random in random(),
        back in prop_oneof![Just(1), 1..=10 * SECOND, 1..=40 * YEAR],
    ) {
        if let Some(life) = policy.lifetime(kind, now, random) {
            prop_assert_eq!(policy.freshness(&life, now - back), Freshness::Fresh);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred at most")]
fn draw_to_float(draw: u64) -> f64 {
    draw as f64
}

#[test]
fn exp_01_a_huge_lifetime_never_ends() {
    let huge = [u64::MAX, u64::MAX / 1000, i64::MAX.unsigned_abs(), u64::from(u32::MAX) * 1000];
    let mut ttls = Vec::from(huge.map(seconds));
    ttls.extend([Duration::MAX, nanos(NEVER), nanos(NEVER - 1)]);
    for ttl in ttls {
        for (jitter, early) in [(seconds(30), seconds(60)), (nanos(100 * YEAR), nanos(100 * YEAR))] {
            let policy = Policy::builder().ttl(ttl).jitter(jitter).early(early).stale(ttl).build().unwrap();
            let wide = Policy::builder().ttl(ttl).jitter(jitter).stale_if_error(ttl).err_ttl(ttl).build().unwrap();
            for random in RANDOMS {
                for (policy, kind) in [(&policy, Kind::Value(None)), (&wide, Kind::Value(None)), (&wide, Kind::Err)] {
                    let life = policy.lifetime(kind, ANCHOR, random).unwrap();
                    assert_eq!(policy.freshness(&life, ANCHOR), Freshness::Fresh, "{ttl:?}");
                    assert_eq!(policy.freshness(&life, ANCHOR + 100 * YEAR), Freshness::Fresh, "{ttl:?}");
                    assert!(life.fresh_until <= policy.stale_until(&life), "{ttl:?}");
                }
            }
        }
    }
}

#[test]
fn what_lives_for_ever_is_never_early() {
    let policy = Policy::builder().ttl(Duration::MAX).early(seconds(60)).jitter(seconds(30)).build().unwrap();
    let life = stored(&policy, 0.0);
    assert_eq!((life.early_at, life.fresh_until), (NEVER, NEVER));
}

#[test]
fn exp_03_without_a_millisecond_of_jitter_the_lifetime_is_exact() {
    for jitter in [0, 1, 2, 400_000, 999_999] {
        let policy = Policy::builder().ttl(seconds(60)).jitter(nanos(jitter)).build().unwrap();
        for random in RANDOMS {
            assert_eq!(stored(&policy, random).fresh_until, ANCHOR + 60 * SECOND, "jitter of {jitter} ns");
        }
    }
}

#[test]
fn exp_05_jitter_moves_nothing_but_the_lifetime() {
    let builder = || Policy::builder().jitter(seconds(30)).stale(seconds(10)).stale_if_error(seconds(20));
    let nothing = builder().ttl(Duration::ZERO).none_ttl(seconds(5)).err_ttl(seconds(5)).build().unwrap();
    let policy = builder().ttl(seconds(60)).backoff(Duration::ZERO).lead_after(seconds(5)).build().unwrap();
    for random in RANDOMS {
        for kind in [Kind::Value(None), Kind::Value(Some(SECOND)), Kind::None(None), Kind::Err] {
            assert_eq!(nothing.lifetime(kind, ANCHOR, random), None);
        }
        assert_eq!(policy.lifetime(Kind::Value(Some(0)), ANCHOR, random), None);
        assert_eq!(policy.pause(1, random), 0);
        assert_eq!(policy.lead_until(ANCHOR), ANCHOR + 5 * SECOND);
        let life = stored(&policy, random);
        assert_eq!(policy.stale_until(&life) - life.fresh_until, 10 * SECOND);
        assert_eq!(policy.gone_at(&life) - life.fresh_until, 20 * SECOND);
    }
}

#[test]
fn jitter_reaches_both_of_its_ends() {
    let policy = Policy::builder().ttl(seconds(300)).jitter(seconds(30)).build().unwrap();
    let ends = |kind| [0.0, ALMOST_ONE].map(|random| policy.lifetime(kind, ANCHOR, random).unwrap().fresh_until);
    assert_eq!(ends(Kind::Value(None)), [270, 330].map(|end| ANCHOR + end * SECOND));
    // A bound is only fallen short of, and the jitter is as much shorter as the lifetime is.
    assert_eq!(ends(Kind::Value(Some(300 * SECOND))), [270, 300].map(|end| ANCHOR + end * SECOND));
    assert_eq!(ends(Kind::Value(Some(3_000 * SECOND))), [2_700, 3_000].map(|end| ANCHOR + end * SECOND));
    assert_eq!(ends(Kind::None(None)), [9, 11].map(|end| ANCHOR + end * SECOND));
}

#[test]
fn jitter_at_its_bound_leaves_a_lifetime() {
    for ttl in [2 * MILLISECOND, SECOND, 60 * SECOND, YEAR, 100 * YEAR] {
        let policy = Policy::builder().ttl(nanos(ttl)).jitter(nanos(ttl - 1)).build().unwrap();
        assert_eq!(stored(&policy, 0.0).fresh_until, ANCHOR + MILLISECOND, "ttl of {ttl} ns");
        assert_eq!(stored(&policy, ALMOST_ONE).fresh_until, ANCHOR + 2 * ttl - MILLISECOND, "ttl of {ttl} ns");
    }
}

#[test]
fn early_is_scaled_with_the_lifetime() {
    let policy = Policy::builder().ttl(seconds(300)).early(seconds(60)).err_ttl(seconds(30)).build().unwrap();
    let early = |kind| {
        let life = policy.lifetime(kind, ANCHOR, 0.5).unwrap();
        life.fresh_until - life.early_at
    };
    assert_eq!(early(Kind::Value(None)), 60 * SECOND);
    assert_eq!(early(Kind::None(None)), 2 * SECOND);
    assert_eq!(early(Kind::Value(Some(30 * SECOND))), 6 * SECOND);
    assert_eq!(early(Kind::Err), 0);
}
