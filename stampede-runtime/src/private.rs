//! All that generated code may call. Not for people: it changes with any release.
//!
//! The expansion names a [`Site`], the parts of the key and a closure that makes the load's future; everything else is
//! here and behind it.

pub use crate::{
    arguments::{Again, Fit, Lend, Lent, Own, Owned, Peeled, Unowned, again, fits, lend, owns, peels},
    cache::{Begin, Key},
    each::{Batch, EachKind, EachTicket, Only, PairsOf, ResultOf, begin_each, kinds},
    key::{KeyPart, KeyRef, Part},
    outcome::{
        CloneError, ConvertError, EachError, EachReturn, EachValue, Fallible, Outcome, Pick, Picks, PicksEach, Plain,
        Probe, TimesOut, Value,
        probe::{Answer, Failure, Pairs, Shareable},
        share_with,
    },
    policy::{Extent, Policy, PolicyBuilder, PolicyError, Run},
    site::Site,
    ticket::{Lead, Ticket},
};
use crate::{
    cache::{self, Core, Hooks, Kind, Typed, check},
    context::{self, Tag},
    erased::AnyKeyRef,
    handle::{CacheHandle, Entry},
    registry::AnyCache,
    scope::{CacheScope, Dice},
};
use std::{
    any::{TypeId, type_name},
    borrow::Cow,
    fmt,
    marker::PhantomData,
    sync::Arc,
};
pub use std::{
    option::Option::{self, None, Some},
    result::Result::{self, Err, Ok},
    time::Duration,
};

/// The ranks of the probe, without their names: the user's own tokens stand in the block that imports them.
pub mod probe {
    pub use crate::outcome::probe::{
        HowClone as _, HowConvert as _, HowEachClone as _, HowEachConvert as _, HowEachPlain as _, HowEachWith as _,
        HowPlain as _, NoneOption as _, NonePlain as _, NoneResult as _, NoneResultOption as _, NotResult as _,
        ShareAsRef as _, ShareDebug as _, ShareDisplay as _, ShareError as _, ShareNothing as _, ShareOpaque as _,
        ShareRefused as _, UnfitCloneError as _, UnfitEach as _, UnfitEachError as _, UnfitEachOk as _,
        UnfitEachValue as _, UnfitError as _, UnfitPlain as _, UnfitValue as _,
    };
}

/// What a function's attribute says about its cache.
pub struct Config<O: Outcome> {
    kind: Kind<O>,
    policy: PolicyBuilder,
    receiver: Option<&'static str>,
}

impl<O: Outcome> Config<O> {
    /// Without callbacks.
    pub fn new(outcome: O, policy: PolicyBuilder) -> Self {
        Self { kind: Kind { outcome, hooks: Hooks::default() }, policy, receiver: None }
    }

    /// The function is a method of `S`, whose name is then part of the cache's.
    #[must_use]
    pub fn method_of<S: ?Sized>(mut self) -> Self {
        self.receiver = Some(type_name::<S>());
        self
    }

    /// The value decides how long it lives.
    #[must_use]
    pub fn ttl_of(mut self, ttl_of: fn(&O::Value) -> Option<Duration>) -> Self {
        self.kind.hooks.ttl_of = Some(ttl_of);
        self
    }

    /// Which errors the old value may hide.
    #[must_use]
    pub fn outage(mut self, outage: fn(&O::Error) -> bool) -> Self {
        self.kind.hooks.outage = Some(outage);
        self
    }

    /// What a value weighs.
    #[must_use]
    pub fn weight(mut self, weight: fn(&O::Value) -> u32) -> Self {
        self.kind.hooks.weight = Some(weight);
        self
    }
}

impl<O: Outcome> fmt::Debug for Config<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// One annotated function, with its types. Its own type tells the instantiations of a generic function apart.
pub trait Definition {
    /// The kind of its return type.
    type Outcome: Outcome;
    /// The function, as code that is not compiled for each knows it.
    fn function(&self) -> Function<'_, Self::Outcome>;
}

/// See [`define`].
#[derive(Clone, Copy)]
pub struct Defined<C> {
    site: &'static Site,
    config: C,
}

impl<C> fmt::Debug for Defined<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Defined").field(self.site).finish()
    }
}

/// The definition of a function. `config` must capture nothing.
pub const fn define<C, O>(site: &'static Site, config: C) -> Defined<C>
where
    C: Fn() -> Config<O> + 'static,
    O: Outcome,
{
    Defined { site, config }
}

impl<C, O> Definition for Defined<C>
where
    C: Fn() -> Config<O> + 'static,
    O: Outcome,
{
    type Outcome = O;

    fn function(&self) -> Function<'_, O> {
        Function { site: self.site, id: TypeId::of::<C>(), config: &self.config }
    }
}

/// An annotated function.
#[derive(Clone, Copy)]
pub struct Function<'a, O: Outcome> {
    site: &'static Site,
    /// Which of a generic function's instantiations it is.
    id: TypeId,
    /// Makes its configuration, when its cache is first used.
    config: &'a dyn Fn() -> Config<O>,
}

impl<O: Outcome> fmt::Debug for Function<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Function").field(self.site).finish()
    }
}

/// The cache of the function in the scope that applies.
pub(crate) fn core_of<K: Key, O: Outcome>(
    function: Function<'_, O>,
    scope: Option<&CacheScope>,
) -> Arc<Core<Typed<K, O>>> {
    match cache_of::<K, O>(function, scope).into_any().downcast() {
        Ok(core) => core,
        // One definition is used with one key expression: the macro's.
        Err(_) => unreachable!("the cache of {} was made with other types", function.site.name()),
    }
}

fn cache_of<K: Key, O: Outcome>(function: Function<'_, O>, scope: Option<&CacheScope>) -> Arc<dyn AnyCache> {
    function.site.cache(function.id, scope, &|dice| make_core::<K, O>(function, dice))
}

#[cold]
fn make_core<K: Key, O: Outcome>(function: Function<'_, O>, dice: Dice) -> Arc<dyn AnyCache> {
    let Config { kind, policy, receiver } = (function.config)();
    let name = &*cache_name(function.site.name(), receiver);
    match check(policy, &kind) {
        Ok(policy) => Core::<Typed<K, O>>::new(name, policy, kind, dice),
        Err(error) => panic!("the policy of {name} does not hold together: {error}"),
    }
}

/// `module::function`, with the type that a method belongs to in between: `module::Type::function`.
fn cache_name(site: &'static str, receiver: Option<&'static str>) -> Cow<'static, str> {
    let (Some(receiver), Some((module, function))) = (receiver, site.rsplit_once("::")) else { return site.into() };
    // Without its own path, which is the function's or of no interest, and without its parameters.
    let plain = receiver.split('<').next().unwrap_or(receiver);
    let plain = plain.rsplit("::").next().unwrap_or(plain);
    format!("{module}::{plain}::{function}").into()
}

/// How a call of the outcome `O` goes on.
type Begun<O> = Begin<<O as Outcome>::Return, Ticket<O>>;

/// Answers a call from memory, or says that it needs the loader.
#[inline]
pub fn begin<D: Definition, Q: KeyRef>(definition: &D, scope: Option<&CacheScope>, key: &Q) -> Begun<D::Outcome> {
    begin_function(definition.function(), scope, key)
}

/// Compiled once for a key and a return type.
fn begin_function<O: Outcome, Q: KeyRef>(function: Function<'_, O>, scope: Option<&CacheScope>, key: &Q) -> Begun<O> {
    if scope.is_none() && context::is_plain() {
        let first: Option<&Core<Typed<Q::Owned, O>>> = function.site.first(function.id);
        if let Some(answer) = first.and_then(|core| cache::hit(core, key)) {
            return Begin::Ready(answer);
        }
    }
    begin_slowly(function, scope, key)
}

#[cold]
#[inline(never)]
fn begin_slowly<O: Outcome, Q: KeyRef>(function: Function<'_, O>, scope: Option<&CacheScope>, key: &Q) -> Begun<O> {
    let core = core_of(function, scope);
    match cache::begin_slowly(&*core, key) {
        Begin::Ready(answer) => Begin::Ready(answer),
        Begin::Load(call) => Begin::Load(Ticket::new(call, core.kind())),
    }
}

/// The entry of a key.
pub fn entry<D: Definition, Q: KeyRef>(
    definition: &D,
    scope: Option<&CacheScope>,
    key: &Q,
) -> Entry<'static, <D::Outcome as Outcome>::Value> {
    entry_of_function(definition.function(), scope, key)
}

fn entry_of_function<O: Outcome, Q: KeyRef>(
    function: Function<'_, O>,
    scope: Option<&CacheScope>,
    key: &Q,
) -> Entry<'static, O::Value> {
    let core = core_of::<Q::Owned, O>(function, scope);
    Entry::owned(core.hash(key), core, key.to_shared())
}

/// The entry, what is planted in it carrying these tags.
pub fn tagged<T>(entry: Entry<'static, T>, tags: impl IntoIterator<Item = impl Into<Tag>>) -> Entry<'static, T> {
    entry.tagged(tags.into_iter().map(Into::into).collect())
}

/// The cache of a function. `key` is never called: its type says what the key is.
pub fn handle<D, K, W>(definition: &D, scope: Option<&CacheScope>, _key: W) -> CacheHandle
where
    D: Definition,
    K: Key,
    W: FnOnce() -> Witness<K>,
{
    CacheHandle::new(cache_of::<K, _>(definition.function(), scope))
}

/// The type of an owned key.
#[derive(Debug)]
pub struct Witness<K>(PhantomData<fn() -> K>);

/// The type of the owned key that `key` becomes.
pub const fn witness<Q: KeyRef>(_key: &Q) -> Witness<Q::Owned> {
    Witness(PhantomData)
}

/// A parameter in code that is only there for its type.
///
/// # Panics
///
/// Always: it is never called.
#[must_use]
pub fn absent<T>() -> T {
    unreachable!("only the type of this is asked for")
}

/// `percent` of `ttl`.
#[must_use]
pub const fn percent(percent: f64) -> Extent {
    Extent::percent(percent)
}

/// Checks that an argument of the attribute is a duration, so that the error is at its value.
#[must_use]
pub const fn duration(duration: Duration) -> Duration {
    duration
}

/// A receiver that a load can own.
#[diagnostic::on_unimplemented(
    message = "a load must own `self`, and `{Self}` is not `Clone`",
    label = "a load outlives the call that began it",
    note = "put the fields in an `Arc<Inner>` and derive `Clone`",
    note = "or take `self: Arc<Self>`",
    note = "or call a cached free function over what the method uses"
)]
pub trait OwnSelf: Clone + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<S: Clone + Send + 'static> OwnSelf for S {}

/// The load's copy of the receiver.
pub fn own_self<S: OwnSelf>(this: &S) -> S {
    this.clone()
}

/// The kind of a return type.
#[doc(hidden)]
#[macro_export]
macro_rules! __stampede_how {
    ($answer:ty) => {{
        #[allow(unused_imports)]
        use $crate::__private::probe::*;
        let probe = $crate::__private::Probe::<$answer>::new();
        (&&&&&&&probe).stampede_how((&&&&probe).stampede_none(), (&&&&&&&probe).stampede_share())
    }};
}

/// The kind of a return type whose errors are made by `share_err`.
#[doc(hidden)]
#[macro_export]
macro_rules! __stampede_share_with {
    ($answer:ty, $make:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::probe::*;
        let probe = $crate::__private::Probe::<$answer>::new();
        $crate::__private::share_with($make, (&&&&probe).stampede_none(), (&&&&&&&probe).stampede_share())
    }};
}

/// Whether a return type is a `Result`.
#[doc(hidden)]
#[macro_export]
macro_rules! __stampede_is_result {
    ($answer:ty) => {{
        #[allow(unused_imports)]
        use $crate::__private::probe::*;
        $crate::__private::Probe::<$answer>::IS_RESULT
    }};
}

/// The kind of the elements of a batch function's return type.
#[doc(hidden)]
#[macro_export]
macro_rules! __stampede_how_each {
    ($answer:ty) => {{
        #[allow(unused_imports)]
        use $crate::__private::probe::*;
        let probe = $crate::__private::Probe::<$answer>::new();
        (&&&&&&&probe).stampede_how_each((), (&&&&&&&probe).stampede_share())
    }};
}

/// The kind of the elements of a batch function whose errors are made by `share_err`.
#[doc(hidden)]
#[macro_export]
macro_rules! __stampede_share_each_with {
    ($answer:ty, $make:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::probe::*;
        let probe = $crate::__private::Probe::<$answer>::new();
        probe.stampede_how_each_with($make, (&&&&&&&probe).stampede_share())
    }};
}

pub use crate::{
    __stampede_how as how, __stampede_how_each as how_each, __stampede_is_result as is_result,
    __stampede_share_each_with as share_each_with, __stampede_share_with as share_with_answer,
};
