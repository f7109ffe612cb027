//! [`PolicyBuilder`]: what was asked for, and the check that it holds together.

use super::{Extent, Policy, PolicyError, Run, Windows};
use crate::clock::{NEVER, Nanos, saturating_nanos};
use std::time::Duration;

/// The longest that one load may keep its key to itself where nothing is said.
const LEAD_AFTER: Duration = Duration::from_secs(120);

/// How long a `None` lives at most where nothing is said: 10 s.
const LONGEST_NONE: Nanos = 10_000_000_000;

/// Builds a [`Policy`].
///
/// ```
/// use stampede_runtime::Policy;
/// use std::time::Duration;
///
/// let error = Policy::builder().ttl(Duration::from_secs(60)).early(Duration::from_secs(90)).build().unwrap_err();
/// assert_eq!(error.field(), "early");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct PolicyBuilder {
    ttl: Option<Duration>,
    jitter: Extent,
    early: Extent,
    stale: Extent,
    stale_if_error: Extent,
    none_ttl: Option<Duration>,
    err_ttl: Duration,
    timeout: Option<Duration>,
    soft_timeout: Option<Duration>,
    capacity: Option<u64>,
    max_loads: Option<usize>,
    lead_after: Option<Duration>,
    backoff: Duration,
    beta: Option<f64>,
    run: Run,
    ignore_modes: bool,
}

/// One setter a line: the name says it, [`Policy`]'s getters tell the meaning.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $argument:ty => $value:expr;)*) => {
        impl PolicyBuilder {
            $($(#[$doc])* pub fn $name(mut self, $name: $argument) -> Self {
                self.$name = $value($name);
                self
            })*
        }
    };
}

setters! {
    /// The fresh lifetime; required. Zero: store nothing, only coalesce.
    ttl: Duration => Some;
    /// ± spread of the lifetime. Default 0.
    jitter: impl Into<Extent> => Into::into;
    /// The refresh window before `fresh_until`. Default 0.
    early: impl Into<Extent> => Into::into;
    /// How long after `fresh_until` the value is served while one refresh runs. Default 0.
    stale: impl Into<Extent> => Into::into;
    /// How long after `fresh_until` the value is served when its load fails. Default 0.
    stale_if_error: impl Into<Extent> => Into::into;
    /// Lifetime of a `None`. Default: the lesser of `ttl` and 10 s. Zero: do not store it.
    none_ttl: Duration => Some;
    /// Lifetime of an `Err`. Default 0: do not store it.
    err_ttl: Duration => |ttl| ttl;
    /// A load is given up after this. Default: never.
    timeout: Duration => Some;
    /// After this, callers with an old value at hand take it and leave. Default: never.
    soft_timeout: Duration => Some;
    /// Most entries in memory; with a weight, most total weight. Default 10,000.
    capacity: u64 => Some;
    /// At most so many loads of this cache at once. Default: no limit.
    max_loads: usize => Some;
    /// The longest that one load may keep its key to itself. Default 120 s.
    lead_after: Duration => Some;
    /// The first pause after a failed refresh; it doubles up to 30 s. Default 1 s.
    backoff: Duration => |backoff| backoff;
    /// Draws the moment of the early refresh by the optimal probabilistic rule; 1.0 is the rule's own weight.
    beta: f64 => Some;
    /// Where loads run. Default [`Run::Detached`].
    run: Run => |run| run;
}

impl PolicyBuilder {
    /// A builder with the defaults and no `ttl`.
    pub const fn new() -> Self {
        Self {
            ttl: None,
            jitter: Extent::percent(0.0),
            early: Extent::percent(0.0),
            stale: Extent::percent(0.0),
            stale_if_error: Extent::percent(0.0),
            none_ttl: None,
            err_ttl: Duration::ZERO,
            timeout: None,
            soft_timeout: None,
            capacity: None,
            max_loads: None,
            lead_after: None,
            backoff: Duration::from_secs(1),
            beta: None,
            run: Run::Detached,
            ignore_modes: false,
        }
    }

    /// [`CacheMode`](crate::CacheMode)s that are entered around a call do not reach the cache: for credentials.
    pub fn ignore_modes(mut self) -> Self {
        self.ignore_modes = true;
        self
    }

    /// Whether a capacity was given.
    pub(crate) fn says_capacity(&self) -> bool {
        self.capacity.is_some()
    }

    /// Checks that the parts hold together.
    ///
    /// # Errors
    ///
    /// Names the field that is missing, contradicts another or does nothing.
    pub fn build(self) -> Result<Policy, PolicyError> {
        let Some(ttl) = self.ttl else {
            return Err(PolicyError::new("ttl", "is missing: say how long a value is fresh"));
        };
        let ttl = saturating_nanos(ttl);
        let windows = self.windows(ttl)?;
        self.check_windows(ttl, windows)?;
        self.check_rest(ttl, windows)?;
        let none_ttl = self.none_ttl.map_or_else(|| ttl.min(LONGEST_NONE), saturating_nanos);
        Ok(Policy { asked: self, ttl, none_ttl, windows })
    }

    fn windows(&self, ttl: Nanos) -> Result<Windows, PolicyError> {
        let resolve = |field, extent: Extent| {
            let message = || format!("of {extent} is no share of `ttl`: give a percentage of at least 0");
            extent.resolve(ttl).ok_or_else(|| PolicyError::new(field, message()))
        };
        Ok(Windows {
            jitter: resolve("jitter", self.jitter)?,
            early: resolve("early", self.early)?,
            stale: resolve("stale", self.stale)?,
            stale_if_error: resolve("stale_if_error", self.stale_if_error)?,
        })
    }

    fn check_windows(&self, ttl: Nanos, windows: Windows) -> Result<(), PolicyError> {
        // A lifetime of zero stores nothing, whatever the windows say: jitter must not bring it back.
        if ttl == 0 {
            return Ok(());
        }
        let spread = format!("of {} must be less than `ttl`", self.jitter);
        ensure(windows.jitter < ttl, "jitter", &spread)?;
        let window = format!("of {} must be less than `ttl` − `jitter`, or each hit would be a refresh", self.early);
        ensure(windows.early < ttl - windows.jitter, "early", &window)
    }

    fn check_rest(&self, ttl: Nanos, windows: Windows) -> Result<(), PolicyError> {
        let beta = self.beta.unwrap_or(1.0);
        ensure(beta.is_finite() && beta > 0.0, "beta", "must be a number above 0")?;
        ensure(self.beta.is_none() || windows.early > 0 || ttl == 0, "beta", "does nothing without `early`")?;
        let served_late = windows.stale.max(windows.stale_if_error) > 0;
        let alone = "does nothing without `stale` or `stale_if_error`: there is no old value to leave with";
        ensure(self.soft_timeout.is_none() || served_late, "soft_timeout", alone)?;
        ensure(self.timeout != Some(Duration::ZERO), "timeout", "of zero would give up every load")?;
        ensure(self.max_loads != Some(0), "max_loads", "of 0 would let no load begin")?;
        ensure(self.capacity != Some(0), "capacity", "of 0 would hold nothing: use a `ttl` of zero to only coalesce")?;
        ensure(self.lead_after != Some(Duration::ZERO), "lead_after", "of zero would let every caller lead")
    }
}

impl Default for PolicyBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&Policy> for PolicyBuilder {
    fn from(policy: &Policy) -> Self {
        policy.asked.clone()
    }
}

impl From<Policy> for PolicyBuilder {
    fn from(policy: Policy) -> Self {
        policy.asked
    }
}

fn ensure(holds: bool, field: &'static str, message: &str) -> Result<(), PolicyError> {
    if holds { Ok(()) } else { Err(PolicyError::new(field, message)) }
}

/// The getters, here beside the fields they read.
impl Policy {
    /// A builder with the defaults.
    pub const fn builder() -> PolicyBuilder {
        PolicyBuilder::new()
    }

    /// The fresh lifetime, before jitter.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        Duration::from_nanos(self.ttl)
    }

    /// The ± spread of the lifetime.
    #[must_use]
    pub fn jitter(&self) -> Duration {
        Duration::from_nanos(self.windows.jitter)
    }

    /// The refresh window before `fresh_until`.
    #[must_use]
    pub fn early(&self) -> Duration {
        Duration::from_nanos(self.windows.early)
    }

    /// How long after `fresh_until` the value is served while one refresh runs (RFC 5861 stale-while-revalidate).
    #[must_use]
    pub fn stale(&self) -> Duration {
        Duration::from_nanos(self.windows.stale)
    }

    /// How long after `fresh_until` the value is served when its load fails (RFC 5861 stale-if-error).
    #[must_use]
    pub fn stale_if_error(&self) -> Duration {
        Duration::from_nanos(self.windows.stale_if_error)
    }

    /// Lifetime of a `None`; zero: it is not stored.
    #[must_use]
    pub fn none_ttl(&self) -> Duration {
        Duration::from_nanos(self.none_ttl)
    }

    /// Lifetime of an `Err`; zero: it is not stored.
    #[must_use]
    pub fn err_ttl(&self) -> Duration {
        self.asked.err_ttl
    }

    /// After this a load is given up.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.asked.timeout
    }

    /// After this, counted from the flight's start, callers with an old value at hand take it and leave.
    #[must_use]
    pub fn soft_timeout(&self) -> Option<Duration> {
        self.asked.soft_timeout
    }

    /// Most entries in memory; with a weight, most total weight.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.asked.capacity.unwrap_or(10_000)
    }

    /// At most so many loads of the cache run at once.
    #[must_use]
    pub fn max_loads(&self) -> Option<usize> {
        self.asked.max_loads
    }

    /// The longest that one load may keep its key to itself.
    #[must_use]
    pub fn lead_after(&self) -> Duration {
        self.asked.lead_after.unwrap_or(LEAD_AFTER)
    }

    /// Whether `lead_after` was asked for.
    pub(crate) fn says_lead_after(&self) -> bool {
        self.asked.lead_after.is_some()
    }

    /// The first pause after a failed refresh.
    #[must_use]
    pub fn backoff(&self) -> Duration {
        self.asked.backoff
    }

    /// The weight of the probabilistic early refresh.
    #[must_use]
    pub fn beta(&self) -> Option<f64> {
        self.asked.beta
    }

    /// Where loads run.
    #[must_use]
    pub fn run(&self) -> Run {
        self.asked.run
    }

    /// Whether modes entered around a call are ignored.
    pub(crate) fn ignores_modes(&self) -> bool {
        self.asked.ignore_modes
    }

    /// `lead_after` as a moment, counted from `start`.
    pub(crate) fn lead_until(&self, start: Nanos) -> Nanos {
        match saturating_nanos(self.lead_after()) {
            NEVER => NEVER,
            after => start.saturating_add(after),
        }
    }
}
