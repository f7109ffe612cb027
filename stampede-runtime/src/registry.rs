//! Where caches are kept by what they belong to, and what can be done with one of any type.

use crate::{
    mode::{CacheMode, Switch},
    policy::Policy,
    stats::Stats,
};
use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Arc, LazyLock, PoisonError, RwLock, Weak},
};

/// A cache of any type.
pub(crate) trait AnyCache: Send + Sync {
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    fn name(&self) -> &str;
    fn policy(&self) -> &Policy;
    fn stats(&self) -> Stats;
    fn len(&self) -> u64;
    fn clear(&self);
    fn expire(&self);
    fn invalidate_tag(&self, tag: &str);
    fn set_mode(&self, mode: CacheMode);
}

/// The caches of one scope, by the function they belong to (its definition's type tells instantiations apart).
pub(crate) struct Slots(RwLock<HashMap<TypeId, Arc<dyn AnyCache>>>);

impl Slots {
    pub(crate) fn new() -> Self {
        Self(RwLock::new(HashMap::new()))
    }

    pub(crate) fn get_or_make(&self, id: TypeId, make: impl FnOnce() -> Arc<dyn AnyCache>) -> Arc<dyn AnyCache> {
        if let Some(cache) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Arc::clone(cache);
        }
        // Made outside of the lock: the expressions of the policy are the user's. The first to be kept is everybody's.
        let made = make();
        Arc::clone(self.0.write().unwrap_or_else(PoisonError::into_inner).entry(id).or_insert(made))
    }

    pub(crate) fn all(&self) -> Vec<Arc<dyn AnyCache>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// All caches of the process that belong to no scope of a user's, as long as they live.
static PROCESS: LazyLock<RwLock<Vec<Weak<dyn AnyCache>>>> = LazyLock::new(|| RwLock::new(Vec::new()));

/// The mode in which a cache of the process begins.
static FIRST_MODE: Switch = Switch::new();

/// Sets the mode in which caches of the process begin.
pub(crate) fn set_first_mode(mode: CacheMode) {
    FIRST_MODE.set(mode);
}

/// Has `caches()` list the cache.
pub(crate) fn register(cache: &Arc<dyn AnyCache>) {
    cache.set_mode(FIRST_MODE.get());
    let mut caches = PROCESS.write().unwrap_or_else(PoisonError::into_inner);
    caches.retain(|cache| cache.strong_count() > 0);
    caches.push(Arc::downgrade(cache));
}

pub(crate) fn process_caches() -> Vec<Arc<dyn AnyCache>> {
    PROCESS.read().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
}
