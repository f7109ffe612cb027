//! The lists of the dying.

use super::*;
use crate::memory::death::{Deaths, Linked, Links};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SLOTS: u32 = 12;

struct Slots(Vec<Links>);

impl Linked for Slots {
    fn links(&mut self, index: u32) -> Option<&mut Links> {
        self.0.get_mut(index as usize)
    }
}

/// The lists, and for each slot when it will be freed.
struct Both {
    deaths: Deaths,
    slots: Slots,
    freed: BTreeMap<u32, Option<Nanos>>,
}

impl Both {
    fn new() -> Self {
        let slots = Slots((0..SLOTS).map(|_| Links::UNLINKED).collect());
        Self { deaths: Deaths::new(), slots, freed: BTreeMap::new() }
    }

    /// Files a slot under another time.
    fn refile(&mut self, index: u32, at: Nanos) {
        self.deaths.unlink(&mut self.slots, index);
        self.deaths.link(&mut self.slots, index, at);
        self.freed.insert(index, freed_at(at));
        self.check();
    }

    fn unlink(&mut self, index: u32) {
        self.deaths.unlink(&mut self.slots, index);
        self.freed.remove(&index);
        self.check();
    }

    fn check(&self) {
        let next = self.freed.values().flatten().min().copied();
        assert_eq!(self.deaths.next(), next);
        for now in moments() {
            let dead = self.deaths.dead(now);
            assert_eq!(dead.is_some(), next.is_some_and(|next| next <= now));
            assert!(dead.is_none_or(|index| self.freed[&index] == next), "the first to die goes first");
        }
    }
}

proptest! {
    #[test]
    fn the_lists_know_who_dies_next(
        steps in prop::collection::vec((0..SLOTS, prop::option::weighted(0.7, prop::sample::select(moments()))), 1..60),
    ) {
        let mut both = Both::new();
        for (index, at) in steps {
            match at {
                Some(at) => both.refile(index, at),
                None => both.unlink(index),
            }
        }
        while let Some(index) = both.deaths.dead(NEVER) {
            both.unlink(index);
        }
        prop_assert!(both.freed.values().all(Option::is_none));
    }
}

/// What dies within a tick is freed at its end: never early, and late by a tick at most.
#[test]
fn nobody_is_freed_alive() {
    for at in moments().into_iter().filter(|&at| at >= ANCHOR && freed_at(at).is_some()) {
        let mut both = Both::new();
        both.refile(0, at);
        assert_eq!(both.deaths.dead(at), None);
        assert_eq!(both.deaths.dead(at + TICK), Some(0));
    }
}
