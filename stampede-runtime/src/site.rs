//! The static of one annotated function, through which it finds its caches.
//!
//! It can't be generic, and need not be: what tells the instantiations of a generic function apart is the type of the
//! closure that makes its configuration. A closure that captures nothing is `'static`, whatever types it is written in.

use crate::{
    around,
    registry::{self, AnyCache, Slots},
    scope::{CacheScope, Dice},
};
use std::{
    any::{Any, TypeId},
    fmt,
    sync::{Arc, LazyLock, OnceLock},
};

/// One annotated function.
pub struct Site {
    name: &'static str,
    /// The cache of the first instantiation that was called: of the only one, but for generic functions.
    first: OnceLock<First>,
    more: LazyLock<Slots>,
}

struct First {
    id: TypeId,
    cache: Arc<dyn AnyCache>,
    /// The same, to be had by its type with one look.
    any: Arc<dyn Any + Send + Sync>,
}

impl First {
    fn new(id: TypeId, cache: Arc<dyn AnyCache>) -> Self {
        Self { id, any: Arc::clone(&cache).into_any(), cache }
    }
}

impl Site {
    /// The site of the function `name`.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, first: OnceLock::new(), more: LazyLock::new(Slots::new) }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The process's cache of the instantiation `id`, if it was the first one to be called.
    #[inline]
    pub(crate) fn first<C: 'static>(&self, id: TypeId) -> Option<&C> {
        let first = self.first.get().filter(|first| first.id == id)?;
        first.any.downcast_ref()
    }

    /// The cache of the instantiation `id` in the scope that applies: the argument's, the entered one, the process's.
    #[cold]
    pub(crate) fn cache(
        &self,
        id: TypeId,
        scope: Option<&CacheScope>,
        make: &dyn Fn(Dice) -> Arc<dyn AnyCache>,
    ) -> Arc<dyn AnyCache> {
        if let Some(scope) = scope.cloned().or_else(around::entered) {
            return scope.cache(id, || make(scope.dice()));
        }
        let make = || {
            let cache = make(Dice::default());
            registry::register(&cache);
            cache
        };
        match self.first.get_or_init(|| First::new(id, make())) {
            First { id: first, cache, .. } if *first == id => Arc::clone(cache),
            First { .. } => self.more.get_or_make(id, make),
        }
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Site").field(&self.name).finish()
    }
}
