//! What generated code asks of each argument: can it be part of a key, can a load own it?
//!
//! Asked by rank, as the outcome is: a rank for what is fit, and one below it for what is not. Only the latter's method
//! has the bound, so the error stands at the user's token; and what it gives makes no second one further on.

use crate::key::{KeyPart, Part};
use std::{borrow::Borrow, fmt, marker::PhantomData};

/// A place that is to be a part of a key, by its written type.
#[derive(Debug)]
pub struct Fit<'a, U: ?Sized>(pub &'a U);

/// The ranks of `stampede_part` for a [`Fit`], without their names.
pub mod fits {
    pub use super::{FitPart as _, UnfitPart as _};
}

/// `stampede_part`, for what can be one.
pub trait FitPart<'a, U: ?Sized> {
    /// The part.
    fn stampede_part(&self) -> Part<'a, U>;
}

impl<'a, U: ?Sized + KeyPart> FitPart<'a, U> for &Fit<'a, U> {
    fn stampede_part(&self) -> Part<'a, U> {
        Part(self.0)
    }
}

/// `stampede_part`, for the rest.
pub trait UnfitPart<U: ?Sized> {
    /// No part.
    fn stampede_part(&self) -> Part<'static, ()>
    where
        U: KeyPart;
}

impl<U: ?Sized> UnfitPart<U> for Fit<'_, U> {
    fn stampede_part(&self) -> Part<'static, ()>
    where
        U: KeyPart,
    {
        Part(&())
    }
}

/// A place that is to be a part of a key, by whatever type it has.
#[derive(Debug)]
pub struct Peeled<'a, T: ?Sized>(pub &'a T);

/// The ranks of `stampede_part` for a [`Peeled`], without their names.
pub mod peels {
    pub use super::{PartOfReference as _, PartOfUnfit as _, PartOfUnfitReference as _, PartOfValue as _};
}

/// `stampede_part`, for references, also inside of an `Option`: taken as what they point to.
pub trait PartOfReference {
    /// The part.
    type Part;
    /// The part.
    fn stampede_part(&self) -> Self::Part;
}

impl<'a, U: ?Sized + KeyPart> PartOfReference for &&&Peeled<'_, &'a U> {
    type Part = Part<'a, U>;
    fn stampede_part(&self) -> Part<'a, U> {
        Part(self.0)
    }
}

impl<'a, U: ?Sized + KeyPart> PartOfReference for &&&Peeled<'_, Option<&'a U>> {
    type Part = Option<Part<'a, U>>;
    fn stampede_part(&self) -> Option<Part<'a, U>> {
        self.0.map(Part)
    }
}

/// `stampede_part`, for references to what can't be one.
pub trait PartOfUnfitReference<U: ?Sized> {
    /// No part.
    fn stampede_part(&self) -> Part<'static, ()>
    where
        U: KeyPart;
}

impl<U: ?Sized> PartOfUnfitReference<U> for &&Peeled<'_, &U> {
    fn stampede_part(&self) -> Part<'static, ()>
    where
        U: KeyPart,
    {
        Part(&())
    }
}

/// `stampede_part`, for values.
pub trait PartOfValue {
    /// The part.
    type Part;
    /// The part.
    fn stampede_part(&self) -> Self::Part;
}

impl<'a, T: KeyPart> PartOfValue for &Peeled<'a, T> {
    type Part = Part<'a, T>;
    fn stampede_part(&self) -> Part<'a, T> {
        Part(self.0)
    }
}

/// `stampede_part`, for values that can't be one.
pub trait PartOfUnfit<T> {
    /// No part.
    fn stampede_part(&self) -> Part<'static, ()>
    where
        T: KeyPart;
}

impl<T> PartOfUnfit<T> for Peeled<'_, T> {
    fn stampede_part(&self) -> Part<'static, ()>
    where
        T: KeyPart,
    {
        Part(&())
    }
}

/// An argument that a load can own.
#[diagnostic::on_unimplemented(
    message = "a load must own its arguments, and no owned copy of `{Self}` can be made",
    label = "a load outlives the call that began it",
    note = "give the type `Clone` (with its fields in an `Arc`, say) or take an `Arc` of it",
    note = "or let the load borrow, in the caller's own task: `run = \"in_caller\"`"
)]
pub trait Own: ToOwned<Owned: Send + 'static> {}

#[diagnostic::do_not_recommend]
impl<U: ?Sized + ToOwned<Owned: Send + 'static>> Own for U {}

/// A borrowed argument that a load is to own.
#[derive(Debug)]
pub struct Lent<'a, U: ?Sized>(pub &'a U);

/// The ranks of `stampede_own`, without their names.
pub mod owns {
    pub use super::{OwnFit as _, OwnUnfit as _};
}

/// The load's copy of an argument, which it lends to the body.
pub struct Owned<U: ?Sized + ToOwned>(U::Owned);

/// What a load has of a borrowed argument.
pub trait Lend {
    /// What it lends.
    type To: ?Sized;
    /// The argument as the signature has it.
    fn lend(&self) -> &Self::To;
}

/// The argument as the signature has it.
pub fn lend<L: Lend>(owned: &L) -> &L::To {
    owned.lend()
}

impl<U: ?Sized + ToOwned> Lend for Owned<U> {
    type To = U;
    fn lend(&self) -> &U {
        self.0.borrow()
    }
}

impl<U: ?Sized + ToOwned> fmt::Debug for Owned<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owned")
    }
}

/// What stands for an argument that a load can't own, in code that is not compiled to its end.
pub struct Unowned<U: ?Sized>(PhantomData<fn() -> Box<U>>);

impl<U: ?Sized> Lend for Unowned<U> {
    type To = U;
    fn lend(&self) -> &U {
        crate::__private::absent()
    }
}

impl<U: ?Sized> fmt::Debug for Unowned<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unowned")
    }
}

/// `stampede_own`, for what can be.
pub trait OwnFit<U: ?Sized + ToOwned> {
    /// The load's copy.
    fn stampede_own(&self) -> Owned<U>;
}

impl<U: ?Sized + Own> OwnFit<U> for &Lent<'_, U> {
    fn stampede_own(&self) -> Owned<U> {
        Owned(self.0.to_owned())
    }
}

/// `stampede_own`, for the rest.
pub trait OwnUnfit<U: ?Sized> {
    /// Nothing.
    fn stampede_own(&self) -> Unowned<U>
    where
        U: Own;
}

impl<U: ?Sized> OwnUnfit<U> for Lent<'_, U> {
    fn stampede_own(&self) -> Unowned<U>
    where
        U: Own,
    {
        Unowned(PhantomData)
    }
}

/// A by-value argument of a batch, which may need more than one load.
#[diagnostic::on_unimplemented(
    message = "a batch can need two loads (what is missing, what is refreshed), and `{Self}` can't be copied for each",
    label = "with `each`, an argument that is taken by value must be `Clone`",
    note = "give the type `Clone`, or take `&T` or an `Arc` of it"
)]
pub trait Again: Clone {}

#[diagnostic::do_not_recommend]
impl<T: Clone> Again for T {}

/// One load's copy of an argument.
pub fn again<T: Again>(argument: &T) -> T {
    argument.clone()
}
