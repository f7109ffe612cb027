//! How a call behaves: [`CacheMode`], and what else can be entered around it.

use std::{
    any::Any,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// How cached calls behave, set around them with [`enter`](Self::enter), or for a whole cache with
/// [`CacheHandle::set_mode`](crate::CacheHandle::set_mode).
///
/// ```
/// use stampede_runtime::{CacheMode, stampede_cached};
///
/// #[stampede_cached(ttl = 60)]
/// async fn answer() -> u32 {
///     42
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // Reloads and stores, whatever is cached.
/// assert_eq!(CacheMode::Refresh.enter(answer()).await, 42);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheMode {
    /// As the policy says.
    #[default]
    Normal,
    /// Load anew and store: join no flight that began before the call. Callers who come meanwhile share one next flight.
    Refresh,
    /// Neither read nor store nor join.
    Bypass,
    /// Accept no value that is older than this.
    MaxAge(Duration),
}

/// What a call finds around it.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    Set(CacheMode),
    /// Tell the one who asked that a call could not be answered.
    CachedOnly(Arc<AtomicBool>),
    /// Hand out the entry of the call instead of answering it.
    Capture(Capture),
}

/// Where the entry of a call is put: a box of an `Entry<'static, T>`.
pub(crate) type Capture = Arc<Mutex<Option<Box<dyn Any + Send>>>>;

impl Default for Mode {
    fn default() -> Self {
        Self::Set(CacheMode::Normal)
    }
}

impl Mode {
    pub(crate) fn is_normal(&self) -> bool {
        matches!(self, Self::Set(CacheMode::Normal))
    }

    /// What is left of the mode in a load that was begun in it.
    pub(crate) fn through_a_load(&self) -> Self {
        match self {
            Self::Set(mode @ (CacheMode::Refresh | CacheMode::Bypass)) => Self::Set(*mode),
            Self::Set(_) | Self::CachedOnly(_) | Self::Capture(_) => Self::default(),
        }
    }
}

/// The mode of a whole cache, read on each call.
#[derive(Debug)]
pub(crate) struct Switch {
    kind: AtomicU8,
    max_age: AtomicU64,
}

impl Switch {
    pub(crate) const fn new() -> Self {
        Self { kind: AtomicU8::new(0), max_age: AtomicU64::new(0) }
    }

    pub(crate) fn set(&self, mode: CacheMode) {
        let kind = match mode {
            CacheMode::Normal => 0,
            CacheMode::Refresh => 1,
            CacheMode::Bypass => 2,
            CacheMode::MaxAge(age) => {
                self.max_age.store(crate::clock::saturating_nanos(age), Relaxed);
                3
            }
        };
        self.kind.store(kind, Relaxed);
    }

    /// Whether the mode is `Normal`, as it is for nearly every call.
    #[inline]
    pub(crate) fn is_normal(&self) -> bool {
        self.kind.load(Relaxed) == 0
    }

    pub(crate) fn get(&self) -> CacheMode {
        match self.kind.load(Relaxed) {
            1 => CacheMode::Refresh,
            2 => CacheMode::Bypass,
            3 => CacheMode::MaxAge(Duration::from_nanos(self.max_age.load(Relaxed))),
            _ => CacheMode::Normal,
        }
    }
}
