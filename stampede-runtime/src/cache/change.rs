//! What users do to entries: insert, expire, invalidate, clear.

use super::{AnyCore, Me, put::Fill};
use crate::{
    clock::{NEVER, Now},
    context::{Held, Loading, Tag},
    entry::Entry,
    erased::{AnyKeyRef, AnyValue, Is},
    flight::{Notes, bump_number},
    stats::count,
};
use std::borrow::Cow;

impl AnyCore {
    /// Plants a value. Loads that run now are too late to replace it.
    pub(crate) fn insert(&self, hash: u64, key: &dyn AnyKeyRef, value: AnyValue, tags: &[Tag]) {
        // The user's code, before any lock.
        let (key, appraised) = (key.to_shared(), self.appraise(&value, Notes::default()));
        let item = self.types.item(&key, &Ok(value));
        count(&self.counters.invalidations);
        let is = super::is(&key);
        let mut locked = self.flights.lock(hash);
        locked.supersede(hash, &is);
        let tags = match tags {
            [] => Cow::Owned(self.tags_of(hash, &is)),
            tags => Cow::Borrowed(tags),
        };
        let fill = Fill::planted(appraised.kind, appraised.weight, &tags);
        let dropped = self.put(&locked, hash, &is, item, &fill);
        drop(locked);
        drop(dropped);
    }

    fn tags_of(&self, hash: u64, is: Is<'_>) -> Vec<Tag> {
        self.tags.of(self.memory().get(hash, is, |seen| seen.entry.label).flatten())
    }

    /// Removes a key's entry, and has no load that runs now bring it back.
    pub(crate) fn invalidate(&self, hash: u64, is: Is<'_>) {
        let mut locked = self.flights.lock(hash);
        let removed = self.memory().remove_if(hash, is, |_| true);
        locked.supersede(hash, is);
        drop(locked);
        count(&self.counters.invalidations);
        drop(self.let_go(removed));
    }

    /// The same, if `condition` holds for the value. It is asked outside of all locks: it may use the cache itself.
    pub(crate) fn invalidate_if(&self, hash: u64, is: Is<'_>, condition: &mut dyn FnMut(&AnyValue) -> bool) {
        loop {
            let seen = self.memory().get(hash, is, |seen| (seen.entry.life, seen.value().and_then(Result::ok)));
            // An error that is stored says nothing that could be worth keeping.
            let holds = seen.as_ref().is_none_or(|(_, value)| value.as_ref().is_none_or(&mut *condition));
            let mut locked = self.flights.lock(hash);
            let now = self.memory().get(hash, is, |seen| seen.entry.life);
            if now != seen.map(|(life, _)| life) {
                // Another value came meanwhile: it is to be asked about.
                continue;
            }
            let removed = if holds { self.memory().remove_if(hash, is, |_| true) } else { None };
            locked.supersede(hash, is);
            drop(locked);
            count(&self.counters.invalidations);
            drop(self.let_go(removed));
            return;
        }
    }

    /// Keeps a key's entry, as if `fresh_until` were now.
    pub(crate) fn expire_key(&self, hash: u64, is: Is<'_>) {
        let mut locked = self.flights.lock(hash);
        locked.expire(hash, is);
        self.memory().update(hash, is, &mut |entry| self.expire_entry(entry));
        drop(locked);
        let dies = self.memory().get(hash, is, |seen| seen.entry.dies);
        self.plan_sweep(dies.unwrap_or(NEVER));
    }

    fn expire_entry(&self, entry: &mut Entry) {
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
        self.memory().update_all(&mut |entry| {
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
        self.memory().clear(|taken| taken.entries().for_each(|entry| self.tags.forget(entry.label)));
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
            let removed = self.memory().remove_labelled(hash, label);
            drop(locked);
            drop(self.let_go(removed));
        }
    }
}

impl Held for Me {
    fn previous(&self, hash: u64, flight: u64) -> Option<AnyValue> {
        let core = self.0.upgrade()?;
        let key = core.flights.lock(hash).key_of_number(hash, flight)?;
        core.memory().get(hash, &super::is(&key), |seen| seen.value()).flatten()?.ok()
    }

    fn tagged(&self, flight: &dyn Loading, tag: &str) {
        let Some(core) = self.0.upgrade() else { return };
        let Some(number) = core.tags.invalidated_since(tag, flight.flight()) else { return };
        flight.taint(number);
        core.flights.lock(flight.hash()).supersede_flight(flight.hash(), flight.flight());
    }
}
