//! Which entries carry which tag.
//!
//! An entry is known here by a label of its own, not by its key: while one entry is on its way out, another of the same
//! key may be stored already, and two keys may have one hash.

use crate::context::Tag;
use std::{
    collections::{HashMap, HashSet},
    num::NonZeroU64,
    sync::{Mutex, PoisonError},
};

/// What an entry with tags is known by; `None`: it carries none, and nobody has to take a lock for it.
pub(crate) type Label = Option<NonZeroU64>;

/// The index of one cache.
#[derive(Debug, Default)]
pub(crate) struct TagIndex(Mutex<Maps>);

#[derive(Debug, Default)]
struct Maps {
    by_tag: HashMap<Tag, HashSet<NonZeroU64>>,
    labelled: HashMap<NonZeroU64, Labelled>,
    labels: u64,
    /// When a tag was invalidated, each time in turn, as long as a flight runs that began before: it may carry the tag
    /// yet, and the first time after its beginning counts.
    invalidated: HashMap<Tag, Vec<u64>>,
    /// Invalidations up to this number have been dropped.
    forgotten: u64,
}

/// The entry of one label.
#[derive(Debug)]
struct Labelled {
    hash: u64,
    tags: Vec<Tag>,
}

impl TagIndex {
    fn maps(&self) -> std::sync::MutexGuard<'_, Maps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The label of an entry that is about to be stored with these tags.
    pub(crate) fn label(&self, hash: u64, tags: &[Tag]) -> Label {
        if tags.is_empty() {
            return None;
        }
        let mut maps = self.maps();
        maps.labels += 1;
        let label = NonZeroU64::new(maps.labels)?;
        for tag in tags {
            maps.by_tag.entry(tag.clone()).or_default().insert(label);
        }
        maps.labelled.insert(label, Labelled { hash, tags: tags.to_vec() });
        Some(label)
    }

    /// The tags of the entry with this label.
    pub(crate) fn of(&self, label: Label) -> Vec<Tag> {
        let Some(label) = label else { return Vec::new() };
        self.maps().labelled.get(&label).map(|labelled| labelled.tags.clone()).unwrap_or_default()
    }

    /// The tag was invalidated at this number.
    pub(crate) fn invalidate(&self, tag: &str, number: u64) {
        self.maps().invalidated.entry(Tag::Owned(tag.to_owned())).or_default().push(number);
    }

    /// No flight below this number runs any more.
    pub(crate) fn forget_invalidations(&self, oldest: u64) {
        let mut maps = self.maps();
        // Looked through once for each flight that ends, and not at each invalidation while an old one runs.
        if oldest <= maps.forgotten {
            return;
        }
        maps.forgotten = if oldest == u64::MAX { 0 } else { oldest };
        maps.invalidated.retain(|_, numbers| {
            numbers.retain(|number| *number > oldest);
            !numbers.is_empty()
        });
    }

    /// When the tag was first invalidated after the flight of this number began.
    pub(crate) fn invalidated_since(&self, tag: &str, flight: u64) -> Option<u64> {
        self.maps().invalidated.get(tag)?.iter().copied().filter(|number| *number > flight).min()
    }

    /// The entry is gone.
    pub(crate) fn forget(&self, label: Label) {
        let Some(label) = label else { return };
        let mut maps = self.maps();
        let tags = maps.labelled.remove(&label).map(|labelled| labelled.tags);
        for tag in tags.unwrap_or_default() {
            let Some(labels) = maps.by_tag.get_mut(&tag) else { continue };
            labels.remove(&label);
            if labels.is_empty() {
                maps.by_tag.remove(&tag);
            }
        }
    }

    /// The entries that carry the tag, each with the hash of its key.
    pub(crate) fn carriers(&self, tag: &str) -> Vec<(u64, Label)> {
        let maps = self.maps();
        let labels = maps.by_tag.get(tag).into_iter().flatten();
        labels.filter_map(|label| Some((maps.labelled.get(label)?.hash, Some(*label)))).collect()
    }
}
