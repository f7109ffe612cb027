//! The conductor: it alone sees entries, flights, the policy and the clock together.
//!
//! [`Core`] is the cache of one annotated function. `look` answers from memory, `begin` is where each call begins and
//! `ride` what it does if it could not be answered, `load` runs the loader, `land` ends its flight, `put` fills memory, `change` is what users do to entries.
//! A store between memory and the loader belongs here, in `ride`, `load` and `land`, and nowhere else.

mod batch;
mod begin;
mod change;
mod deadline;
mod land;
mod load;
mod look;
mod put;
mod ride;

use crate::{
    clock::{NEVER, Nanos},
    context::Held,
    flight::Flights,
    memory::Memory,
    mode::{CacheMode, Switch},
    outcome::Outcome,
    policy::{Policy, PolicyBuilder, PolicyError, Run},
    registry::AnyCache,
    scope::Dice,
    stats::{Counters, Stats},
    tags::TagIndex,
};
pub(crate) use batch::{Members, ride_batch};
pub use begin::Begin;
pub(crate) use begin::Call;
use hashbrown::DefaultHashBuilder;
pub(crate) use load::Job;
pub(crate) use ride::{BoxedLoad, Ride, Started, Step};
use std::{
    any::Any,
    fmt,
    hash::Hash,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64},
    },
    time::Duration,
};
use tokio::sync::Semaphore;

/// What an owned key is.
pub trait Key: Hash + Eq + Clone + Send + Sync + 'static {}
impl<K: Hash + Eq + Clone + Send + Sync + 'static> Key for K {}

/// What memory holds: a value, or an error with a lifetime.
pub(crate) type Stored<O> = Result<<O as Outcome>::Value, <O as Outcome>::Failure>;

/// A flight of a cache with this outcome.
pub(crate) type Flight<O> = crate::flight::Flight<<O as Outcome>::Value, <O as Outcome>::Failure>;

/// A value that decides how long it lives.
pub(crate) type TtlOf<V> = fn(&V) -> Option<Duration>;

/// What the user's callbacks say about values and errors.
pub(crate) struct Hooks<O: Outcome> {
    pub(crate) ttl_of: Option<TtlOf<O::Value>>,
    pub(crate) outage: Option<fn(&O::Error) -> bool>,
    pub(crate) weight: Option<fn(&O::Value) -> u32>,
}

impl<O: Outcome> Default for Hooks<O> {
    fn default() -> Self {
        Self { ttl_of: None, outage: None, weight: None }
    }
}

/// Checks a policy beside the return type and the callbacks that it is for.
pub(crate) fn check<O: Outcome>(policy: PolicyBuilder, outcome: &O, hooks: &Hooks<O>) -> Result<Policy, PolicyError> {
    let weighs = hooks.weight.is_some();
    if weighs && !policy.says_capacity() {
        return Err(PolicyError::new("capacity", "is required with `weight`: say the most total weight"));
    }
    let policy = policy.build()?;
    if policy.timeout().is_some() && !outcome.can_give_up() {
        return Err(PolicyError::new("timeout", "can't be reported: the function has no error to report it with"));
    }
    Ok(policy)
}

/// The cache of one annotated function, or of one [`Cache`](crate::Cache).
pub(crate) struct Core<K, O: Outcome> {
    me: Weak<Self>,
    name: Arc<str>,
    policy: Policy,
    outcome: O,
    hooks: Hooks<O>,
    memory: Memory<K, Stored<O>>,
    flights: Flights<K, O::Value, O::Failure>,
    tags: TagIndex,
    permits: Option<Arc<Semaphore>>,
    switch: Switch,
    counters: Counters,
    /// The smoothed cost of a load in nanoseconds; 0 before the first.
    cost: AtomicU64,
    hasher: DefaultHashBuilder,
    dice: Dice,
    /// When the next sweep is set for.
    sweep_at: AtomicU64,
    warned_of_weight: AtomicBool,
}

impl<K: Key, O: Outcome> Core<K, O> {
    pub(crate) fn new(name: &str, policy: Policy, outcome: O, hooks: Hooks<O>, dice: Dice) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            name: name.into(),
            memory: Memory::new(policy.capacity()),
            flights: Flights::new(),
            tags: TagIndex::default(),
            permits: policy.max_loads().map(|most| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))),
            policy,
            outcome,
            hooks,
            switch: Switch::new(),
            counters: Counters::new(),
            cost: AtomicU64::new(0),
            hasher: DefaultHashBuilder::default(),
            dice,
            sweep_at: AtomicU64::new(NEVER),
            warned_of_weight: AtomicBool::new(false),
        })
    }

    /// The cache itself, to be kept.
    pub(crate) fn keep(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }

    /// Where its loads run.
    pub(crate) fn run(&self) -> Run {
        self.policy.run()
    }

    /// The cache, as its loads see it.
    fn held(&self) -> Weak<dyn Held> {
        self.me.clone()
    }

    pub(crate) fn hash(&self, key: &impl Hash) -> u64 {
        use std::hash::BuildHasher;
        self.hasher.hash_one(key)
    }
}

impl<K: Key, O: Outcome> AnyCache for Core<K, O> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn stats(&self) -> Stats {
        self.counters.read(self.memory.len())
    }

    fn len(&self) -> u64 {
        self.memory.len()
    }

    fn clear(&self) {
        self.clear_all();
    }

    fn expire(&self) {
        self.expire_all();
    }

    fn invalidate_tag(&self, tag: &str) {
        self.invalidate_tagged(tag);
    }

    fn set_mode(&self, mode: CacheMode) {
        self.switch.set(mode);
    }
}

impl<K, O: Outcome> fmt::Debug for Core<K, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("name", &self.name).field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// How far the clock of the hits on entries of this clock can be behind.
pub(crate) fn resolution(clock: crate::clock::Clock) -> Nanos {
    match clock {
        crate::clock::Clock::Real => crate::clock::resolution(),
        crate::clock::Clock::Paused(_) => 0,
    }
}

#[cfg(test)]
mod tests;
