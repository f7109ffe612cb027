//! Many caches at once.

use crate::{
    around,
    handle::{CacheHandle, Reach},
    mode::CacheMode,
    registry,
    scope::CacheScope,
};
use std::future::ready;

impl CacheScope {
    /// The caches that were used in this scope.
    #[must_use]
    pub fn caches(&self) -> Vec<CacheHandle> {
        self.all().into_iter().map(CacheHandle::new).collect()
    }
}

/// All caches that have been used: of the scope that was entered here, else of the process.
///
/// ```no_run
/// use stampede_runtime::{CacheMode, caches};
///
/// // A kill switch: every call runs its body from now on.
/// caches().set_mode(CacheMode::Bypass);
/// ```
#[must_use]
pub fn caches() -> Caches {
    let scope = around::entered();
    let of_process = scope.is_none();
    let caches = scope.map_or_else(registry::process_caches, |scope| scope.all());
    Caches { handles: caches.into_iter().map(CacheHandle::new).collect(), of_process }
}

/// Many caches at once. See [`caches`].
#[derive(Clone, Debug)]
pub struct Caches {
    handles: Vec<CacheHandle>,
    of_process: bool,
}

impl Caches {
    /// Each cache.
    pub fn iter(&self) -> impl Iterator<Item = &CacheHandle> {
        self.handles.iter()
    }

    /// The cache of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&CacheHandle> {
        self.iter().find(|cache| cache.name() == name)
    }

    /// Sets the mode of all of them, and of those that are first used later, if these are the caches of the process.
    pub fn set_mode(&self, mode: CacheMode) {
        if self.of_process {
            registry::set_first_mode(mode);
        }
        self.iter().for_each(|cache| cache.set_mode(mode));
    }

    /// [`CacheHandle::clear`] for all of them.
    pub fn clear(&self) -> impl Future<Output = Reach> + Send + use<> {
        self.iter().for_each(|cache| drop(cache.clear()));
        ready(Reach::Everywhere)
    }

    /// [`CacheHandle::expire`] for all of them.
    pub fn expire(&self) -> impl Future<Output = Reach> + Send + use<> {
        self.iter().for_each(|cache| drop(cache.expire()));
        ready(Reach::Everywhere)
    }

    /// [`CacheHandle::invalidate_tag`] for all of them.
    pub fn invalidate_tag(&self, tag: &str) -> impl Future<Output = Reach> + Send + use<> {
        self.iter().for_each(|cache| drop(cache.invalidate_tag(tag)));
        ready(Reach::Everywhere)
    }
}

impl IntoIterator for Caches {
    type Item = CacheHandle;
    type IntoIter = std::vec::IntoIter<CacheHandle>;

    fn into_iter(self) -> Self::IntoIter {
        self.handles.into_iter()
    }
}
