//! What a cache's types are, and what has to be asked of them by whoever does not know them.

use crate::{
    cache::Key,
    erased::{AnyValue, Item, SharedKey, Stored, take},
    error::SharedError,
    memory::{AnyMemory, Memory, ShardsOf, item},
    outcome::Outcome,
};
use std::{any::TypeId, sync::Arc, time::Duration};

/// A value that decides how long it lives.
pub(crate) type TtlOf<V> = fn(&V) -> Option<Duration>;

/// What the user's callbacks say about values and errors.
pub(crate) struct Hooks<O: Outcome> {
    pub(crate) ttl_of: Option<TtlOf<O::Value>>,
    pub(crate) outage: Option<fn(&O::Error) -> bool>,
    pub(crate) weight: Option<fn(&O::Value) -> u32>,
}

#[expect(clippy::expl_impl_clone_on_copy, reason = "a derive would ask it of what function pointers are about")]
impl<O: Outcome> Clone for Hooks<O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O: Outcome> Copy for Hooks<O> {}

impl<O: Outcome> Default for Hooks<O> {
    fn default() -> Self {
        Self { ttl_of: None, outage: None, weight: None }
    }
}

/// A return type, with the user's callbacks for it.
pub(crate) struct Kind<O: Outcome> {
    pub(crate) outcome: O,
    pub(crate) hooks: Hooks<O>,
}

#[expect(clippy::expl_impl_clone_on_copy, reason = "a derive would ask it of what function pointers are about")]
impl<O: Outcome> Clone for Kind<O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O: Outcome> Copy for Kind<O> {}

/// The keys and values of a cache, and what can be asked of them.
pub(crate) struct Typed<K, O: Outcome> {
    pub(super) kind: Kind<O>,
    pub(super) memory: Memory<ShardsOf<K, O::Value, O::Failure>>,
}

/// For so many entries a cache is laid out that is bounded by weight: nobody has said how many there will be.
const WEIGHED: u64 = 1 << 20;

impl<K, O: Outcome> Typed<K, O> {
    pub(super) fn new(capacity: u64, kind: Kind<O>) -> Self {
        let entries = if kind.hooks.weight.is_some() { capacity.min(WEIGHED) } else { capacity };
        Self { kind, memory: Memory::new(capacity, entries) }
    }
}

/// A cache's types, as those ask who don't know them.
pub(crate) trait Types: Send + Sync {
    fn memory(&self) -> &AnyMemory;
    /// The type of the values.
    fn value_type(&self) -> TypeId;
    /// What memory keeps of a key and its value: copies, which the user's `Clone` makes.
    fn item(&self, key: &SharedKey, value: &Stored) -> Item;
    fn is_none(&self, value: &AnyValue) -> bool;
    fn ttl_of(&self, value: &AnyValue) -> Option<Duration>;
    fn weight(&self, value: &AnyValue) -> u32;
    /// The failure of a load that the runtime gave up, where the error type can say so.
    fn give_up(&self, error: SharedError) -> Option<AnyValue>;
}

impl<K: Key, O: Outcome> Typed<K, O> {
    fn of(value: &AnyValue) -> &O::Value {
        match value.downcast_ref() {
            Some(value) => value,
            None => unreachable!("a cache's values have one type"),
        }
    }
}

impl<K: Key, O: Outcome> Types for Typed<K, O> {
    fn memory(&self) -> &AnyMemory {
        &self.memory
    }

    fn value_type(&self) -> TypeId {
        TypeId::of::<O::Value>()
    }

    fn item(&self, key: &SharedKey, value: &Stored) -> Item {
        let Some(key) = key.as_any().downcast_ref::<K>() else { unreachable!("a cache's keys have one type") };
        let value: Result<O::Value, O::Failure> = match value {
            Ok(value) => Ok(Self::of(value).clone()),
            Err(failure) => Err(take(Arc::clone(failure))),
        };
        item(key.clone(), value)
    }

    fn is_none(&self, value: &AnyValue) -> bool {
        self.kind.outcome.is_none(Self::of(value))
    }

    fn ttl_of(&self, value: &AnyValue) -> Option<Duration> {
        self.kind.hooks.ttl_of.and_then(|ttl_of| ttl_of(Self::of(value)))
    }

    fn weight(&self, value: &AnyValue) -> u32 {
        self.kind.hooks.weight.map_or(1, |weight| weight(Self::of(value)))
    }

    fn give_up(&self, error: SharedError) -> Option<AnyValue> {
        let failure = self.kind.outcome.give_up(error)?;
        Some(Arc::new(failure))
    }
}
