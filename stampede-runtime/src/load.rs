//! Inside a loader: what it may say about its own load, and ask.
//!
//! Outside of a load, where an annotated function's body never is, these do nothing.
//!
//! ```
//! use stampede_runtime::{load, stampede_cached};
//! use std::time::Duration;
//!
//! #[stampede_cached(ttl = 300)]
//! async fn page(id: u64) -> Option<String> {
//!     load::tag(format!("author:{}", id % 10));
//!     if id == 0 {
//!         load::no_store();
//!     }
//!     load::ttl(Duration::from_secs(60));
//!     Some(format!("page {id}"))
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # page(0).await; page(7).await;
//! # assert_eq!(page_cache().len(), 1);
//! # page_cache().invalidate_tag("author:7").await;
//! # assert_eq!(page_cache().len(), 0);
//! # }
//! ```

use crate::context;
pub use crate::context::Reason;
use std::{borrow::Cow, sync::Arc, time::Duration};

/// Why the load that this is called from was begun; `None` outside of a load.
#[must_use]
pub fn reason() -> Option<Reason> {
    context::inside().map(|load| load.flight.reason())
}

/// The value of this load lives for at most `ttl`, whatever `ttl` and `ttl_of` of the attribute say; jitter only
/// shortens it. Called twice, the shorter one counts.
pub fn ttl(ttl: Duration) {
    if let Some(load) = context::inside() {
        load.flight.set_ttl(ttl);
    }
}

/// What this load ends with is given to its callers and not stored. A value that was stored before is removed.
pub fn no_store() {
    ttl(Duration::ZERO);
}

/// The entry of this load carries `tag`, beside those of the attribute.
///
/// If the tag was invalidated since the load began, nothing of it is stored, and nobody who called after that gets its
/// answer.
pub fn tag(tag: impl Into<Cow<'static, str>>) {
    let Some(load) = context::inside() else { return };
    let tag = tag.into();
    load.flight.add_tag(tag.clone());
    if let Some(cache) = load.cache.upgrade() {
        load.flight.each(&mut |flight| cache.tagged(flight, &tag));
    }
}

/// The value that this load is to replace, if memory still has it: for a conditional refresh. `T` is the return type
/// without one `Result`.
///
/// ```
/// use stampede_runtime::{load, stampede_cached};
///
/// # async fn fetch(_: u32, _etag: Option<String>) -> Option<Page> { None }
/// #[derive(Clone)]
/// struct Page {
///     etag: String,
///     text: String,
/// }
///
/// #[stampede_cached(ttl = 60, early = 30, stale = 3600)]
/// async fn page(id: u32) -> Option<Page> {
///     let previous = load::previous::<Option<Page>>().flatten();
///     // "304 Not Modified" gives none: what we have is still right.
///     fetch(id, previous.as_ref().map(|page| page.etag.clone())).await.or(previous)
/// }
/// ```
#[must_use]
pub fn previous<T: Clone + Send + Sync + 'static>() -> Option<T> {
    let load = context::inside()?;
    let previous = load.cache.upgrade()?.previous(load.flight.hash(), load.flight.flight())?;
    previous.downcast().ok().map(Arc::unwrap_or_clone)
}
