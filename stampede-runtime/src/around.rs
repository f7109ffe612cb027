//! What can be entered around a call: a mode, a scope, an observer.

use crate::{
    context::{self, Change, within},
    mode::{CacheMode, Mode},
    observe::{Observer, Served},
    scope::CacheScope,
};
use std::{
    future::poll_fn,
    marker::PhantomData,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::Poll,
};

impl CacheMode {
    /// Runs `future` with all cached calls below it in this mode.
    ///
    /// A mode reaches through a load as [`Refresh`](Self::Refresh) and [`Bypass`](Self::Bypass) only, and not through
    /// `tokio::spawn`. Functions with `mode = "ignore"` are not reached.
    pub fn enter<F: Future>(self, future: F) -> impl Future<Output = F::Output> {
        within(Change::Mode(Mode::Set(self)), future)
    }
}

/// Runs `future` as far as cached calls can be answered without a load: `None` as soon as one can't.
///
/// Nothing is started: no load, no refresh, no flight is joined.
///
/// ```
/// use stampede_runtime::{cached_only, stampede_cached};
///
/// #[stampede_cached(ttl = 60)]
/// async fn double(n: u32) -> u32 {
///     n * 2
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(cached_only(double(4)).await, None);
/// double(4).await;
/// assert_eq!(cached_only(double(4)).await, Some(8));
/// # }
/// ```
pub fn cached_only<F: Future>(future: F) -> impl Future<Output = Option<F::Output>> {
    let missed = Arc::new(AtomicBool::new(false));
    let future = within(Change::Mode(Mode::CachedOnly(Arc::clone(&missed))), future);
    async move {
        let mut future = pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if missed.load(Relaxed) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await
    }
}

/// Runs `future` and tells how each cached call below it was answered, in the order in which they were.
///
/// Calls of other tasks and calls made from loads are not told: a load may be shared. Costs nothing where nobody
/// observes.
///
/// ```
/// use stampede_runtime::{How, observe, stampede_cached};
///
/// #[stampede_cached(ttl = 60)]
/// async fn double(n: u32) -> u32 {
///     n * 2
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (answer, served) = observe(double(4)).await;
/// assert_eq!((answer, served[0].how()), (8, How::Loaded));
/// let (_, served) = observe(double(4)).await;
/// assert_eq!(served[0].how(), How::Fresh);
/// # }
/// ```
pub async fn observe<F: Future>(future: F) -> (F::Output, Vec<Served>) {
    let observer = Observer::default();
    let output = within(Change::Observer(Some(observer.clone())), future).await;
    (output, observer.take())
}

impl CacheScope {
    /// Runs `future` with all cached functions below it using this scope.
    ///
    /// It reaches through loads, and not through `tokio::spawn`: enter it there again, or use [`guard`](Self::guard).
    pub fn enter<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let scope = self.clone();
        async move { within(Change::Scope(Some(scope.downgrade())), future).await }
    }

    /// Makes all cached functions that are called on this thread use this scope until the guard is dropped, those of
    /// spawned tasks included: for a test on a current-thread runtime.
    #[must_use = "the scope is left when the guard is dropped"]
    pub fn guard(&self) -> ScopeGuard {
        let mut change = Change::Scope(Some(self.downgrade()));
        change.swap();
        ScopeGuard { change, _scope: self.clone(), _thread: PhantomData }
    }
}

/// The scope that was entered here.
pub(crate) fn entered() -> Option<CacheScope> {
    if context::is_plain() {
        return None;
    }
    context::current().scope.map(|scope| scope.upgrade())
}

/// Leaves the scope when dropped. See [`CacheScope::guard`].
#[derive(Debug)]
pub struct ScopeGuard {
    change: Change,
    _scope: CacheScope,
    /// It belongs to the thread that made it.
    _thread: PhantomData<*const ()>,
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        self.change.swap();
    }
}
