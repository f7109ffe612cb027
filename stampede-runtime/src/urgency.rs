//! Whether a load may wait for its turn.
//!
//! One that holds a permit of `max_loads` may not wait for another, nor may whatever it waits for: the permit that they
//! would wait for may be its own.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{AcqRel, Acquire},
};
use tokio::sync::Notify;

/// Raised once, for good.
#[derive(Debug, Default)]
pub(crate) struct Urgency {
    raised: AtomicBool,
    bell: Notify,
}

impl Urgency {
    /// `true` if it was not raised before: the bell is to be rung.
    pub(crate) fn raise(&self) -> bool {
        !self.raised.swap(true, AcqRel)
    }

    /// Wakes the load, which may be waiting for its turn.
    pub(crate) fn ring(&self) {
        self.bell.notify_one();
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Acquire)
    }

    /// Ends when it is raised. For one who waits.
    pub(crate) async fn wait(&self) {
        while !self.is_raised() {
            self.bell.notified().await;
        }
    }
}
