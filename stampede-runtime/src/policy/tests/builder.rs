//! What the builder refuses, and what it makes of what it takes.

use super::*;
use crate::policy::{Extent, PolicyBuilder};

/// A builder that would succeed.
fn sound() -> PolicyBuilder {
    Policy::builder().ttl(seconds(60))
}

fn refused(field: &str, builder: PolicyBuilder) {
    let asked = format!("{builder:?}");
    let error = builder.build().expect_err(&asked);
    assert_eq!(error.field(), field, "{asked}");
    let message = error.to_string();
    assert!(message.starts_with(&format!("`{field}` ")) && message.len() > field.len() + 10, "{message}");
}

#[test]
fn each_error_names_its_field() {
    refused("ttl", Policy::builder());
    refused("ttl", Policy::builder().jitter(seconds(1)).stale(seconds(1)));
    for percent in [-1.0, -f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let extent = Extent::percent(percent);
        refused("jitter", sound().jitter(extent));
        refused("early", sound().early(extent));
        refused("stale", sound().stale(extent));
        refused("stale_if_error", sound().stale_if_error(extent));
    }
    refused("jitter", sound().jitter(seconds(60)));
    refused("jitter", sound().jitter(Duration::MAX));
    refused("jitter", sound().jitter(Extent::percent(100.0)));
    refused("jitter", sound().ttl(Duration::MAX).jitter(Duration::MAX));
    refused("jitter", sound().ttl(Duration::MAX).jitter(Extent::percent(100.0)));
    for beta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused("beta", sound().early(seconds(5)).beta(beta));
    }
    refused("beta", sound().beta(1.0));
    refused("soft_timeout", sound().soft_timeout(seconds(1)));
    refused("soft_timeout", sound().soft_timeout(seconds(1)).stale(Extent::percent(0.0)));
    refused("timeout", sound().timeout(Duration::ZERO));
    refused("max_loads", sound().max_loads(0));
    refused("capacity", sound().capacity(0));
    refused("lead_after", sound().lead_after(Duration::ZERO));
}

#[test]
fn exp_23_a_window_as_long_as_the_lifetime_is_refused() {
    refused("early", sound().early(seconds(60)));
    refused("early", sound().early(seconds(90)));
    refused("early", sound().early(Duration::MAX));
    refused("early", sound().early(seconds(40)).jitter(seconds(30)));
    refused("early", sound().early(seconds(30)).jitter(seconds(30)));
    refused("early", sound().early(Extent::percent(50.0)).jitter(Extent::percent(50.0)));
    assert!(sound().early(nanos(30 * SECOND - 1)).jitter(seconds(30)).build().is_ok());
}

#[test]
fn what_does_something_is_taken() {
    let late = || sound().soft_timeout(seconds(1));
    for builder in [
        sound(),
        late().stale(seconds(1)),
        late().stale_if_error(seconds(1)),
        late().stale(Duration::MAX),
        sound().early(nanos(1)).beta(f64::MAX),
        sound().early(nanos(1)).beta(f64::MIN_POSITIVE),
        sound().backoff(Duration::ZERO),
        sound().backoff(Duration::MAX).lead_after(Duration::MAX).timeout(Duration::MAX),
        sound().capacity(u64::MAX).max_loads(usize::MAX),
        sound().none_ttl(Duration::MAX).err_ttl(Duration::MAX),
        // With a lifetime of zero nothing is stored, whatever the windows say.
        sound().ttl(Duration::ZERO).jitter(seconds(30)).early(seconds(60)),
    ] {
        assert!(builder.clone().build().is_ok(), "{builder:?}");
    }
}

#[test]
fn percents_are_of_ttl() {
    let shares = sound().jitter(Extent::percent(10.0)).early(Extent::percent(25.0)).stale(Extent::percent(300.0));
    let policy = shares.stale_if_error(Extent::percent(0.5)).build().unwrap();
    assert_eq!(policy.jitter(), seconds(6));
    assert_eq!(policy.early(), seconds(15));
    assert_eq!(policy.stale(), seconds(180));
    assert_eq!(policy.stale_if_error(), nanos(300 * MILLISECOND));
    // Another `ttl` for the same policy brings other shares.
    let longer = PolicyBuilder::from(&policy).ttl(seconds(600)).build().unwrap();
    assert_eq!((longer.jitter(), longer.early()), (seconds(60), seconds(150)));
}

/// A policy with shares of `ttl` can be used with a `ttl` of for ever; the shares then count for other lifetimes.
#[test]
fn percents_of_for_ever_are_less_than_for_ever() {
    let policy = sound().ttl(Duration::MAX).jitter(Extent::percent(10.0)).early(Extent::percent(20.0)).build().unwrap();
    let life = policy.lifetime(Kind::None(None), ANCHOR, 0.0).unwrap();
    assert_eq!(life.fresh_until - ANCHOR, 9 * SECOND);
    assert!((life.fresh_until - life.early_at).abs_diff(2 * SECOND) <= 1);
    assert_eq!(stored(&policy, 0.0).fresh_until, NEVER);
}

#[test]
fn none_lives_ten_seconds_at_most_unless_told() {
    assert_eq!(sound().build().unwrap().none_ttl(), seconds(10));
    assert_eq!(sound().ttl(seconds(3)).build().unwrap().none_ttl(), seconds(3));
    assert_eq!(sound().none_ttl(seconds(600)).build().unwrap().none_ttl(), seconds(600));
    let unstored = sound().none_ttl(Duration::ZERO).build().unwrap();
    assert_eq!(unstored.lifetime(Kind::None(None), ANCHOR, 0.5), None);
    assert_eq!(unstored.lifetime(Kind::Err, ANCHOR, 0.5), None);
}

proptest! {
    #[test]
    fn jitter_and_early_leave_a_lifetime(ttl in length(), jitter in length(), early in length()) {
        let built = Policy::builder().ttl(nanos(ttl)).jitter(nanos(jitter)).early(nanos(early)).build();
        let fits = u128::from(jitter) + u128::from(early) < u128::from(ttl);
        match built {
            Ok(policy) => {
                prop_assert!(fits || ttl == 0);
                prop_assert_eq!((policy.jitter(), policy.early()), (nanos(jitter), nanos(early)));
            }
            Err(error) => {
                prop_assert!(!fits && ttl != 0);
                prop_assert_eq!(error.field(), if jitter >= ttl { "jitter" } else { "early" });
            }
        }
    }
}
