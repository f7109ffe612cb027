//! What is told to `tracing`: one place for all spans and events, with nothing at a hit.
//!
//! Keys are in none of them: they may be personal data.

#[cfg(feature = "tracing")]
mod real {
    use std::{fmt, time::Duration};
    use tracing::{Instrument, Span};

    /// The span of one load, inside the leader's. A refresh outlives the call that began it: it follows from its span.
    pub(crate) fn load_span(cache: &str, refresh: bool) -> Span {
        let reason = if refresh { "refresh" } else { "miss" };
        if !refresh {
            return tracing::info_span!("stampede.load", cache, reason);
        }
        let span = tracing::info_span!(parent: None, "stampede.load", cache, reason);
        span.follows_from(Span::current());
        span
    }

    /// Runs `future` in `span`.
    pub(crate) fn inside<F: Future>(span: Span, future: F) -> impl Future<Output = F::Output> {
        future.instrument(span)
    }

    pub(crate) use tracing::Span as LoadSpan;

    pub(crate) fn load_failed(cache: &str, how: impl fmt::Display, served_old: bool) {
        tracing::warn!(cache, %how, served_old, "a load failed");
    }

    pub(crate) fn pause(cache: &str, pause: Duration) {
        tracing::warn!(cache, ?pause, "no refresh begins until the pause is over");
    }

    pub(crate) fn self_deadlock(chain: &str) {
        tracing::error!(chain, "a cached function waits for itself");
    }

    pub(crate) fn led_anew(cache: &str) {
        tracing::warn!(cache, "a load kept its key for longer than `lead_after`: another is begun");
    }

    pub(crate) fn over_limit(cache: &str) {
        tracing::debug!(cache, "a load below a load that holds a permit runs over `max_loads`");
    }

    pub(crate) fn too_heavy(cache: &str, weight: u32, capacity: u64) {
        tracing::warn!(cache, weight, capacity, "a value is heavier than the capacity and is not stored; said once");
    }
}

#[cfg(not(feature = "tracing"))]
mod real {
    use std::{fmt, time::Duration};

    #[derive(Clone, Debug)]
    pub(crate) struct LoadSpan;

    impl LoadSpan {
        #[expect(clippy::unused_self, reason = "as a real span has it")]
        pub(crate) fn in_scope<R>(&self, f: impl FnOnce() -> R) -> R {
            f()
        }
    }

    pub(crate) fn load_span(_: &str, _: bool) -> LoadSpan {
        LoadSpan
    }

    pub(crate) fn inside<F: Future>(_: LoadSpan, future: F) -> F {
        future
    }

    pub(crate) fn load_failed(_: &str, _: impl fmt::Display, _: bool) {}

    pub(crate) fn pause(_: &str, _: Duration) {}

    pub(crate) fn self_deadlock(_: &str) {}

    pub(crate) fn led_anew(_: &str) {}

    pub(crate) fn over_limit(_: &str) {}

    pub(crate) fn too_heavy(_: &str, _: u32, _: u64) {}
}

pub(crate) use real::*;
