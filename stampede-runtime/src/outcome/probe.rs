//! The ranks of the probe: one trait a rank, the most special with the most references.
//!
//! Imported as a whole by the expansion, in a block of its own. `how` finds the kind of the return type, `none` whether
//! its value can be a `None`, `share` what view of itself its error allows, `IS_RESULT` whether it is a `Result`.

use super::{CloneError, ConvertError, Plain, Probe};
use crate::error::SharedError;
use std::{error::Error, fmt};

/// A value that can be given to many callers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be given to many callers",
    label = "the value is kept and cloned for each call: it needs `Clone + Send + Sync + 'static`",
    note = "return `Arc<T>` of a value that is not `Clone`, or of one that is large",
    note = "a response or a stream can be read only once: cache what it is made from"
)]
pub trait Answer: Clone + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync + 'static> Answer for T {}

/// An error that can be kept by many callers.
#[diagnostic::on_unimplemented(
    message = "the error `{Self}` can't be shared by many callers",
    label = "one failed load is the failure of all its callers: its error must be `Send + Sync + 'static`"
)]
pub trait Failure: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<E: Send + Sync + 'static> Failure for E {}

/// An error that more than one caller can get.
#[diagnostic::on_unimplemented(
    message = "the error `{Self}` can't reach more than one caller",
    label = "one failed load is the failure of all its callers, and this error can be neither cloned nor made from `SharedError`",
    note = "`#[derive(Clone)]` on the error, if its parts allow it",
    note = "or return `Result<T, Arc<E>>`",
    note = "or add a variant `Cached(#[from] SharedError)`: a `match` then sees only that variant",
    note = "or say in the attribute how to make one: `share_err = |error| ..`"
)]
pub trait Shareable: Failure + From<SharedError> {}

#[diagnostic::do_not_recommend]
impl<E: Failure + From<SharedError>> Shareable for E {}

/// `stampede_how`, for `Result<_, E>` where `E: Clone`.
pub trait HowClone {
    /// The `Ok`.
    type T;
    /// The `Err`.
    type E;
    /// The kind.
    fn stampede_how(
        &self,
        none: fn(&Self::T) -> bool,
        share: fn(Self::E) -> SharedError,
    ) -> CloneError<Self::T, Self::E>;
}

impl<T: Answer, E: Clone + Failure> HowClone for &&&&&&Probe<Result<T, E>> {
    type T = T;
    type E = E;
    fn stampede_how(&self, none: fn(&T) -> bool, _: fn(E) -> SharedError) -> CloneError<T, E> {
        CloneError { none, give_up: None }
    }
}

/// `stampede_how`, for any other `Result`.
pub trait HowConvert {
    /// The `Ok`.
    type T;
    /// The `Err`.
    type E;
    /// The kind.
    fn stampede_how(
        &self,
        none: fn(&Self::T) -> bool,
        share: fn(Self::E) -> SharedError,
    ) -> ConvertError<Self::T, Self::E>;
}

impl<T: Answer, E: Shareable> HowConvert for &&&&&Probe<Result<T, E>> {
    type T = T;
    type E = E;
    fn stampede_how(&self, none: fn(&T) -> bool, share: fn(E) -> SharedError) -> ConvertError<T, E> {
        ConvertError { none, share, make: E::from }
    }
}

/// `stampede_how`, for what is no `Result`.
pub trait HowPlain {
    /// The value.
    type T;
    /// The kind.
    fn stampede_how(&self, none: fn(&Self::T) -> bool, share: ()) -> Plain<Self::T>;
}

impl<T: Answer> HowPlain for &Probe<T> {
    type T = T;
    fn stampede_how(&self, none: fn(&T) -> bool, (): ()) -> Plain<T> {
        Plain { none }
    }
}

/// What is asked of a return type that has no kind. `O` is any type: nothing further on can be wrong with it.
macro_rules! unfit {
    ($(
        $(#[$doc:meta])*
        $rank:ident::$how:ident<$($parameter:ident $(: $bound:path)?),+> for $receiver:ty: $asks:ty, $needs:path;
    )*) => {$(
        $(#[$doc])*
        pub trait $rank {
            /// What is wrong with it.
            type Asked;
            /// No kind.
            fn $how<A, B, O>(&self, none: A, share: B) -> O
            where
                Self::Asked: $needs;
        }

        impl<$($parameter $(: $bound)?),+> $rank for $receiver {
            type Asked = $asks;
            fn $how<A, B, O>(&self, _: A, _: B) -> O
            where
                $asks: $needs,
            {
                crate::__private::absent()
            }
        }
    )*};
}

unfit! {
    /// `stampede_how`, where the `Err` can be cloned but not kept.
    UnfitCloneError::stampede_how<T: Answer, E: Clone> for &&&&Probe<Result<T, E>>: E, Failure;
    /// `stampede_how`, where the `Err` can't be shared.
    UnfitError::stampede_how<T: Answer, E> for &&&Probe<Result<T, E>>: E, Shareable;
    /// `stampede_how`, where the `Ok` can't be given to many.
    UnfitValue::stampede_how<T, E> for &&Probe<Result<T, E>>: T, Answer;
    /// `stampede_how`, where what is no `Result` can't be given to many.
    UnfitPlain::stampede_how<T> for Probe<T>: T, Answer;
}

/// What a function with `each` returns: values by their ids.
#[diagnostic::on_unimplemented(
    message = "a function with `each` returns values by their ids, and `{Self}` is no such collection",
    label = "not a collection of pairs `(id, value)`",
    note = "return a map, `HashMap<Id, Value>`, or a `Vec<(Id, Value)>`, or a `Result` of one"
)]
pub trait Pairs {
    /// The id.
    type Id;
    /// The value of one.
    type One;
}

#[diagnostic::do_not_recommend]
impl<C: IntoIterator<Item = (I, U)> + FromIterator<(I, U)> + 'static, I, U> Pairs for C {
    type Id = I;
    type One = U;
}

/// `stampede_how_each`, for the elements of a `Result` of a collection whose error is `Clone`.
pub trait HowEachClone {
    /// The value of one element.
    type U;
    /// The `Err`.
    type E;
    /// The kind of an element.
    fn stampede_how_each(&self, none: (), share: fn(Self::E) -> SharedError) -> CloneError<Option<Self::U>, Self::E>;
}

impl<C: Pairs<One: Answer>, E: Clone + Failure> HowEachClone for &&&&&&Probe<Result<C, E>> {
    type U = C::One;
    type E = E;
    fn stampede_how_each(&self, (): (), _: fn(E) -> SharedError) -> CloneError<Option<C::One>, E> {
        CloneError { none: Option::is_none, give_up: None }
    }
}

/// `stampede_how_each`, for the elements of any other `Result` of a collection.
pub trait HowEachConvert {
    /// The value of one element.
    type U;
    /// The `Err`.
    type E;
    /// The kind of an element.
    fn stampede_how_each(&self, none: (), share: fn(Self::E) -> SharedError) -> ConvertError<Option<Self::U>, Self::E>;
}

impl<C: Pairs<One: Answer>, E: Shareable> HowEachConvert for &&&&&Probe<Result<C, E>> {
    type U = C::One;
    type E = E;
    fn stampede_how_each(&self, (): (), share: fn(E) -> SharedError) -> ConvertError<Option<C::One>, E> {
        ConvertError { none: Option::is_none, share, make: E::from }
    }
}

/// `stampede_how_each`, for the elements of a collection.
pub trait HowEachPlain {
    /// The value of one element.
    type U;
    /// The kind of an element.
    fn stampede_how_each(&self, none: (), share: ()) -> Plain<Option<Self::U>>;
}

impl<C: Pairs<One: Answer>> HowEachPlain for &&Probe<C> {
    type U = C::One;
    fn stampede_how_each(&self, (): (), (): ()) -> Plain<Option<C::One>> {
        Plain { none: Option::is_none }
    }
}

unfit! {
    /// `stampede_how_each`, where the `Err` can't be shared.
    UnfitEachError::stampede_how_each<C: Pairs, E> for &&&&Probe<Result<C, E>>: E, Shareable;
    /// `stampede_how_each`, where an element of an `Ok` can't be given to many.
    UnfitEachOk::stampede_how_each<C: Pairs, E> for &&&Probe<Result<C, E>>: C::One, Answer;
    /// `stampede_how_each`, where an element can't be given to many.
    UnfitEachValue::stampede_how_each<C: Pairs> for &Probe<C>: C::One, Answer;
    /// `stampede_how_each`, for what is no collection.
    UnfitEach::stampede_how_each<C> for Probe<C>: C, Pairs;
}

/// `stampede_how_each_with`: the kind of an element where the attribute says `share_err = make`.
pub trait HowEachWith {
    /// The value of one element.
    type U;
    /// The `Err`.
    type E;
    /// The kind of an element.
    fn stampede_how_each_with(
        &self,
        make: fn(SharedError) -> Self::E,
        share: fn(Self::E) -> SharedError,
    ) -> ConvertError<Option<Self::U>, Self::E>;
}

impl<C: Pairs, E> HowEachWith for Probe<Result<C, E>> {
    type U = C::One;
    type E = E;
    fn stampede_how_each_with(
        &self,
        make: fn(SharedError) -> E,
        share: fn(E) -> SharedError,
    ) -> ConvertError<Option<C::One>, E> {
        ConvertError { none: Option::is_none, share, make }
    }
}

/// `stampede_none`: whether a value is one. One trait a rank.
macro_rules! none {
    ($($(#[$doc:meta])* $rank:ident <$($parameter:ident),+> for $receiver:ty: $value:ty => $none:expr;)*) => {$(
        $(#[$doc])*
        pub trait $rank {
            /// The value.
            type T;
            /// The check.
            fn stampede_none(&self) -> fn(&Self::T) -> bool;
        }

        impl<$($parameter),+> $rank for $receiver {
            type T = $value;
            fn stampede_none(&self) -> fn(&$value) -> bool {
                $none
            }
        }
    )*};
}

none! {
    /// `stampede_none`, for a `Result` of an `Option`.
    NoneResultOption<U, E> for &&&Probe<Result<Option<U>, E>>: Option<U> => Option::is_none;
    /// `stampede_none`, for an `Option`.
    NoneOption<U> for &&Probe<Option<U>>: Option<U> => Option::is_none;
    /// `stampede_none`, for any other `Result`.
    NoneResult<T, E> for &Probe<Result<T, E>>: T => |_| false;
    /// `stampede_none`, for the rest.
    NonePlain<T> for Probe<T>: T => |_| false;
}

/// `stampede_share`: the view of itself that an error allows. One trait a rank.
macro_rules! share {
    ($($(#[$doc:meta])* $rank:ident for $receiver:ty where $($bound:path),*: $share:expr;)*) => {$(
        $(#[$doc])*
        pub trait $rank {
            /// The error.
            type E;
            /// How to share it.
            fn stampede_share(&self) -> fn(Self::E) -> SharedError;
        }

        impl<T, E: Send + Sync + 'static $(+ $bound)*> $rank for $receiver {
            type E = E;
            fn stampede_share(&self) -> fn(E) -> SharedError {
                $share
            }
        }
    )*};
}

share! {
    /// `stampede_share`, for what is an `Error`.
    ShareError for &&&&&&Probe<Result<T, E>> where Error: SharedError::new;
    /// `stampede_share`, for what leads to an `Error`, as `anyhow::Error`, `eyre::Report` and boxed errors do.
    ShareAsRef for &&&&&Probe<Result<T, E>> where AsRef<dyn Error + Send + Sync>: |error| {
        SharedError::viewed(error, |any| any.downcast_ref::<E>().map(|error| error.as_ref() as &(dyn Error + 'static)))
    };
    /// `stampede_share`, for what can be displayed.
    ShareDisplay for &&&&Probe<Result<T, E>> where fmt::Display: |error| {
        let message = error.to_string();
        SharedError::opaque(error, message)
    };
    /// `stampede_share`, for what can be debugged.
    ShareDebug for &&&Probe<Result<T, E>> where fmt::Debug: |error| {
        let message = format!("{error:?}");
        SharedError::opaque(error, message)
    };
    /// `stampede_share`, for what says nothing.
    ShareOpaque for &&Probe<Result<T, E>> where : |error| {
        let message = format!("the load failed with a {}", std::any::type_name::<E>());
        SharedError::opaque(error, message)
    };
}

/// `stampede_share`, for an error that can't be kept, which `how` refuses.
pub trait ShareRefused {
    /// The error.
    type E;
    /// How to share it: never called.
    fn stampede_share(&self) -> fn(Self::E) -> SharedError;
}

impl<T, E> ShareRefused for &Probe<Result<T, E>> {
    type E = E;
    fn stampede_share(&self) -> fn(E) -> SharedError {
        |_| SharedError::new(Never)
    }
}

/// `stampede_share`, for what is no `Result`.
pub trait ShareNothing {
    /// There is nothing to share.
    fn stampede_share(&self) {}
}

impl<R> ShareNothing for Probe<R> {}

/// The error of a `fn` that can't be reached.
#[derive(Debug)]
struct Never;

impl fmt::Display for Never {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the load failed")
    }
}

impl Error for Never {}

/// `IS_RESULT`, for what is no `Result`.
pub trait NotResult {
    /// It is none.
    const IS_RESULT: bool = false;
}

impl<R> NotResult for Probe<R> {}
