//! What users do to entries: insert, expire, invalidate, clear.

use super::{Core, Key, Stored, put::Fill};
use crate::{
    clock::{NEVER, Now},
    context::{Held, Loading, Tag},
    entry::Entry,
    flight::{Notes, bump_number},
    key::KeyRef,
    outcome::Outcome,
    stats::count,
};
use std::{any::Any, borrow::Cow};

impl<K: Key, O: Outcome> Core<K, O> {
    /// Plants a value. Loads that run now are too late to replace it.
    pub(crate) fn insert<Q: KeyRef<Owned = K>>(&self, hash: u64, key: &Q, value: O::Value, tags: &[Tag]) {
        // The user's callbacks, before any lock.
        let appraised = self.appraise(value, Notes::default());
        count(&self.counters.invalidations);
        let mut locked = self.flights.lock(hash);
        locked.supersede(hash, &|other| key.is(other));
        let tags = match tags {
            [] => Cow::Owned(self.tags_of(hash, &|other| key.is(other))),
            tags => Cow::Borrowed(tags),
        };
        let fill = Fill::planted(appraised.kind, appraised.weight, &tags);
        let dropped = self.put(&locked, hash, key.to_key(), Ok(appraised.value), &fill);
        drop(locked);
        drop(dropped);
    }

    fn tags_of(&self, hash: u64, is: &dyn Fn(&K) -> bool) -> Vec<Tag> {
        self.tags.of(self.memory.get(hash, is, |entry| entry.label).flatten())
    }

    /// Removes a key's entry, and has no load that runs now bring it back.
    pub(crate) fn invalidate(&self, hash: u64, is: &dyn Fn(&K) -> bool) {
        let mut locked = self.flights.lock(hash);
        let removed = self.memory.remove_if(hash, is, |_| true);
        locked.supersede(hash, is);
        drop(locked);
        count(&self.counters.invalidations);
        drop(self.let_go(removed));
    }

    /// The same, if `condition` holds for the value. It is asked outside of all locks: it may use the cache itself.
    pub(crate) fn invalidate_if(
        &self,
        hash: u64,
        is: &dyn Fn(&K) -> bool,
        condition: &mut dyn FnMut(&O::Value) -> bool,
    ) {
        loop {
            let seen = self.memory.get(hash, is, |entry| (entry.life, entry.value.as_ref().ok().cloned()));
            // An error that is stored says nothing that could be worth keeping.
            let holds = seen.as_ref().is_none_or(|(_, value)| value.as_ref().is_none_or(&mut *condition));
            let mut locked = self.flights.lock(hash);
            let now = self.memory.get(hash, is, |entry| entry.life);
            if now != seen.map(|(life, _)| life) {
                // Another value came meanwhile: it is to be asked about.
                continue;
            }
            let removed = if holds { self.memory.remove_if(hash, is, |_| true) } else { None };
            locked.supersede(hash, is);
            drop(locked);
            count(&self.counters.invalidations);
            drop(self.let_go(removed));
            return;
        }
    }

    /// Keeps a key's entry, as if `fresh_until` were now.
    pub(crate) fn expire_key(&self, hash: u64, is: &dyn Fn(&K) -> bool) {
        let mut locked = self.flights.lock(hash);
        locked.expire(hash, is);
        self.memory.update(hash, is, &mut |entry| self.expire_entry(entry));
        drop(locked);
        let dies = self.memory.get(hash, is, |entry| entry.dies);
        self.plan_sweep(dies.unwrap_or(NEVER));
    }

    fn expire_entry(&self, entry: &mut Entry<Stored<O>>) {
        let Some(now) = Now::for_entry(entry.clock) else { return };
        let mut life = entry.life;
        life.fresh_until = life.fresh_until.min(now.at);
        entry.expire(now.at, self.dies(&life, entry.clock));
    }

    pub(super) fn expire_all(&self) {
        for mut locked in self.flights.each() {
            locked.expire_all();
        }
        let mut dies = NEVER;
        self.memory.update_all(&mut |entry| {
            self.expire_entry(entry);
            dies = dies.min(entry.dies);
        });
        self.plan_sweep(dies);
    }

    pub(super) fn clear_all(&self) {
        for mut locked in self.flights.each() {
            locked.supersede_all(None);
        }
        count(&self.counters.invalidations);
        self.memory.clear(|removed| {
            for removed in &removed {
                self.tags.forget(removed.entry.label);
            }
        });
    }

    pub(super) fn invalidate_tagged(&self, tag: &str) {
        // Said first: a flight that adds the tag from here on finds it, one that has it already is found below.
        self.tags.invalidate(tag, bump_number());
        let mut oldest = u64::MAX;
        for mut locked in self.flights.each() {
            locked.supersede_all(Some(tag));
            oldest = oldest.min(locked.oldest().unwrap_or(u64::MAX));
        }
        self.tags.forget_invalidations(oldest);
        count(&self.counters.invalidations);
        for (hash, label) in self.tags.carriers(tag) {
            // It may have a label already and not be stored yet: whoever stores it holds this lock.
            let locked = self.flights.lock(hash);
            let removed = self.memory.remove_labelled(hash, label);
            drop(locked);
            drop(self.let_go(removed));
        }
    }
}

impl<K: Key, O: Outcome> Held for Core<K, O> {
    fn previous(&self, hash: u64, flight: u64, out: &mut dyn Any) {
        let Some(out) = out.downcast_mut::<Option<O::Value>>() else { return };
        let Some(key) = self.flights.lock(hash).key_of_number(hash, flight).cloned() else { return };
        *out = self.memory.get(hash, &|other| *other == key, |entry| entry.value.as_ref().ok().cloned()).flatten();
    }

    fn tagged(&self, flight: &dyn Loading, tag: &str) {
        let Some(number) = self.tags.invalidated_since(tag, flight.flight()) else { return };
        flight.taint(number);
        self.flights.lock(flight.hash()).supersede_flight(flight.hash(), flight.flight());
    }
}
