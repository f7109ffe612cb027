//! The runtime without the attribute: [`Cache`] and its builder.

use crate::{
    cache::{AnyCore, Begin, Core, Hooks, Key, Kind, Typed, begin, check},
    error::SharedError,
    handle::{CacheHandle, Entry},
    key::{KeyPart, Part},
    outcome::ConvertError,
    policy::{Extent, Policy, PolicyBuilder, PolicyError, Run},
    registry::{self, AnyCache},
    scope::Dice,
    ticket::Ticket,
};
use std::{error::Error, fmt, marker::PhantomData, sync::Arc, time::Duration};

/// A cache that is filled by the loads of its callers: what the attribute makes of a function, by hand.
///
/// `get_or_load` coalesces, renews and serves as the attribute does. Errors are shared as [`SharedError`].
///
/// ```
/// use stampede_runtime::Cache;
/// use std::{io, time::Duration};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reports: Cache<String, u32> = Cache::builder("reports")
///     .ttl(Duration::from_secs(300))
///     .early(Duration::from_secs(60))
///     .build()?;
///
/// let report = reports.get_or_load("2026-11-30", || async { Ok::<_, io::Error>(42) }).await?;
/// assert_eq!(report, 42);
/// # Ok(())
/// # }
/// ```
pub struct Cache<K: Key, V: Clone + Send + Sync + 'static>(Arc<Core<Typed<K, Shared<V>>>>);

/// All errors are shared.
type Shared<V> = ConvertError<V, SharedError>;

impl<K: Key, V: Clone + Send + Sync + 'static> Cache<K, V> {
    /// Begins a cache that is called `name` in metrics and errors.
    pub fn builder(name: impl Into<String>) -> CacheBuilder<K, V> {
        CacheBuilder {
            name: name.into(),
            policy: PolicyBuilder::new(),
            hooks: Hooks::default(),
            none: |_| false,
            _key: PhantomData,
        }
    }

    /// The value of `key`: from memory, from the flight that is on its way, or by running `load`.
    ///
    /// The load is a task of its own and runs to its end, whoever goes away (unless `run` says otherwise; with
    /// [`Run::InCaller`] it is run in this future). It owns what it uses.
    ///
    /// # Errors
    ///
    /// The error of the load, the same for all who waited for it, if there is no old value that may be served.
    ///
    /// # Panics
    ///
    /// If the load panics, or waits for itself.
    pub async fn get_or_load<Q, F, E>(&self, key: &Q, load: impl FnOnce() -> F) -> Result<V, SharedError>
    where
        Q: KeyPart<Owned = K> + ?Sized,
        F: Future<Output = Result<V, E>> + Send + 'static,
        E: Error + Send + Sync + 'static,
    {
        let key = Part(key);
        let call = match begin(&*self.0, &key) {
            Begin::Ready(answer) => return answer,
            Begin::Load(call) => call,
        };
        let lead = match Ticket::new(call, self.0.kind()).ride().await {
            Begin::Ready(answer) => return answer,
            Begin::Load(lead) => lead,
        };
        let load = move || {
            let load = load();
            async { load.await.map_err(share) }
        };
        match self.0.policy().run() {
            Run::InCaller => lead.run_in_caller(load).await,
            Run::Detached | Run::Cancellable => lead.run(load).await,
        }
    }

    pub(crate) fn core(&self) -> &Core<Typed<K, Shared<V>>> {
        &self.0
    }

    /// The entry of `key`.
    #[must_use]
    pub fn entry<'a, Q: KeyPart<Owned = K> + Sync + ?Sized>(&self, key: &'a Q) -> Entry<'a, V> {
        let core: Arc<AnyCore> = self.0.clone();
        Entry::new(self.0.hash(&Part(key)), core, Part(key))
    }

    /// What is done with the cache as a whole.
    #[must_use]
    pub fn handle(&self) -> CacheHandle {
        CacheHandle::new(self.0.clone())
    }
}

/// An error that is shared already is not wrapped again.
pub(crate) fn share<E: Error + Send + Sync + 'static>(error: E) -> SharedError {
    match (&error as &(dyn Error + 'static)).downcast_ref::<SharedError>() {
        Some(shared) => shared.clone(),
        None => SharedError::new(error),
    }
}

impl<K: Key, V: Clone + Send + Sync + 'static> Clone for Cache<K, V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Key, V: Clone + Send + Sync + 'static> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Builds a [`Cache`].
#[must_use = "a builder does nothing until `build`"]
pub struct CacheBuilder<K: Key, V: Clone + Send + Sync + 'static> {
    name: String,
    policy: PolicyBuilder,
    hooks: Hooks<Shared<V>>,
    none: fn(&V) -> bool,
    _key: PhantomData<fn() -> K>,
}

/// The setters of the policy, under their own names.
macro_rules! policy_setters {
    ($($name:ident: $argument:ty,)*) => {
        impl<K: Key, V: Clone + Send + Sync + 'static> CacheBuilder<K, V> {
            $(
                #[doc = concat!("See [`PolicyBuilder::", stringify!($name), "`].")]
                pub fn $name(mut self, $name: $argument) -> Self {
                    self.policy = self.policy.$name($name);
                    self
                }
            )*
        }
    };
}

policy_setters! {
    ttl: Duration,
    jitter: impl Into<Extent>,
    early: impl Into<Extent>,
    stale: impl Into<Extent>,
    stale_if_error: impl Into<Extent>,
    none_ttl: Duration,
    err_ttl: Duration,
    timeout: Duration,
    soft_timeout: Duration,
    capacity: u64,
    max_loads: usize,
    lead_after: Duration,
    backoff: Duration,
    beta: f64,
    run: Run,
}

impl<K: Key, V: Clone + Send + Sync + 'static> CacheBuilder<K, V> {
    /// Starts from a policy; setters called after this override it.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy.into();
        self
    }

    /// The value decides how long it lives: at most as long as this says, `Some(Duration::ZERO)` not at all.
    pub fn ttl_of(mut self, ttl_of: fn(&V) -> Option<Duration>) -> Self {
        self.hooks.ttl_of = Some(ttl_of);
        self
    }

    /// Which errors the old value may hide. Default: all.
    pub fn outage(mut self, outage: fn(&SharedError) -> bool) -> Self {
        self.hooks.outage = Some(outage);
        self
    }

    /// Which values are nothing, and live for `none_ttl`. Default: none is.
    pub fn none(mut self, none: fn(&V) -> bool) -> Self {
        self.none = none;
        self
    }

    /// What a value weighs; `capacity` is then the most total weight.
    pub fn weight(mut self, weight: fn(&V) -> u32) -> Self {
        self.hooks.weight = Some(weight);
        self
    }

    /// Makes the cache.
    ///
    /// # Errors
    ///
    /// Names the field of the policy that does not hold together.
    pub fn build(self) -> Result<Cache<K, V>, PolicyError> {
        let kind = Kind { outcome: ConvertError::shared(self.none), hooks: self.hooks };
        let policy = check(self.policy, &kind)?;
        let core = Core::new(&self.name, policy, kind, Dice::default());
        let any: Arc<dyn AnyCache> = core.clone();
        registry::register(&any);
        Ok(Cache(core))
    }
}

impl<K: Key, V: Clone + Send + Sync + 'static> fmt::Debug for CacheBuilder<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheBuilder").field("name", &self.name).field("policy", &self.policy).finish_non_exhaustive()
    }
}
