//! Keys and values of any type, as everything behind a hit sees them.
//!
//! A hit is compiled for each key and return type; it must be fast. What follows a miss runs once for many calls, and is
//! compiled once: there are as many types in a program as functions, and the machine that leads, lands and stores is large.

use crate::{cache::Key, key::KeyRef};
use std::{any::Any, fmt, sync::Arc};

/// A value, or an error that is shared, of any type.
pub(crate) type AnyValue = Arc<dyn Any + Send + Sync>;

/// What a call is answered with, and memory holds: a value, or an error with a lifetime.
pub(crate) type Stored = Result<AnyValue, AnyValue>;

/// An owned key of any type.
pub(crate) type SharedKey = Arc<dyn AnyKey>;

/// A key with its value, as memory keeps them: an `Option` of the pair, to be taken out of its box.
pub(crate) type Item = Box<dyn Any + Send + Sync>;

/// An owned key of any type.
pub(crate) trait AnyKey: Send + Sync {
    /// Whether the other one is equal: of the same cache, it has the same type.
    fn matches(&self, other: &dyn Any) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<K: Key> AnyKey for K {
    fn matches(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<K>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for dyn AnyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys may be personal data.
        f.write_str("Key")
    }
}

/// A key of any type, as a call has it: see [`KeyRef`].
pub(crate) trait AnyKeyRef {
    /// Whether this is that owned key.
    fn matches(&self, owned: &dyn Any) -> bool;
    /// The key to keep.
    fn to_shared(&self) -> SharedKey;
}

impl<Q: KeyRef> AnyKeyRef for Q {
    fn matches(&self, owned: &dyn Any) -> bool {
        owned.downcast_ref().is_some_and(|owned| self.is(owned))
    }

    fn to_shared(&self) -> SharedKey {
        Arc::new(self.to_key())
    }
}

/// A value, or an error, whose type is not needed any more.
pub(crate) fn erase<V: Send + Sync + 'static, F: Send + Sync + 'static>(value: Result<V, F>) -> Stored {
    match value {
        Ok(value) => Ok(Arc::new(value)),
        Err(failure) => Err(Arc::new(failure)),
    }
}

/// The value itself. `T` must be its type.
pub(crate) fn take<T: Clone + Send + Sync + 'static>(value: AnyValue) -> T {
    match value.downcast::<T>() {
        Ok(value) => Arc::unwrap_or_clone(value),
        Err(_) => unreachable!("a cache's values have one type"),
    }
}

/// Whether keys are the one that is looked for.
pub(crate) type Is<'a> = &'a dyn Fn(&dyn Any) -> bool;
