//! What the companions of an annotated function return: [`CacheHandle`] and [`Entry`].

use crate::{
    cache::AnyCore,
    context::{Change, Tag, within},
    erased::{AnyKeyRef, AnyValue, SharedKey, take},
    mode::{CacheMode, Capture, Mode},
    policy::{Freshness, Policy},
    registry::AnyCache,
    stats::Stats,
};
use std::{
    any::{Any, TypeId},
    fmt,
    future::ready,
    marker::PhantomData,
    pin::pin,
    sync::{Arc, PoisonError},
    task::{Context, Waker},
};

/// How far a change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reach {
    /// It holds wherever the cache is seen.
    Everywhere,
    /// It holds in this process; the store could not be reached and will be told later.
    Pending,
}

/// The cache behind one annotated function.
#[derive(Clone)]
pub struct CacheHandle(Arc<dyn AnyCache>);

impl CacheHandle {
    pub(crate) fn new(cache: Arc<dyn AnyCache>) -> Self {
        Self(cache)
    }

    /// The cache's name: the `name` of the attribute, or module path :: function.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// How the cache treats its entries.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.0.policy()
    }

    /// What the cache has done.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }

    /// The number of entries in memory, expired ones that were not freed yet included.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there are no entries in memory.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the mode of the cache's calls that have none of their own.
    pub fn set_mode(&self, mode: CacheMode) {
        self.0.set_mode(mode);
    }

    /// Removes all entries. Loads that run now serve their callers and are not stored.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn clear(&self) -> impl Future<Output = Reach> + Send + use<> {
        self.0.clear();
        ready(Reach::Everywhere)
    }

    /// Keeps all entries, as if their `fresh_until` were now.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn expire(&self) -> impl Future<Output = Reach> + Send + use<> {
        self.0.expire();
        ready(Reach::Everywhere)
    }

    /// Removes all entries that carry the tag. Loads that will make such entries are not stored.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn invalidate_tag(&self, tag: &str) -> impl Future<Output = Reach> + Send + use<> {
        self.0.invalidate_tag(tag);
        ready(Reach::Everywhere)
    }
}

impl fmt::Debug for CacheHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheHandle").field("name", &self.name()).field("policy", self.policy()).finish()
    }
}

/// The entry of one key: there, or not yet.
pub struct Entry<'a, T> {
    core: Arc<AnyCore>,
    hash: u64,
    key: Box<dyn AnyKeyRef + Send + Sync + 'a>,
    /// The tags of what is planted.
    tags: Vec<Tag>,
    _value: PhantomData<fn() -> T>,
}

/// A key that is owned already.
struct OwnedKey(SharedKey);

impl AnyKeyRef for OwnedKey {
    fn matches(&self, owned: &dyn Any) -> bool {
        self.0.matches(owned)
    }

    fn to_shared(&self) -> SharedKey {
        Arc::clone(&self.0)
    }
}

impl<T> Entry<'static, T> {
    pub(crate) fn owned(hash: u64, core: Arc<AnyCore>, key: SharedKey) -> Self {
        Self::new(hash, core, OwnedKey(key))
    }
}

impl<'a, T> Entry<'a, T> {
    /// The entry in a cache whose values are `T`s.
    pub(crate) fn new(hash: u64, core: Arc<AnyCore>, key: impl AnyKeyRef + Send + Sync + 'a) -> Self {
        Self { core, hash, key: Box::new(key), tags: Vec::new(), _value: PhantomData }
    }

    pub(crate) fn tagged(mut self, tags: Vec<Tag>) -> Self {
        self.tags = tags;
        self
    }

    /// The state of the entry; `None` if there is none that may be served in any case.
    #[must_use]
    pub fn state(&self) -> Option<Freshness> {
        self.core.state(self.hash, &|owned| self.key.matches(owned))
    }

    /// Keeps the value, as if its `fresh_until` were now. A load that runs now is stored as already expired.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn expire(&self) -> impl Future<Output = Reach> + Send + use<T> {
        self.core.expire_key(self.hash, &|owned| self.key.matches(owned));
        ready(Reach::Everywhere)
    }

    /// Removes the entry. A load that runs now serves its callers and is not stored.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn invalidate(&self) -> impl Future<Output = Reach> + Send + use<T> {
        self.core.invalidate(self.hash, &|owned| self.key.matches(owned));
        ready(Reach::Everywhere)
    }
}

impl<T: Clone + Send + Sync + 'static> Entry<'_, T> {
    /// What a call would get without loading: fresh, early or stale. Starts nothing and counts nothing.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn get(&self) -> impl Future<Output = Option<T>> + use<T> {
        ready(self.core.peek(self.hash, &*self.key).map(take))
    }

    /// Plants a value, as if a load had ended with it now. Loads that run now do not replace it.
    ///
    /// It carries the tags of the attribute, as far as they follow from the companion's parameters, else those of the
    /// entry that it replaces.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn insert(&self, value: T) -> impl Future<Output = Reach> + Send + use<T> {
        self.core.insert(self.hash, &*self.key, Arc::new(value), &self.tags);
        ready(Reach::Everywhere)
    }

    /// Removes the entry if `condition` holds for its value, of which it sees a clone. A load that runs now is not stored
    /// in either case.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn invalidate_if<C>(&self, mut condition: C) -> impl Future<Output = Reach> + Send + use<T, C>
    where
        C: FnMut(&T) -> bool,
    {
        let mut holds = |value: &AnyValue| value.downcast_ref().is_none_or(&mut condition);
        self.core.invalidate_if(self.hash, &|owned| self.key.matches(owned), &mut holds);
        ready(Reach::Everywhere)
    }
}

/// The entry of the cached call that `call` would make: where no companion can be named, as for trait objects, trait
/// methods and generic functions.
///
/// `call` is polled once, with the first cached call that it reaches told to do nothing, and dropped. `None` if it
/// reaches none, or one whose value is no `T`.
///
/// ```
/// use stampede_runtime::{entry_of, stampede_cached};
///
/// #[stampede_cached(ttl = 60)]
/// async fn show<T: ToString + std::hash::Hash + Eq + Clone + Send + Sync + 'static>(value: T) -> String {
///     value.to_string()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let entry = entry_of::<String>(show(7_u32)).unwrap();
/// entry.insert(String::from("seven")).await;
/// assert_eq!(show(7_u32).await, "seven");
/// # }
/// ```
pub fn entry_of<T: 'static>(call: impl Future) -> Option<Entry<'static, T>> {
    let captured = Capture::default();
    let call = pin!(within(Change::Mode(Mode::Capture(Arc::clone(&captured))), call));
    let _ = call.poll(&mut Context::from_waker(Waker::noop()));
    let entry = captured.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    let Captured { hash, core, key } = *entry.downcast().ok()?;
    (core.value_type() == TypeId::of::<T>()).then(|| Entry::owned(hash, core, key))
}

/// What identifies an entry of any type.
struct Captured {
    hash: u64,
    core: Arc<AnyCore>,
    key: SharedKey,
}

/// Hands the entry of a call out to who asks for it instead of an answer.
pub(crate) fn capture(core: &AnyCore, hash: u64, key: &dyn AnyKeyRef, captured: &Capture) {
    let Some(core) = core.keep() else { return };
    let entry = Captured { hash, core, key: key.to_shared() };
    captured.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| Box::new(entry));
}

impl<T> fmt::Debug for Entry<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("state", &self.state()).finish_non_exhaustive()
    }
}
