//! Scopes: sets of caches that belong together.

use crate::registry::{AnyCache, Slots};
use std::{
    any::TypeId,
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// A set of caches of its own: apart from the process's, and freed with its last handle.
///
/// ```
/// use stampede_runtime::{CacheScope, stampede_cached};
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// static CALLS: AtomicU32 = AtomicU32::new(0);
///
/// #[stampede_cached(ttl = 60)]
/// async fn call() -> u32 {
///     CALLS.fetch_add(1, Relaxed)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let tenant = CacheScope::new();
/// assert_eq!(call().await, 0);
/// assert_eq!(tenant.enter(call()).await, 1);
/// assert_eq!(call().await, 0);
/// # }
/// ```
#[derive(Clone)]
pub struct CacheScope(Arc<Inner>);

struct Inner {
    slots: Slots,
    dice: Dice,
}

/// A scope as what runs in it knows it: a load must not keep the memory of a scope that was dropped.
#[derive(Clone, Debug)]
pub(crate) struct WeakScope(Weak<Inner>);

impl WeakScope {
    /// The scope; of one that was dropped, an empty one in its place.
    pub(crate) fn upgrade(&self) -> CacheScope {
        self.0.upgrade().map(CacheScope).unwrap_or_default()
    }
}

/// Where random numbers come from: the thread's generator, or the seeded one of a scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dice(Option<Arc<Mutex<fastrand::Rng>>>);

impl Dice {
    /// An even number in [0, 1).
    pub(crate) fn draw(&self) -> f64 {
        match &self.0 {
            Some(seeded) => seeded.lock().unwrap_or_else(PoisonError::into_inner).f64(),
            None => fastrand::f64(),
        }
    }
}

impl CacheScope {
    /// A scope without caches; each function's is made when it is first called in it.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Inner { slots: Slots::new(), dice: Dice::default() }))
    }

    /// A scope in which jitter, and all else that is drawn, follows from `seed`: for tests that must repeat.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Inner {
            slots: Slots::new(),
            dice: Dice(Some(Arc::new(Mutex::new(fastrand::Rng::with_seed(seed))))),
        }))
    }

    pub(crate) fn all(&self) -> Vec<Arc<dyn AnyCache>> {
        self.0.slots.all()
    }

    pub(crate) fn cache(&self, id: TypeId, make: impl FnOnce() -> Arc<dyn AnyCache>) -> Arc<dyn AnyCache> {
        self.0.slots.get_or_make(id, make)
    }

    pub(crate) fn dice(&self) -> Dice {
        self.0.dice.clone()
    }

    pub(crate) fn downgrade(&self) -> WeakScope {
        WeakScope(Arc::downgrade(&self.0))
    }
}

impl Default for CacheScope {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CacheScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.all().iter().map(|cache| cache.name().to_owned()).collect();
        f.debug_struct("CacheScope").field("caches", &names).finish()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scope")
    }
}
