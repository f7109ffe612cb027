//! One expensive answer for many callers: coalesced, cached, renewed before it expires.
//!
//! ```
//! use stampede_runtime::stampede_cached;
//!
//! # #[derive(Clone)] struct Db;
//! # impl Db { async fn sum(&self, _: u32) -> Result<u64, std::num::ParseIntError> { "42".parse() } }
//! #[stampede_cached(ttl = 300, jitter = 30, early = 60, skip(db))]
//! async fn report(db: &Db, day: u32) -> Result<u64, std::num::ParseIntError> {
//!     db.sum(day).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let db = Db;
//! assert_eq!(report(&db, 1).await?, 42);
//! assert_eq!(report_entry(1).get().await, Some(42));
//! assert_eq!(report_cache().stats().loads, 1);
//! # Ok(())
//! # }
//! ```
//!
//! From then on
//!
//! - a fresh answer comes from memory, at the price of a hash-map look-up;
//! - however many callers miss at once, the body runs once and all get its answer, or its error;
//! - shortly before an answer expires one call renews it in the background, and nobody waits (`early`);
//! - after it expires it can still be served while one renewal runs (`stale`), or while the database is down
//!   (`stale_if_error`);
//! - a thousand keys stored together do not expire together (`jitter`).
//!
//! All arguments are described at [`stampede_cached`].
//!
//! # The life of an entry
//!
//! ```text
//! stored          early_at         fresh_until          stale_until      gone_at
//!   |--- fresh -----|---- early ------|----- stale --------|--- expired ---|
//!   hit             hit, and one      served, and one      load; the old
//!                   refresh begins    refresh begins       value only if
//!                   in background     in background        the load fails
//! ```
//!
//! [`Freshness`] names these states; [`Policy`] has all that decides them. After a failed refresh none begins for a
//! pause, which grows while they fail.
//!
//! # Loads
//!
//! A load is a task of its own: a caller that goes away, is parked or is aborted costs the others nothing. It owns its
//! arguments (references are cloned, by the one call that leads). It sees no task-locals; the leader's tracing span is
//! its parent. [`Run`] has the alternatives.
//!
//! A function that reaches itself, for other keys, must do so through a plain function that returns a boxed future, or
//! rustc can't prove the load `Send`:
//!
//! ```
//! use stampede_runtime::stampede_cached;
//! use std::pin::Pin;
//!
//! #[stampede_cached(ttl = 60)]
//! async fn sum(n: u64) -> u64 {
//!     if n == 0 { 0 } else { n + sum_of(n - 1).await }
//! }
//!
//! fn sum_of(n: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
//!     Box::pin(sum(n))
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert_eq!(sum(4).await, 10); }
//! ```
//!
//! One failure is one load: all callers of the flight get its error. An error that is `Clone` is cloned, any other is
//! made from a [`SharedError`], which leads to the original: see [`find_cause`].
//!
//! A panic of the body is the panic of all its callers; nothing is stored. A cached function that waits for itself,
//! through whatever other cached functions, panics with the chain of their names.
//!
//! # Around a call
//!
//! [`CacheMode`] forces a refresh, bypasses the cache or bounds the age; [`cached_only`] never loads; [`CacheScope`]
//! gives a tenant, an instance or a test caches of its own; [`caches()`] has all caches of the process.
//!
//! # Testing
//!
//! `#[tokio::test(start_paused = true)]` and `tokio::time::advance` work on cached functions with nothing to configure.
//! An entry that is stored under a paused clock is visible only in that runtime. (`lead_after` has no timer there unless it
//! was asked for: tokio moves a paused clock to the next timer as soon as all else waits.) A test that pauses the clock *after* a
//! store needs the feature `test-util`. [`CacheScope::guard`] gives a test its own caches, [`CacheScope::seeded`] a
//! jitter that repeats, [`Entry::insert`] plants a value.
//!
//! # Features
//!
//! | feature | default | |
//! |---|---|---|
//! | `tracing` | yes | a span for each load, events for failures, pauses and self-deadlocks; nothing at a hit |
//! | `test-util` | no | a clock that is paused after a store moves what was stored before |

mod arguments;
mod around;
mod builder;
mod cache;
mod caches;
mod clock;
mod context;
mod each;
mod entry;
mod erased;
mod error;
mod events;
mod flight;
mod handle;
mod index;
mod key;
pub mod load;
mod memory;
mod mode;
mod observe;
mod outcome;
mod policy;
mod registry;
mod scope;
mod site;
mod stats;
mod tags;
mod ticket;
mod timekeeper;
mod urgency;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use around::{ScopeGuard, cached_only, observe};
pub use builder::{Cache, CacheBuilder};
pub use caches::{Caches, caches};
pub use error::{SharedError, find_cause};
pub use handle::{CacheHandle, Entry, Reach, entry_of};
pub use mode::CacheMode;
pub use observe::{How, Served, StaleReason};
pub use policy::{Extent, Freshness, Policy, PolicyBuilder, PolicyError, Run};
pub use scope::CacheScope;
pub use stampede_macro::stampede_cached;
pub use stats::{LoadTimes, Stats};
