//! What a loader's return type means: what is stored, and how its error reaches many callers.
//!
//! Found by type, not by spelling. The expansion asks a [`Probe`] of the function's return type; method look-up tries
//! the receiver with the most references first, so the most special kind that fits wins (autoref specialisation).
//! The same works for a generic function, as far as its own bounds say.

pub(crate) mod probe;
mod value;

use crate::error::SharedError;
use std::{convert::Infallible, fmt, marker::PhantomData};
pub use value::{EachError, EachReturn, EachValue, Pick, Picks, PicksEach, Value};

/// How one return type is taken apart, stored, shared and put together again.
#[diagnostic::on_unimplemented(
    message = "the answer of a cached function is given to many callers, and this return type can't be",
    label = "see the notes of the type named here"
)]
pub trait Outcome: Copy + Send + Sync + 'static {
    /// What the function returns.
    type Return;
    /// What is stored: the return type without one `Result`.
    type Value: Clone + Send + Sync + 'static;
    /// The loader's own error.
    type Error;
    /// What is shared of a failed load.
    type Failure: Clone + Send + Sync + 'static;

    /// Takes the loader's answer apart.
    ///
    /// # Errors
    ///
    /// The loader's error, if that is its answer.
    fn open(&self, answer: Self::Return) -> Result<Self::Value, Self::Error>;

    /// Makes the error fit to be shared.
    fn seal(&self, error: Self::Error) -> Self::Failure;

    /// What a caller gets.
    fn close(&self, shared: Result<Self::Value, Self::Failure>) -> Self::Return;

    /// The failure of a load that the runtime gave up, where the error type can say so.
    fn give_up(&self, error: SharedError) -> Option<Self::Failure>;

    /// Whether [`give_up`](Self::give_up) has a failure.
    fn can_give_up(&self) -> bool;

    /// Whether the value is a `None`.
    fn is_none(&self, value: &Self::Value) -> bool;
}

/// Asks for the kind of the return type `R`.
pub struct Probe<R: ?Sized>(PhantomData<fn(&R)>);

impl<R: ?Sized> Probe<R> {
    /// The question.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<R: ?Sized> Default for Probe<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: ?Sized> fmt::Debug for Probe<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}

/// A return type that is no `Result`.
pub struct Plain<T> {
    none: fn(&T) -> bool,
}

/// A `Result` whose error can be cloned.
pub struct CloneError<T, E> {
    none: fn(&T) -> bool,
    give_up: Option<fn(SharedError) -> E>,
}

/// A `Result` whose error is put behind a [`SharedError`], and made of one for every caller.
pub struct ConvertError<T, E> {
    none: fn(&T) -> bool,
    share: fn(E) -> SharedError,
    make: fn(SharedError) -> E,
}

/// Function pointers are `Copy` and say nothing in `Debug`, whatever types they are about.
macro_rules! plain {
    ($($name:ident<$($parameter:ident),+>)*) => {$(
        impl<$($parameter),+> Clone for $name<$($parameter),+> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($parameter),+> Copy for $name<$($parameter),+> {}

        impl<$($parameter),+> fmt::Debug for $name<$($parameter),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}

plain! { Plain<T> CloneError<T, E> ConvertError<T, E> }

impl<T: Clone + Send + Sync + 'static> Outcome for Plain<T> {
    type Return = T;
    type Value = T;
    type Error = Infallible;
    type Failure = Infallible;

    fn open(&self, answer: T) -> Result<T, Infallible> {
        Ok(answer)
    }

    fn seal(&self, error: Infallible) -> Infallible {
        error
    }

    fn close(&self, shared: Result<T, Infallible>) -> T {
        let Ok(value) = shared;
        value
    }

    fn give_up(&self, _: SharedError) -> Option<Infallible> {
        None
    }

    fn can_give_up(&self) -> bool {
        false
    }

    fn is_none(&self, value: &T) -> bool {
        (self.none)(value)
    }
}

impl<T, E> Outcome for CloneError<T, E>
where
    T: Clone + Send + Sync + 'static,
    E: Clone + Send + Sync + 'static,
{
    type Return = Result<T, E>;
    type Value = T;
    type Error = E;
    type Failure = E;

    fn open(&self, answer: Result<T, E>) -> Result<T, E> {
        answer
    }

    fn seal(&self, error: E) -> E {
        error
    }

    fn close(&self, shared: Result<T, E>) -> Result<T, E> {
        shared
    }

    fn give_up(&self, error: SharedError) -> Option<E> {
        self.give_up.map(|make| make(error))
    }

    fn can_give_up(&self) -> bool {
        self.give_up.is_some()
    }

    fn is_none(&self, value: &T) -> bool {
        (self.none)(value)
    }
}

impl<T, E> Outcome for ConvertError<T, E>
where
    T: Clone + Send + Sync + 'static,
    E: 'static,
{
    type Return = Result<T, E>;
    type Value = T;
    type Error = E;
    type Failure = SharedError;

    fn open(&self, answer: Result<T, E>) -> Result<T, E> {
        answer
    }

    fn seal(&self, error: E) -> SharedError {
        (self.share)(error)
    }

    fn close(&self, shared: Result<T, SharedError>) -> Result<T, E> {
        shared.map_err(self.make)
    }

    fn give_up(&self, error: SharedError) -> Option<SharedError> {
        Some(error)
    }

    fn can_give_up(&self) -> bool {
        true
    }

    fn is_none(&self, value: &T) -> bool {
        (self.none)(value)
    }
}

/// An error that can report a load which was given up.
#[diagnostic::on_unimplemented(
    message = "`timeout` needs an error that can report it, and `{Self}` can't be made from `SharedError`",
    label = "no way to say that the load was given up",
    note = "add a variant `Cached(#[from] SharedError)` (thiserror) or `impl From<SharedError>`, or give `share_err = |error| ..`"
)]
pub trait TimesOut: From<SharedError> {}

#[diagnostic::do_not_recommend]
impl<E: From<SharedError>> TimesOut for E {}

impl<T, E> CloneError<T, E> {
    /// Lets a timeout be reported as an `E`.
    #[must_use]
    pub fn timed(self) -> Self
    where
        E: TimesOut,
    {
        Self { give_up: Some(E::from), ..self }
    }
}

impl<T, E> ConvertError<T, E> {
    /// Lets a timeout be reported as an `E`, as it can be anyway.
    #[must_use]
    pub fn timed(self) -> Self {
        self
    }
}

/// A value of `Plain` has no error that could report a timeout.
#[diagnostic::on_unimplemented(
    message = "`timeout` needs a way to report it, and this function returns no `Result`",
    label = "no error to report the timeout with",
    note = "return `Result<_, E>` where `E: From<SharedError>`"
)]
pub trait Fallible {}

impl<T> Plain<T> {
    /// There is no error to report a timeout with.
    #[must_use]
    pub fn timed(self) -> Self
    where
        Self: Fallible,
    {
        self
    }
}

/// The outcome where the attribute says `share_err = make`.
pub fn share_with<T, E>(
    make: fn(SharedError) -> E,
    none: fn(&T) -> bool,
    share: fn(E) -> SharedError,
) -> ConvertError<T, E> {
    ConvertError { none, share, make }
}

impl<V: Clone + Send + Sync + 'static> ConvertError<V, SharedError> {
    /// What [`Cache`](crate::Cache) uses: every error is shared as it is.
    pub(crate) fn shared(none: fn(&V) -> bool) -> Self {
        Self { none, share: |error| error, make: |error| error }
    }
}
