//! Batches as the attribute's `each` and [`Cache::get_or_load_many`] use them.

use crate::{
    __private::{Begin, Definition, core_of},
    builder::{Cache, share},
    cache::{BoxedLoad, Call, Core, Key, Kind, Members, Started, Typed, begin, ride_batch},
    error::SharedError,
    key::{KeyPart, KeyRef, Part},
    outcome::{ConvertError, Outcome, probe::Pairs},
    policy::Run,
    scope::CacheScope,
    ticket::spawn,
};
use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    error::Error,
    fmt,
    hash::Hash,
    marker::PhantomData,
};

/// How the return type of a batch function is taken apart and put together; its elements have the outcome `O`.
#[diagnostic::on_unimplemented(
    message = "a function with `each` returns the values by their ids",
    label = "return a map or a `Vec<(Id, Value)>`, or a `Result` of one, with the ids of the slice"
)]
pub trait EachKind<I, O: Outcome>: Copy + Send + Sync + 'static {
    /// What the function returns.
    type Return;
    /// The value of one id.
    type One;
    /// The values by their ids.
    type Pairs: IntoIterator<Item = (I, Self::One)>;

    /// Takes the loader's answer apart.
    ///
    /// # Errors
    ///
    /// The loader's error, if that is its answer.
    fn open(answer: Self::Return) -> Result<Self::Pairs, O::Error>;

    /// What a caller gets who got these.
    fn gather(pairs: Vec<(I, Self::One)>) -> Self::Return;

    /// The value of one element.
    ///
    /// # Errors
    ///
    /// What a caller gets if one element has failed.
    fn element(element: O::Return) -> Result<Option<Self::One>, Self::Return>;
}

/// A `Result` of a collection.
pub struct ResultOf<C, E>(PhantomData<fn() -> (C, E)>);

/// A collection.
pub struct Only<C>(PhantomData<fn() -> C>);

impl<C, E> Clone for ResultOf<C, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, E> Copy for ResultOf<C, E> {}

impl<C, E> fmt::Debug for ResultOf<C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResultOf")
    }
}

impl<C> Clone for Only<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Only<C> {}

impl<C> fmt::Debug for Only<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Only")
    }
}

impl<I, U, C, E, O> EachKind<I, O> for ResultOf<C, E>
where
    C: IntoIterator<Item = (I, U)> + FromIterator<(I, U)> + 'static,
    E: 'static,
    O: Outcome<Return = Result<Option<U>, E>, Error = E>,
{
    type Return = Result<C, E>;
    type One = U;
    type Pairs = C;

    fn open(answer: Result<C, E>) -> Result<C, E> {
        answer
    }

    fn gather(pairs: Vec<(I, U)>) -> Result<C, E> {
        Ok(pairs.into_iter().collect())
    }

    fn element(element: Result<Option<U>, E>) -> Result<Option<U>, Result<C, E>> {
        element.map_err(Err)
    }
}

impl<I, U, C, O> EachKind<I, O> for Only<C>
where
    C: IntoIterator<Item = (I, U)> + FromIterator<(I, U)> + 'static,
    O: Outcome<Return = Option<U>, Error = Infallible>,
{
    type Return = C;
    type One = U;
    type Pairs = C;

    fn open(answer: C) -> Result<C, Infallible> {
        Ok(answer)
    }

    fn gather(pairs: Vec<(I, U)>) -> C {
        pairs.into_iter().collect()
    }

    fn element(element: Option<U>) -> Result<Option<U>, C> {
        Ok(element)
    }
}

/// A batch function: its return type, and the type of the ids in its slice.
pub struct Batch<R, I>(PhantomData<fn() -> (R, I)>);

impl<R, I> Batch<R, I> {
    /// The question which kind it is.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<R, I> Default for Batch<R, I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R, I> fmt::Debug for Batch<R, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Batch")
    }
}

/// A collection whose ids are those of the slice.
#[diagnostic::on_unimplemented(
    message = "the ids of this batch are `{I}`, and `{Self}` returns the values by other ids",
    label = "the ids in the returned collection must be those of the slice",
    note = "return a map, `HashMap<{I}, Value>`, or a `Vec<({I}, Value)>`, or a `Result` of one"
)]
pub trait PairsOf<I>: Pairs<Id = I> {}

#[diagnostic::do_not_recommend]
impl<I, C: Pairs<Id = I>> PairsOf<I> for C {}

/// The ranks of `stampede_kind` for a [`Batch`], without their names.
pub mod kinds {
    pub use super::{
        KindOfPlain as _, KindOfResult as _, KindOfUnfit as _, KindOfUnfitPlain as _, KindOfUnfitResult as _,
    };
}

/// `stampede_kind`, for a `Result`.
pub trait KindOfResult {
    /// The kind.
    type Kind;
    /// The kind.
    fn stampede_kind(&self) -> Self::Kind;
}

impl<C: PairsOf<I>, E, I> KindOfResult for &&&&Batch<Result<C, E>, I> {
    type Kind = ResultOf<C, E>;
    fn stampede_kind(&self) -> ResultOf<C, E> {
        ResultOf(PhantomData)
    }
}

/// `stampede_kind`, for what is no `Result`.
pub trait KindOfPlain {
    /// The kind.
    type Kind;
    /// The kind.
    fn stampede_kind(&self) -> Self::Kind;
}

impl<C: PairsOf<I>, I> KindOfPlain for &&&Batch<C, I> {
    type Kind = Only<C>;
    fn stampede_kind(&self) -> Only<C> {
        Only(PhantomData)
    }
}

/// `stampede_kind`, for a `Result` of a collection with other ids.
pub trait KindOfUnfitResult<C, I> {
    /// No kind.
    fn stampede_kind<K>(&self) -> K
    where
        C: PairsOf<I>;
}

impl<C: Pairs, E, I> KindOfUnfitResult<C, I> for &&Batch<Result<C, E>, I> {
    fn stampede_kind<K>(&self) -> K
    where
        C: PairsOf<I>,
    {
        crate::__private::absent()
    }
}

/// `stampede_kind`, for a collection with other ids.
pub trait KindOfUnfitPlain<C, I> {
    /// No kind.
    fn stampede_kind<K>(&self) -> K
    where
        C: PairsOf<I>;
}

impl<C: Pairs, I> KindOfUnfitPlain<C, I> for &Batch<C, I> {
    fn stampede_kind<K>(&self) -> K
    where
        C: PairsOf<I>,
    {
        crate::__private::absent()
    }
}

/// `stampede_kind`, for what is no collection, which the probe of its elements says.
pub trait KindOfUnfit {
    /// No kind.
    fn stampede_kind<K>(&self) -> K {
        crate::__private::absent()
    }
}

impl<C, I> KindOfUnfit for Batch<C, I> {}

/// Batch calls that need the loader, or are to refresh; and what was found.
pub struct EachTicket<I, U, O: Outcome, E> {
    /// All ids, once each, in the order in which they were asked for.
    ids: Vec<I>,
    found: HashMap<I, U>,
    calls: Vec<(I, Call)>,
    kind: Kind<O>,
    run: Run,
    _each: E,
}

impl<I, U, O: Outcome, E> fmt::Debug for EachTicket<I, U, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EachTicket")
    }
}

/// How a batch with the ids `I` goes on.
type EachBegun<I, O, E> = Begin<<E as EachKind<I, O>>::Return, EachTicket<I, <E as EachKind<I, O>>::One, O, E>>;

/// Answers a batch from memory, or says which of its elements need the loader.
pub fn begin_each<'a, D, E, I, Q>(
    definition: &D,
    kind: E,
    scope: Option<&CacheScope>,
    ids: &'a [I],
    key: impl Fn(&'a I) -> Q,
) -> EachBegun<I, D::Outcome, E>
where
    D: Definition,
    E: EachKind<I, D::Outcome>,
    I: Hash + Eq + Clone,
    Q: KeyRef,
{
    begin_in_core(&*core_of(definition.function(), scope), kind, ids, key)
}

fn begin_in_core<'a, E, I, Q, O>(
    core: &Core<Typed<Q::Owned, O>>,
    each: E,
    ids: &'a [I],
    key: impl Fn(&'a I) -> Q,
) -> EachBegun<I, O, E>
where
    E: EachKind<I, O>,
    I: Hash + Eq + Clone,
    Q: KeyRef,
    O: Outcome,
{
    let (mut found, mut calls) = (HashMap::with_capacity(ids.len()), Vec::new());
    let mut seen = HashSet::with_capacity(ids.len());
    let ids: Vec<&I> = ids.iter().filter(|id| seen.insert(*id)).collect();
    for id in &ids {
        match begin(core, &key(id)) {
            Begin::Load(call) => calls.push(((*id).clone(), call)),
            Begin::Ready(element) => match E::element(element) {
                Ok(Some(value)) => drop(found.insert((*id).clone(), value)),
                Ok(None) => {}
                Err(failed) => return Begin::Ready(failed),
            },
        }
    }
    let ids = ids.into_iter().cloned();
    if calls.is_empty() {
        return Begin::Ready(E::gather(ids.filter_map(|id| found.remove_entry(&id)).collect()));
    }
    Begin::Load(EachTicket { ids: ids.collect(), found, calls, run: core.run(), kind: core.kind(), _each: each })
}

impl<I, U, O, E> EachTicket<I, U, O, E>
where
    I: Hash + Eq + Clone + Send + Sync + 'static,
    U: Send + Sync + 'static,
    O: Outcome<Value = Option<U>, Return: Send>,
    E: EachKind<I, O, One = U>,
{
    /// The tags of the entries.
    #[must_use]
    pub fn tags<T: IntoIterator<Item: Into<std::borrow::Cow<'static, str>>>>(
        mut self,
        tags: impl FnOnce() -> T,
    ) -> Self {
        let tags: Vec<_> = tags().into_iter().map(Into::into).collect();
        self.calls.iter_mut().for_each(|(_, call)| call.tag(|| tags.clone()));
        self
    }

    /// Runs one load, as a task of its own, for the elements that this call leads, and waits for all.
    pub fn run<M, F>(self, make: M) -> impl Future<Output = E::Return>
    where
        M: Fn(Vec<I>) -> F,
        F: Future<Output = E::Return> + Send + 'static,
    {
        let kind = self.kind;
        let lead = move |members: Members<I>| {
            let flights = members.flights();
            let load = members.prepare(&make);
            let load: BoxedLoad = Box::pin(members.run(load, E::open, kind));
            (spawn(load), flights)
        };
        Box::pin(self.ride(lead))
    }

    /// Runs one load, in this call's own task, for the elements that it leads, and waits for all.
    pub fn run_in_caller<M, F>(self, make: M) -> impl Future<Output = E::Return>
    where
        M: Fn(Vec<I>) -> F,
        F: Future<Output = E::Return>,
    {
        let kind = self.kind;
        let lead = move |members: Members<I>| {
            let flights = members.flights();
            let load = members.prepare(&make);
            (Started::Here(Box::pin(members.run(load, E::open, kind))), flights)
        };
        Box::pin(self.ride(lead))
    }

    async fn ride<L, B>(mut self, lead: L) -> E::Return
    where
        L: FnMut(Members<I>) -> (Started<B>, Vec<std::sync::Arc<crate::flight::Flight>>),
        B: Future<Output = ()> + Unpin,
    {
        for (id, element) in ride_batch(self.calls, lead).await {
            match E::element(self.kind.close(element)) {
                Ok(Some(value)) => drop(self.found.insert(id, value)),
                Ok(None) => {}
                Err(failed) => return failed,
            }
        }
        let found = &mut self.found;
        E::gather(self.ids.into_iter().filter_map(|id| found.remove_entry(&id)).collect())
    }
}

impl<K: Key, U: Clone + Send + Sync + 'static> Cache<K, Option<U>> {
    /// The values of many keys: those that are in memory, those that are on their way, and the rest by running `load`
    /// once for all of them.
    ///
    /// Each key has an entry and a flight of its own: batches that overlap load each key once. What `load` does not
    /// return is a `None`, and is not in the answer. Early and stale values are renewed in one background load.
    ///
    /// # Errors
    ///
    /// The error of a load that a key needed, if there is no old value of the key that may be served.
    ///
    /// ```
    /// use stampede_runtime::Cache;
    /// use std::{collections::HashMap, io, time::Duration};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let users: Cache<u32, Option<String>> = Cache::builder("users").ttl(Duration::from_secs(60)).build()?;
    /// let found = users
    ///     .get_or_load_many(&[1, 2, 3], |ids| async move {
    ///         let known = ids.into_iter().filter(|id| *id != 2);
    ///         Ok::<HashMap<_, _>, io::Error>(known.map(|id| (id, format!("user {id}"))).collect())
    ///     })
    ///     .await?;
    /// assert_eq!(found.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_or_load_many<F, M, E>(
        &self,
        keys: &[K],
        load: impl Fn(Vec<K>) -> F,
    ) -> Result<HashMap<K, U>, SharedError>
    where
        K: KeyPart<Owned = K>,
        F: Future<Output = Result<M, E>> + Send + 'static,
        M: IntoIterator<Item = (K, U)>,
        E: Error + Send + Sync + 'static,
    {
        type Kind<K, U> = ResultOf<HashMap<K, U>, SharedError>;
        let kind: Kind<K, U> = ResultOf(PhantomData);
        let begun = begin_in_core::<_, _, _, ConvertError<Option<U>, SharedError>>(self.core(), kind, keys, Part);
        let ticket = match begun {
            Begin::Ready(answer) => return answer,
            Begin::Load(ticket) => ticket,
        };
        let in_caller = ticket.run == Run::InCaller;
        let make = move |ids| {
            let load = load(ids);
            async { load.await.map(|pairs| pairs.into_iter().collect()).map_err(share) }
        };
        if in_caller { ticket.run_in_caller(make).await } else { ticket.run(make).await }
    }
}
