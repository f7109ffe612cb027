//! What holds around a call: the scope and the mode that were entered, who observes, and the load it is made from.
//!
//! It belongs to the future, not to the thread: whoever enters something swaps it in for each poll and out again after
//! it. A hit reads one thread-local flag.

use crate::{erased::AnyValue, mode::Mode, observe::Observer, scope::WeakScope, urgency::Urgency};
use pin_project_lite::pin_project;
use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    fmt,
    pin::Pin,
    sync::{Arc, Weak},
    task::{self, Poll},
    time::Duration,
};

/// What holds around a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    pub(crate) scope: Option<WeakScope>,
    pub(crate) mode: Mode,
    pub(crate) observer: Option<Observer>,
    pub(crate) load: Option<Load>,
    pub(crate) inside: Option<Inside>,
}

/// A tag of an entry.
pub(crate) type Tag = Cow<'static, str>;

/// Why a load was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A call found nothing it could be answered with.
    Miss,
    /// The value is early or stale.
    Refresh,
    /// The caller asked for it, with mode `Refresh` or `Bypass`.
    Forced,
}

/// A load: the one that a call is made from, or one that is waited for.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// The number of its flight; of the first, where one load is for many.
    pub(crate) flight: u64,
    /// The name of its cache.
    pub(crate) name: Arc<str>,
    /// Whether it holds a permit of `max_loads`, or is waited for by one that does.
    pub(crate) urgency: Arc<Urgency>,
}

/// What the body of a load can reach of it.
#[derive(Clone)]
pub(crate) struct Inside {
    pub(crate) flight: Arc<dyn Loading>,
    pub(crate) cache: Weak<dyn Held>,
}

/// A flight, or the flights, as their load sees them.
pub(crate) trait Loading: Send + Sync {
    /// The number of the flight itself.
    fn flight(&self) -> u64;
    fn hash(&self) -> u64;
    fn reason(&self) -> Reason;
    /// Bounds the lifetime of the value; zero: it is not stored.
    fn set_ttl(&self, ttl: Duration);
    fn add_tag(&self, tag: Tag);
    /// Its tag was invalidated at `number`: nobody who joined later gets its answer.
    fn taint(&self, number: u64);
    /// Each flight that the load is for.
    fn each(&self, visit: &mut dyn FnMut(&dyn Loading));
}

/// A cache, as a load of it sees it.
pub(crate) trait Held: Send + Sync {
    /// The value that the load is to replace.
    fn previous(&self, hash: u64, flight: u64) -> Option<AnyValue>;
    /// The load has added a tag, which may have been invalidated since it began.
    fn tagged(&self, flight: &dyn Loading, tag: &str);
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inside")
    }
}

thread_local! {
    static PLAIN: Cell<bool> = const { Cell::new(true) };
    static CONTEXT: RefCell<Context> = RefCell::new(Context::default());
}

/// Whether neither a scope nor a mode was entered, and nobody observes.
#[inline]
pub(crate) fn is_plain() -> bool {
    PLAIN.get()
}

/// A copy of what holds here.
pub(crate) fn current() -> Context {
    // A thread that is ending has none any more.
    CONTEXT.try_with(|context| context.borrow().clone()).unwrap_or_default()
}

/// The load that this is called from.
pub(crate) fn load() -> Option<Load> {
    CONTEXT.try_with(|context| context.borrow().load.clone()).ok().flatten()
}

/// What the body that calls this can reach of its load.
pub(crate) fn inside() -> Option<Inside> {
    CONTEXT.try_with(|context| context.borrow().inside.clone()).ok().flatten()
}

/// One thing to enter; swapping twice is as if nothing had been.
#[derive(Debug)]
pub(crate) enum Change {
    Scope(Option<WeakScope>),
    Mode(Mode),
    Observer(Option<Observer>),
    /// A load's own context, whatever holds where it is polled.
    All(Context),
}

impl Change {
    pub(crate) fn swap(&mut self) {
        let swapped = CONTEXT.try_with(|context| {
            let context = &mut *context.borrow_mut();
            match self {
                Self::Scope(scope) => std::mem::swap(scope, &mut context.scope),
                Self::Mode(mode) => std::mem::swap(mode, &mut context.mode),
                Self::Observer(observer) => std::mem::swap(observer, &mut context.observer),
                Self::All(all) => std::mem::swap(all, context),
            }
            context.scope.is_none() && context.mode.is_normal() && context.observer.is_none()
        });
        if let Ok(plain) = swapped {
            PLAIN.set(plain);
        }
    }
}

/// Undoes the swap at the end of a poll, a panic's included.
struct Swapped<'a>(&'a mut Change);

impl Drop for Swapped<'_> {
    fn drop(&mut self) {
        self.0.swap();
    }
}

/// Runs `future` inside of `change`.
pub(crate) fn within<F: Future>(change: Change, future: F) -> Within<F> {
    Within { change, future }
}

pin_project! {
    /// See [`within`]. By hand, since an async function keeps what is moved into it twice.
    pub(crate) struct Within<F> {
        change: Change,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        this.change.swap();
        let _undo = Swapped(this.change);
        this.future.poll(cx)
    }
}
