//! A duration, or a share of `ttl`.

use crate::clock::{Nanos, saturating_nanos};
use std::{fmt, time::Duration};

/// A length of time that may be given as a share of `ttl`.
///
/// ```
/// use stampede_runtime::{Extent, Policy};
/// use std::time::Duration;
///
/// let policy = Policy::builder().ttl(Duration::from_secs(300)).jitter(Extent::percent(10.0)).build()?;
/// assert_eq!(policy.jitter(), Duration::from_secs(30));
/// # Ok::<_, stampede_runtime::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent(Kind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Fixed(Duration),
    Percent(f64),
}

impl Extent {
    /// `percent` of `ttl`: 10.0 is a tenth. What is no number of at least 0 is refused when the policy is built.
    #[must_use]
    pub const fn percent(percent: f64) -> Self {
        Self(Kind::Percent(percent))
    }

    /// In nanoseconds, beside this `ttl`; `None` for a share that is no number or below zero.
    pub(super) fn resolve(self, ttl: Nanos) -> Option<Nanos> {
        match self.0 {
            Kind::Fixed(duration) => Some(saturating_nanos(duration)),
            Kind::Percent(percent) => (percent >= 0.0 && percent.is_finite()).then(|| scale(ttl, percent / 100.0)),
        }
    }
}

impl From<Duration> for Extent {
    fn from(duration: Duration) -> Self {
        Self(Kind::Fixed(duration))
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Fixed(duration) => write!(f, "{duration:?}"),
            Kind::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// `nanos · factor`, at most for ever.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a duration is as good as 53 bits; `as` saturates"
)]
pub(super) fn scale(nanos: Nanos, factor: f64) -> Nanos {
    (nanos as f64 * factor) as Nanos
}
