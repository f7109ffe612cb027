//! The static of one annotated function, through which it finds its caches.
//!
//! It can't be generic, and need not be: what tells the instantiations of a generic function apart is the type of the
//! closure that makes its configuration. A closure that captures nothing is `'static`, whatever types it is written in.

use crate::{
    around, context,
    registry::{self, AnyCache, Slots},
    scope::{CacheScope, Dice},
};
use std::{
    any::TypeId,
    fmt,
    sync::{Arc, LazyLock, OnceLock},
};

/// One annotated function.
pub struct Site {
    name: &'static str,
    /// The cache of the first instantiation that was called: of the only one, but for generic functions.
    first: OnceLock<(TypeId, Arc<dyn AnyCache>)>,
    more: LazyLock<Slots>,
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

    /// The cache of the instantiation `id` in the scope that applies: the argument's, the entered one, the process's.
    pub(crate) fn cache<R>(
        &self,
        id: TypeId,
        scope: Option<&CacheScope>,
        make: &dyn Fn(Dice) -> Arc<dyn AnyCache>,
        found: impl FnOnce(&Arc<dyn AnyCache>) -> R,
    ) -> R {
        if scope.is_none() && context::is_plain() {
            if let Some((first, cache)) = self.first.get() {
                if *first == id {
                    return found(cache);
                }
            }
        }
        found(&self.elsewhere(id, scope, make))
    }

    #[cold]
    fn elsewhere(
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
        match self.first.get_or_init(|| (id, make())) {
            (first, cache) if *first == id => Arc::clone(cache),
            _ => self.more.get_or_make(id, make),
        }
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Site").field(&self.name).finish()
    }
}
