//! Where things stand in a slab, by the hash of their keys: the hash table of the entries and of the flights.
//!
//! Not generic, so that it is compiled once and not for each cached function. Only the hit's look-up is inlined.

use hashbrown::HashTable;

/// Indices by hash. Whose they are is asked back: whether an index is the one that is looked for, and its hash.
#[derive(Debug)]
pub(crate) struct Index(HashTable<u32>);

impl Index {
    pub(crate) const fn new() -> Self {
        Self(HashTable::new())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The index of this hash that `is` agrees to, as a hit looks it up.
    #[inline]
    pub(crate) fn find_inlined(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.0.find(hash, |&index| is(index)).copied()
    }

    /// The index of this hash that `is` agrees to.
    pub(crate) fn find(&self, hash: u64, is: &dyn Fn(u32) -> bool) -> Option<u32> {
        self.find_inlined(hash, is)
    }

    /// Adds an index that is not there. `hash_of` is asked for the hashes of the others when the table grows.
    pub(crate) fn insert(&mut self, hash: u64, index: u32, hash_of: &dyn Fn(u32) -> u64) {
        self.0.insert_unique(hash, index, |&other| hash_of(other));
    }

    pub(crate) fn remove(&mut self, hash: u64, index: u32) {
        if let Ok(found) = self.0.find_entry(hash, |&other| other == index) {
            found.remove();
        }
    }
}
