//! Keys: looked up borrowed, kept owned.
//!
//! A call's key is a tuple of parts, each a reference into the arguments. It is hashed and compared as it is; the owned
//! form is made only when something must be kept. The two agree because `ToOwned`'s owned form borrows as the part, and
//! [`Borrow`](std::borrow::Borrow) asks for equal hashes.

use std::{
    borrow::Borrow,
    hash::{Hash, Hasher},
};

/// A key as a call has it: borrowed parts, which find the owned key they would become.
pub trait KeyRef: Hash {
    /// The key as the cache keeps it.
    type Owned: Hash + Eq + Clone + Send + Sync + 'static;

    /// Whether this is that key.
    fn is(&self, owned: &Self::Owned) -> bool;

    /// The key to keep.
    fn to_key(&self) -> Self::Owned;
}

/// What can be part of a key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be part of a cache key",
    label = "the key needs `Hash + Eq`, and an owned copy to keep",
    note = "if the answer does not depend on which one it is, add `skip(..)` with this parameter to the attribute",
    note = "if it depends on a part of it, give that part: `key = (id, ..)`; a float as `x.to_bits()`",
    note = "a type of yours needs `#[derive(Clone, PartialEq, Eq, Hash)]`"
)]
pub trait KeyPart: Hash + Eq + ToOwned<Owned: Hash + Eq + Clone + Send + Sync + 'static> {}

#[diagnostic::do_not_recommend]
impl<U> KeyPart for U where U: ?Sized + Hash + Eq + ToOwned<Owned: Hash + Eq + Clone + Send + Sync + 'static> {}

/// One borrowed part of a key.
#[derive(Debug)]
pub struct Part<'a, U: ?Sized>(pub &'a U);

impl<U: ?Sized + Hash> Hash for Part<'_, U> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<U: ?Sized + KeyPart> KeyRef for Part<'_, U> {
    type Owned = U::Owned;

    fn is(&self, owned: &U::Owned) -> bool {
        self.0 == owned.borrow()
    }

    fn to_key(&self) -> U::Owned {
        self.0.to_owned()
    }
}

impl<P: KeyRef> KeyRef for Option<P> {
    type Owned = Option<P::Owned>;

    fn is(&self, owned: &Self::Owned) -> bool {
        match (self, owned) {
            (Some(part), Some(owned)) => part.is(owned),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    fn to_key(&self) -> Self::Owned {
        self.as_ref().map(KeyRef::to_key)
    }
}

impl KeyRef for () {
    type Owned = ();

    fn is(&self, (): &()) -> bool {
        true
    }

    fn to_key(&self) {}
}

macro_rules! tuples {
    ($(($($part:ident $index:tt),+))*) => {$(
        impl<$($part: KeyRef),+> KeyRef for ($($part,)+) {
            type Owned = ($($part::Owned,)+);

            fn is(&self, owned: &Self::Owned) -> bool {
                $(self.$index.is(&owned.$index))&&+
            }

            fn to_key(&self) -> Self::Owned {
                ($(self.$index.to_key(),)+)
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    /// The whole tier rests on this: the borrowed key hashes as the key that is kept.
    fn check<Q: KeyRef>(key: &Q) {
        let hasher = hashbrown::DefaultHashBuilder::default();
        let owned = key.to_key();
        assert!(key.is(&owned));
        assert_eq!(hasher.hash_one(key), hasher.hash_one(&owned));
    }

    #[test]
    fn borrowed_and_owned_keys_hash_alike() {
        check(&());
        check(&(Part("name"), Part(&7_u32)));
        check(&(Some(Part("name")), None::<Part<'_, str>>));
        check(&((Part(&[1_u8, 2][..]), Part("x")), Part(std::path::Path::new("/tmp"))));
        check(&(Part(&Some(String::from("x"))), Part(&('c', true, ()))));
    }

    #[test]
    fn parts_stay_apart() {
        let key = (Part("a"), Part("bc")).to_key();
        assert!(!(Part("ab"), Part("c")).is(&key));
        assert!(!(None::<Part<'_, str>>,).is(&(Some(String::new()),)));
    }
}
