//! What the companions of an annotated function return: [`CacheHandle`] and [`Entry`].

use crate::{
    cache::{Core, Key},
    context::{self, Change, Tag, within},
    key::KeyRef,
    mode::{CacheMode, Capture, Mode},
    outcome::Outcome,
    policy::{Freshness, Policy},
    registry::AnyCache,
    stats::Stats,
};
use std::{
    fmt,
    future::ready,
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

/// What can be done with one entry, whatever its cache's types are.
trait AnyEntry<T>: Send + Sync {
    fn get(&self) -> Option<T>;
    fn state(&self) -> Option<Freshness>;
    fn insert(&self, value: T);
    fn expire(&self);
    fn invalidate(&self);
    fn invalidate_if(&self, condition: &mut dyn FnMut(&T) -> bool);
    fn set_tags(&mut self, tags: Vec<Tag>);
}

/// The entry of one key: there, or not yet.
pub struct Entry<'a, T>(Box<dyn AnyEntry<T> + 'a>);

struct Seat<K, O: Outcome, Q> {
    core: Arc<Core<K, O>>,
    key: Q,
    hash: u64,
    /// The tags of what is planted.
    tags: Vec<Tag>,
}

impl<'a, T> Entry<'a, T> {
    pub(crate) fn new<K, O, Q>(core: Arc<Core<K, O>>, key: Q) -> Self
    where
        K: Key,
        O: Outcome<Value = T>,
        Q: KeyRef<Owned = K> + Send + Sync + 'a,
    {
        let hash = core.hash(&key);
        Self(Box::new(Seat { core, key, hash, tags: Vec::new() }))
    }

    pub(crate) fn tagged(mut self, tags: Vec<Tag>) -> Self {
        self.0.set_tags(tags);
        self
    }

    /// What a call would get without loading: fresh, early or stale. Starts nothing and counts nothing.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn get(&self) -> impl Future<Output = Option<T>> + use<T> {
        ready(self.0.get())
    }

    /// The state of the entry; `None` if there is none that may be served in any case.
    #[must_use]
    pub fn state(&self) -> Option<Freshness> {
        self.0.state()
    }

    /// Plants a value, as if a load had ended with it now. Loads that run now do not replace it.
    ///
    /// It carries the tags of the attribute, as far as they follow from the companion's parameters, else those of the
    /// entry that it replaces.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn insert(&self, value: T) -> impl Future<Output = Reach> + Send + use<T> {
        self.0.insert(value);
        ready(Reach::Everywhere)
    }

    /// Keeps the value, as if its `fresh_until` were now. A load that runs now is stored as already expired.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn expire(&self) -> impl Future<Output = Reach> + Send + use<T> {
        self.0.expire();
        ready(Reach::Everywhere)
    }

    /// Removes the entry. A load that runs now serves its callers and is not stored.
    ///
    /// It acts on memory at the call, whether or not the future is awaited.
    pub fn invalidate(&self) -> impl Future<Output = Reach> + Send + use<T> {
        self.0.invalidate();
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
        self.0.invalidate_if(&mut condition);
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
    entry.downcast().ok().map(|entry| *entry)
}

/// Hands the entry of a call out if somebody asks for it instead of an answer.
pub(crate) fn capture<K: Key, O: Outcome>(core: &Core<K, O>, key: &impl KeyRef<Owned = K>) {
    let Mode::Capture(captured) = context::current().mode else { return };
    let Some(core) = core.keep() else { return };
    let entry: Entry<'static, O::Value> = Entry::new(core, OwnedKey(key.to_key()));
    captured.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| Box::new(entry));
}

impl<T> fmt::Debug for Entry<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("state", &self.state()).finish_non_exhaustive()
    }
}

impl<K, O, Q> AnyEntry<O::Value> for Seat<K, O, Q>
where
    K: Key,
    O: Outcome,
    Q: KeyRef<Owned = K> + Send + Sync,
{
    fn get(&self) -> Option<O::Value> {
        self.core.peek(self.hash, &self.key)
    }

    fn state(&self) -> Option<Freshness> {
        self.core.state(self.hash, &|key| self.key.is(key))
    }

    fn insert(&self, value: O::Value) {
        self.core.insert(self.hash, &self.key, value, &self.tags);
    }

    fn expire(&self) {
        self.core.expire_key(self.hash, &|key| self.key.is(key));
    }

    fn invalidate(&self) {
        self.core.invalidate(self.hash, &|key| self.key.is(key));
    }

    fn invalidate_if(&self, condition: &mut dyn FnMut(&O::Value) -> bool) {
        self.core.invalidate_if(self.hash, &|key| self.key.is(key), condition);
    }

    fn set_tags(&mut self, tags: Vec<Tag>) {
        self.tags = tags;
    }
}

/// An owned key, as a companion has it whose parameters end with it.
pub(crate) struct OwnedKey<K>(pub(crate) K);

impl<K: Key> std::hash::Hash for OwnedKey<K> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<K: Key> KeyRef for OwnedKey<K> {
    type Owned = K;

    fn is(&self, owned: &K) -> bool {
        self.0 == *owned
    }

    fn to_key(&self) -> K {
        self.0.clone()
    }
}
