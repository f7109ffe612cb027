//! The conductor: it alone sees entries, flights, the policy and the clock together.
//!
//! [`Core`] is the cache of one annotated function. `look` answers from memory, `begin` is where each call begins and
//! `ride` what it does if it could not be answered, `load` runs the loader, `land` ends its flight, `put` fills memory,
//! `change` is what users do to entries. A store between memory and the loader belongs here, in `ride`, `load` and
//! `land`, and nowhere else.
//!
//! Only `types`, `begin` and `look` know keys and values by their types, and only as far as a hit needs it: all else is
//! written for [`AnyCore`], and compiled once.

mod batch;
mod begin;
mod change;
mod deadline;
mod land;
mod load;
mod look;
mod put;
mod ride;
mod types;

use crate::{
    clock::NEVER,
    context::Held,
    erased::SharedKey,
    flight::Flights,
    memory::AnyMemory,
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
pub(crate) use begin::{Call, begin, begin_slowly, hit};
use hashbrown::DefaultHashBuilder;
pub(crate) use load::{Answered, Job};
pub(crate) use ride::{Answer, BoxedLoad, Ride, Started, Step};
use std::{
    any::{Any, TypeId},
    fmt,
    hash::Hash,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64},
    },
};
use tokio::sync::Semaphore;
pub(crate) use types::{Hooks, Kind, Typed, Types};

/// What an owned key is.
pub trait Key: Hash + Eq + Clone + Send + Sync + 'static {}
impl<K: Hash + Eq + Clone + Send + Sync + 'static> Key for K {}

/// Checks a policy beside the return type and the callbacks that it is for.
pub(crate) fn check<O: Outcome>(policy: PolicyBuilder, kind: &Kind<O>) -> Result<Policy, PolicyError> {
    let weighs = kind.hooks.weight.is_some();
    if weighs && !policy.says_capacity() {
        return Err(PolicyError::new("capacity", "is required with `weight`: say the most total weight"));
    }
    let policy = policy.build()?;
    if policy.timeout().is_some() && !kind.outcome.can_give_up() {
        return Err(PolicyError::new("timeout", "can't be reported: the function has no error to report it with"));
    }
    Ok(policy)
}

/// The cache of one annotated function, or of one [`Cache`](crate::Cache).
pub(crate) struct Core<T: ?Sized> {
    me: Arc<Me>,
    name: Arc<str>,
    policy: Policy,
    flights: Flights,
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
    types: T,
}

/// A cache of any types.
pub(crate) type AnyCore = Core<dyn Types>;

/// The cache itself, as those know it who must not keep it: its loads and its sweeper.
struct Me(Weak<AnyCore>);

impl<K: Key, O: Outcome> Core<Typed<K, O>> {
    pub(crate) fn new(name: &str, policy: Policy, kind: Kind<O>, dice: Dice) -> Arc<Self> {
        Arc::new_cyclic(|me: &Weak<Self>| {
            let me: Weak<AnyCore> = me.clone();
            Self {
                me: Arc::new(Me(me)),
                name: name.into(),
                flights: Flights::new(),
                tags: TagIndex::default(),
                permits: permits(&policy),
                switch: Switch::new(),
                counters: Counters::new(),
                cost: AtomicU64::new(0),
                hasher: DefaultHashBuilder::default(),
                dice,
                sweep_at: AtomicU64::new(NEVER),
                warned_of_weight: AtomicBool::new(false),
                types: Typed::new(policy.capacity(), kind),
                policy,
            }
        })
    }

    /// The cache as all that is compiled once sees it.
    pub(crate) fn any(&self) -> &AnyCore {
        self
    }
}

impl<T: ?Sized> Core<T> {
    pub(crate) fn hash(&self, key: &impl Hash) -> u64 {
        use std::hash::BuildHasher;
        self.hasher.hash_one(key)
    }

    /// Where its loads run.
    pub(crate) fn run(&self) -> Run {
        self.policy.run()
    }

    /// The cache itself, to be kept.
    pub(crate) fn keep(&self) -> Option<Arc<AnyCore>> {
        self.me.0.upgrade()
    }
}

impl AnyCore {
    fn memory(&self) -> &AnyMemory {
        self.types.memory()
    }

    /// The cache, for those who must not keep it.
    fn weak(&self) -> Weak<Self> {
        Weak::clone(&self.me.0)
    }

    /// The cache, as its loads see it.
    fn held(&self) -> Weak<dyn Held> {
        let me: Weak<Me> = Arc::downgrade(&self.me);
        me
    }

    pub(crate) fn value_type(&self) -> TypeId {
        self.types.value_type()
    }
}

impl<K: Key, O: Outcome> AnyCache for Core<Typed<K, O>> {
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn stats(&self) -> Stats {
        self.counters.read(self.len())
    }

    fn len(&self) -> u64 {
        self.any().memory().len()
    }

    fn clear(&self) {
        self.any().clear_all();
    }

    fn expire(&self) {
        self.any().expire_all();
    }

    fn invalidate_tag(&self, tag: &str) {
        self.any().invalidate_tagged(tag);
    }

    fn set_mode(&self, mode: CacheMode) {
        self.switch.set(mode);
    }
}

impl<T: ?Sized> fmt::Debug for Core<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("name", &self.name).field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// What limits the loads that run at once.
fn permits(policy: &Policy) -> Option<Arc<Semaphore>> {
    policy.max_loads().map(|most| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))))
}

/// Whether a key is this one.
fn is(key: &SharedKey) -> impl Fn(&dyn Any) -> bool {
    |other| key.matches(other)
}

#[cfg(test)]
mod tests;
