//! The type of the stored value, as the signature of a companion must name it.
//!
//! `Result<T, E>` → `T`, all else → itself, whatever alias it is written with. An inherent constant is preferred to a
//! trait's, so `Probe::<R>::IS_RESULT` tells the two apart, and a const generic turns the answer into a type.

use super::{Probe, probe::Pairs};
use std::convert::Infallible;

impl<T, E> Probe<Result<T, E>> {
    /// It is one.
    pub const IS_RESULT: bool = true;
}

/// Which of the two; see [`Picks`].
#[derive(Debug)]
pub struct Pick<const IS_RESULT: bool>;

/// The value of the return type `R`.
pub trait Picks<R> {
    /// `R` without one `Result`.
    type Value;
}

impl<T, E> Picks<Result<T, E>> for Pick<true> {
    type Value = T;
}

impl<R> Picks<R> for Pick<false> {
    type Value = R;
}

/// `R` without one `Result`, `IS_RESULT` telling whether it is one.
pub type Value<R, const IS_RESULT: bool> = <Pick<IS_RESULT> as Picks<R>>::Value;

/// What an element of the batch `R` would be returned as by a function of its own.
pub trait PicksEach<R> {
    /// Its return type.
    type Return;
    /// Its value.
    type Value;
    /// Its error.
    type Error;
}

impl<C: Pairs, E> PicksEach<Result<C, E>> for Pick<true> {
    type Return = Result<Option<C::One>, E>;
    type Value = Option<C::One>;
    type Error = E;
}

impl<C: Pairs> PicksEach<C> for Pick<false> {
    type Return = Option<C::One>;
    type Value = Option<C::One>;
    type Error = Infallible;
}

/// What one element of the batch `R` has: `None` if the batch did not return it.
pub type EachValue<R, const IS_RESULT: bool> = <Pick<IS_RESULT> as PicksEach<R>>::Value;

/// The return type of one element of the batch `R`.
pub type EachReturn<R, const IS_RESULT: bool> = <Pick<IS_RESULT> as PicksEach<R>>::Return;

/// The error of one element of the batch `R`.
pub type EachError<R, const IS_RESULT: bool> = <Pick<IS_RESULT> as PicksEach<R>>::Error;
