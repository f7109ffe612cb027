//! The error that many callers share: [`SharedError`].
//!
//! One failed load has one error and, often, a thousand callers. An error type that can be cloned is cloned; any other
//! is put behind an `Arc` here, and each caller gets an `E` made from a handle to it.

use std::{any::Any, error::Error, fmt, sync::Arc, time::Duration};

/// How an original error shows itself, whatever traits it has.
type View = fn(&(dyn Any + Send + Sync)) -> Option<&(dyn Error + 'static)>;

/// A cheap, cloneable handle to the error of a load, given to every caller of that load.
///
/// `Display` shows the original's message. The original is the [`source`](Error::source), and [`downcast_ref`] hands
/// it out by its type. A load that was given up after its `timeout` is reported as a `SharedError` too: see
/// [`is_timeout`].
///
/// An error type of your own takes part with one line:
///
/// ```
/// use stampede_runtime::SharedError;
///
/// #[derive(Debug)]
/// enum ReportError {
///     Cached(SharedError),
/// }
///
/// impl From<SharedError> for ReportError {
///     fn from(error: SharedError) -> Self {
///         Self::Cached(error)
///     }
/// }
/// ```
///
/// (`#[from] SharedError` does it with `thiserror`; `anyhow::Error`, `eyre::Report` and `Box<dyn Error + Send + Sync>`
/// have it already.)
///
/// [`downcast_ref`]: SharedError::downcast_ref
/// [`is_timeout`]: SharedError::is_timeout
#[derive(Clone)]
pub struct SharedError(Arc<Inner>);

enum Inner {
    /// The loader's own error.
    Original { error: Box<dyn Any + Send + Sync>, view: View },
    /// The loader's own error, of a type that is no `Error` and leads to none: all it can say is this.
    Opaque { error: Box<dyn Any + Send + Sync>, message: String },
    /// The load was given up.
    Timeout { message: String },
    /// The load was lost with the runtime it ran in.
    Lost,
}

impl SharedError {
    /// Shares `error`.
    ///
    /// ```
    /// use stampede_runtime::SharedError;
    ///
    /// let shared = SharedError::new(std::io::Error::other("disk on fire"));
    /// assert_eq!(shared.to_string(), "disk on fire");
    /// assert!(shared.downcast_ref::<std::io::Error>().is_some());
    /// ```
    pub fn new<E: Error + Send + Sync + 'static>(error: E) -> Self {
        Self::viewed(error, |any| any.downcast_ref::<E>().map(|error| error as &(dyn Error + 'static)))
    }

    /// Shares an error that `view` can show as an `Error`.
    pub(crate) fn viewed<E: Send + Sync + 'static>(error: E, view: View) -> Self {
        Self(Arc::new(Inner::Original { error: Box::new(error), view }))
    }

    /// Shares an error that can only be described.
    pub(crate) fn opaque<E: Send + Sync + 'static>(error: E, message: String) -> Self {
        Self(Arc::new(Inner::Opaque { error: Box::new(error), message }))
    }

    /// The error of a load that was given up after `limit`.
    pub(crate) fn timeout(cache: &str, limit: Duration) -> Self {
        let message = format!("the load of {cache} was given up after its timeout of {limit:?}");
        Self(Arc::new(Inner::Timeout { message }))
    }

    /// The error of a caller whose load was lost.
    pub(crate) fn lost() -> Self {
        Self(Arc::new(Inner::Lost))
    }

    /// Whether the load was given up because its `timeout` had passed.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(*self.0, Inner::Timeout { .. })
    }

    /// The loader's error, if its type is `E`: also where `E` is no `Error` itself, such as `anyhow::Error`.
    ///
    /// To look through the error's sources as well, use [`find_cause`].
    ///
    /// ```
    /// use stampede_runtime::SharedError;
    ///
    /// let shared = SharedError::new(std::io::Error::other("disk on fire"));
    /// assert!(shared.downcast_ref::<std::io::Error>().is_some());
    /// assert!(shared.downcast_ref::<std::num::ParseIntError>().is_none());
    /// ```
    #[must_use]
    pub fn downcast_ref<E: 'static>(&self) -> Option<&E> {
        let (Inner::Original { error, .. } | Inner::Opaque { error, .. }) = &*self.0 else { return None };
        // A cached function that calls another may have shared an error that was shared before.
        error.downcast_ref::<E>().or_else(|| error.downcast_ref::<Self>()?.downcast_ref())
    }

    /// The original, where its traits give a view of it.
    fn original(&self) -> Option<&(dyn Error + 'static)> {
        match &*self.0 {
            Inner::Original { error, view } => view(&**error),
            Inner::Opaque { .. } | Inner::Timeout { .. } | Inner::Lost => None,
        }
    }
}

/// Finds the error of type `E` that stands behind `error`, through any number of [`SharedError`]s and sources.
///
/// Works on `anyhow::Error`, `eyre::Report` and `Box<dyn Error + Send + Sync>` as well: `find_cause::<E>(&error)`.
///
/// ```
/// use stampede_runtime::{SharedError, find_cause};
/// use std::{error::Error, io};
///
/// let shared = SharedError::new(io::Error::other("disk on fire"));
/// let error: Box<dyn Error + Send + Sync> = shared.into();
/// assert!(find_cause::<io::Error>(&*error).is_some());
/// ```
#[must_use]
pub fn find_cause<'a, E: Error + 'static>(error: &'a (dyn Error + Send + Sync + 'static)) -> Option<&'a E> {
    let mut next = Some(error as &(dyn Error + 'static));
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        if let Some(found) = error.downcast_ref::<SharedError>().and_then(SharedError::downcast_ref) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.0, self.original()) {
            (_, Some(original)) => fmt::Display::fmt(original, f),
            (Inner::Opaque { message, .. } | Inner::Timeout { message }, None) => f.write_str(message),
            (Inner::Lost, None) => f.write_str("the runtime that ran the load was shut down"),
            // A view that fails would be ours: it is made for the type that it is kept with.
            (Inner::Original { .. }, None) => f.write_str("the load failed"),
        }
    }
}

impl fmt::Debug for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.original() {
            Some(original) => f.debug_tuple("SharedError").field(&original).finish(),
            None => write!(f, "SharedError({self})"),
        }
    }
}

impl Error for SharedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.original()
    }
}
