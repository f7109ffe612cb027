//! The attribute `#[stampede_cached]`. Depend on `stampede-runtime`, which has it and all that it expands to.
//!
//! The way of an annotation through this crate: `args` and `item` read it, `signature`, `rules` and `validate` check it
//! and make a `plan`, `expand` prints that. All logic is in the runtime; what is printed names it.

mod args;
mod batch;
mod call;
mod duration;
mod errors;
mod expand;
mod item;
mod key;
mod keyarg;
mod lower;
mod own;
mod params;
mod plan;
mod receiver;
mod rules;
mod signature;
#[cfg(test)]
mod tests;
mod tokens;
mod types;
mod validate;
mod wrapped;

use errors::Errors;
use plan::Plan;
use proc_macro2::TokenStream;
use quote::quote;

/// Caches the answers of an async function, coalesces calls, and renews answers before they expire.
///
/// ```
/// use stampede_runtime::stampede_cached;
/// # #[derive(Clone, Debug)] pub struct ReportError;
/// # #[derive(Clone)] pub struct Db;
/// # impl Db { async fn total(&self, day: u32) -> Result<u64, ReportError> { Ok(u64::from(day)) } }
///
/// /// The total of a day.
/// #[stampede_cached(ttl = 300, jitter = 30, early = 60, skip(db))]
/// pub async fn report(db: &Db, day: u32) -> Result<u64, ReportError> {
///     db.total(day).await
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ReportError> {
/// # let db = Db;
/// assert_eq!(report(&db, 7).await?, 7); // runs the body
/// assert_eq!(report(&db, 7).await?, 7); // does not
/// assert_eq!(report_entry(7).get().await, Some(7));
/// # Ok(())
/// # }
/// ```
///
/// The function keeps its signature, its visibility and its documentation. Its body runs when no usable answer is in
/// memory, once for all who ask meanwhile, in a task of its own that outlives a caller who goes away. What it returned
/// without an error is kept and cloned for each call; `Err`s are given to all who waited and are not kept.
///
/// # Arguments
///
/// A length of time is whole seconds (`300`), a string with units (`"250ms"`, `"1.5s"`, `"1h 30m"`, `"forever"`; the
/// units are `ns`, `us`, `ms`, `s`, `m`, `h`, `d` and `w`) or any expression of type `Duration`. Where a share of `ttl`
/// makes sense it can be `"10%"`. Expressions in all arguments but `key`, `scope` and `tags` are evaluated once, when
/// the cache is first used, so they can't use the parameters; a policy that does not hold together panics then, naming
/// function, argument and value. What the macro can know it refuses at compile time.
///
/// ## Everyday
///
/// | argument | default | meaning |
/// |---|---|---|
/// | `ttl` | required, unless `policy` has it | how long an answer is fresh, ± `jitter`; `ttl = 0`: nothing is stored, calls are only coalesced |
/// | `jitter` | 0 | the spread of that time, so that entries stored together do not expire together; a time or a share |
/// | `early` | 0 | the window before the end of that time in which one call starts a refresh and nobody waits; a time or a share |
/// | `stale` | 0 | how long after it the old answer is served while one refresh runs (RFC 5861 stale-while-revalidate); a time or a share |
/// | `stale_if_error` | 0 | how long after it the old answer is served when the load fails (RFC 5861); a time or a share |
/// | `skip(a, b)` | – | parameters that can't change the answer: a pool, a client, `self` |
/// | `key` | all that is not skipped | an expression over the parameters, taken by reference; of a tuple each element is a part. Or parts with names: `key(tenant: u64 = tenant.id, day)` |
///
/// Every parameter, `self` included, is in the key, or mentioned in `key` or `scope`, or listed in `skip`; a forgotten
/// one is an error, for calls that differ in it would get one answer. `key = ()` is one entry for all calls.
///
/// ```
/// # use stampede_runtime::stampede_cached;
/// # pub struct Tenant { pub id: u64 }
/// // One entry for each tenant and day; `verbose` changes only what is logged.
/// #[stampede_cached(ttl = "5m", key = (tenant.id, day), skip(verbose))]
/// async fn total(tenant: std::sync::Arc<Tenant>, day: &str, verbose: bool) -> usize {
///     if verbose {
///         println!("the total of {day}");
///     }
///     day.len() + usize::try_from(tenant.id).unwrap_or_default()
/// }
/// ```
///
/// Parts with names are what the companions take: with `key = (tenant.id, day)` above, `total_entry` takes a whole
/// tenant; with names it takes its number. A part without a value is the parameter of that name.
///
/// ```
/// # use stampede_runtime::stampede_cached;
/// # pub struct Tenant { pub id: u64 }
/// #[stampede_cached(ttl = "5m", key(tenant: u64 = tenant.id, day))]
/// async fn total(tenant: std::sync::Arc<Tenant>, day: &str) -> usize {
///     day.len() + usize::try_from(tenant.id).unwrap_or_default()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// total_entry(7, "monday").invalidate().await;
/// # }
/// ```
///
/// Parts are looked up borrowed: `&str`, `&[T]`, `&Path`, and `Option`s and tuples of references where so written,
/// allocate nothing on a hit. A part is `Hash + Eq` and can be owned; for an `f64` give `x.to_bits()`. A parameter that
/// is a pattern, or `_`, is one part, its whole value.
///
/// ## Sometimes
///
/// | argument | default | meaning |
/// |---|---|---|
/// | `none_ttl` | the lesser of `ttl` and 10 s | lifetime of a `None`; 0: do not store it |
/// | `err_ttl` | 0 | lifetime of an `Err` |
/// | `ttl_of` | – | `fn(&T) -> Option<Duration>`: the answer's own lifetime, `Some(ZERO)` for none; `T` is the return type without its `Result` |
/// | `outage` | every error | `fn(&E) -> bool`: which errors the old answer may hide; others remove it and are returned |
/// | `share_err` | – | `fn(SharedError) -> E`: how an error is made for each caller, if it is neither `Clone` nor `From<SharedError>` |
/// | `timeout` | – | the load is given up after this; needs an error that can say so: `share_err`, or `E: From<SharedError>`. A body that blocks its thread can't be dropped: it runs on, beside the next load |
/// | `soft_timeout` | – | callers who could have an old answer wait no longer than this; needs `stale` or `stale_if_error` |
/// | `capacity` | 10 000 | the most entries in memory, or with `weight` the most total weight |
/// | `weight` | 1 each | `fn(&T) -> u32`; needs `capacity` |
/// | `tags` | – | an iterator of `impl Into<Cow<'static, str>>` over the parameters: entries can be invalidated by tag |
/// | `scope` | the process | an expression for the scope that holds the cache, such as `self.caches` |
/// | `policy` | – | a `Policy` that many functions share; the other arguments override it |
/// | `each` | – | `each = ids`: a batch, every element of that slice is an entry of its own, see below |
///
/// ## Rare
///
/// | argument | default | meaning |
/// |---|---|---|
/// | `beta` | – | the moment in the `early` window is drawn by probability (`XFetch`); above 1 earlier; needs `early` |
/// | `backoff` | 1 s | the pause after a failed refresh, which doubles up to 30 s |
/// | `max_loads` | – | at most so many loads of this cache at once |
/// | `lead_after` | 120 s | after this a load no longer keeps others from leading anew |
/// | `run` | `"detached"` | `"cancellable"`: the load is dropped when the last caller has gone; `"in_caller"`: it runs in the task of the caller who leads, may borrow and need not be `Send` |
/// | `mode` | – | `"ignore"`: modes set around a call do not reach this function (for credentials) |
/// | `name` | module path and function | a constant: the name in metrics and in the list of caches |
/// | `companions` | `true` | `false`: without the functions below |
/// | `crate` | `::stampede_runtime` | the path of the runtime, if renamed or re-exported |
///
/// `store` comes in a later release, and is refused until then.
///
/// # Batches
///
/// With `each = ids` every id of the parameter `ids` (`&[Id]`, `&Vec<Id>` or `Vec<Id>`) has an entry and a load of its
/// own. One call runs the body at most once for what is missing, with only those ids; it waits for those that another
/// call is already loading; ids that are early or stale are renewed by one run in the background. The function returns a
/// map, a `Vec<(Id, Value)>`, or a `Result` of one. An id that it does not return is kept as a `None` (`none_ttl`).
///
/// ```
/// use stampede_runtime::stampede_cached;
/// use std::collections::HashMap;
/// # #[derive(Clone)] pub struct Db;
/// # impl Db { async fn names(&self, ids: &[u64]) -> HashMap<u64, String> { ids.iter().map(|id| (*id, id.to_string())).collect() } }
///
/// #[stampede_cached(ttl = 60, early = 10, each = ids, skip(db))]
/// async fn names(db: &Db, ids: &[u64]) -> HashMap<u64, String> {
///     db.names(ids).await
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let db = Db;
/// assert_eq!(names(&db, &[1, 2, 3]).await.len(), 3);
/// assert_eq!(names(&db, &[2, 3, 4]).await.len(), 3); // asks the database for 4 alone
/// assert_eq!(names_entry(4).get().await, Some(Some("4".into())));
/// # }
/// ```
///
/// The other parameters are in the key of each entry, or skipped, as ever. By-value ones must be `Clone`, since a batch
/// can need two loads. `tags` are those of all entries of the load.
///
/// # Companions
///
/// For `report` the macro adds, with the same visibility, `report_entry(..)`, the entry of these arguments (only those
/// that the key uses): `get`, `insert`, `expire`, `invalidate` …, and `report_cache()`, the cache itself: `stats`,
/// `clear`, `invalidate_tag` …. For a method both are methods.
///
/// There are none for generic functions, `impl Trait` arguments, and methods under `#[async_trait]`. Say `companions = false` where the macro can't know
/// that there is no place for them: on associated functions without a receiver, in the `impl` of a trait, and where the
/// return type names a parameter of a generic `impl`.
///
/// # What a load owns
///
/// A load outlives the call that began it, so it owns its arguments: by-value ones are moved in, `&T` is cloned
/// (`to_owned`) by the one call that leads, and the body sees all under their names and types. `&self` needs
/// `Self: Clone`, cheap if the fields are in an `Arc`; `self: Arc<Self>` is moved. With `run = "in_caller"` nothing is
/// cloned.
///
/// In the body of a method `self` is another name; where a macro of another crate is given `"{self}"` in a string, write
/// `"{}", self`.
///
/// # Other attributes
///
/// Attributes of the language (`#[must_use]`, `#[deprecated]`, `#[inline]`, `#[allow(..)]`, `#[cfg(..)]`, docs) stay on
/// the function, wherever they stand. Of others the order tells. *Below* `#[stampede_cached]` they apply to the body, so
/// that with `#[tracing::instrument]` there only loads make spans; a method gets another method for that, so they are
/// refused in the `impl` of a trait. *Above* it `#[tracing::instrument]` applies to every call, hits included (unless a
/// parameter is a pattern: what it binds is bound in the load, and so is the span); what others do there is theirs to
/// say, as they come first.
///
/// `#[async_trait]` on an `impl` comes before the attributes of its methods; those it has rewritten are served as they
/// were written.
#[proc_macro_attribute]
pub fn stampede_cached(args: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    cached(args.into(), &item.into()).into()
}

/// The expansion; on errors the user's item and all of them, so that one mistake does not cause others.
fn cached(args: TokenStream, item: &TokenStream) -> TokenStream {
    match plan(args, item) {
        Ok(plan) => expand::expand(&plan),
        Err(errors) => {
            let errors = errors.into_compile_errors();
            // What the expansion would have used is not unused.
            quote!(#[allow(unused_variables, unused_mut)] #item #errors)
        }
    }
}

fn plan(args: TokenStream, item: &TokenStream) -> Result<Plan, Errors> {
    let mut errors = Errors::default();
    let args = args::parse(args, &mut errors);
    let item = errors.take(syn::parse2(item.clone()));
    item.and_then(|item| validate::plan(args, item, &mut errors)).ok_or(errors)
}
