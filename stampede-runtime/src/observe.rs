//! How calls were answered, as [`observe`](crate::observe()) tells it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How one cached call was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    cache: Arc<str>,
    how: How,
    age: Duration,
}

/// The ways to answer a cached call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum How {
    /// A fresh value from memory.
    Fresh,
    /// A value in its early window, from memory.
    Early,
    /// A value past `fresh_until`.
    Stale(StaleReason),
    /// The call led a load and got its answer, be it a value or an error.
    Loaded,
    /// The call got the answer of a load that another had begun.
    Joined,
}

/// Why an old value was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StaleReason {
    /// `stale` allows it while a refresh runs.
    Refreshing,
    /// Its load failed a short while ago, and none begins for a pause.
    Paused,
    /// The load took longer than `soft_timeout`.
    SlowLoad,
    /// The load failed.
    LoadFailed,
}

impl Served {
    pub(crate) fn new(cache: &Arc<str>, how: How, age: Duration) -> Self {
        Self { cache: Arc::clone(cache), how, age }
    }

    /// The name of the cache.
    #[must_use]
    pub fn cache(&self) -> &str {
        &self.cache
    }

    /// How the call was answered.
    #[must_use]
    pub fn how(&self) -> How {
        self.how
    }

    /// How long ago the value was stored; zero for one that was loaded for this call.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.age
    }
}

/// Where the answers of calls are told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observer(Arc<Mutex<Vec<Served>>>);

impl Observer {
    pub(crate) fn take(&self) -> Vec<Served> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn tell(&self, served: Served) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(served);
    }
}
