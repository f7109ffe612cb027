//! The beginning of a call: its answer from memory, or what is to be done.

use super::{
    Core, Key, Stored,
    look::{Demand, Found},
};
use crate::{
    context::{self, Context, Tag},
    flight::next_number,
    key::KeyRef,
    mode::{CacheMode, Mode},
    observe::{How, Observer, Served, StaleReason},
    outcome::Outcome,
    policy::Freshness,
    stats::count,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Weak, atomic::AtomicBool},
    time::Duration,
};

/// How a call goes on.
#[derive(Debug)]
pub enum Begin<R, T> {
    /// It has its answer.
    Ready(R),
    /// It needs the loader, or is to refresh.
    Load(T),
}

/// A call that has to do more than to take a value.
pub(crate) struct Call<K: Key, O: Outcome> {
    pub(super) seat: Seat<K, O>,
    pub(super) purpose: Purpose<O>,
    pub(super) outcome: O,
    pub(super) demand: Demand,
    pub(super) tags: Vec<Tag>,
    pub(super) context: Context,
}

pub(super) enum Purpose<O: Outcome> {
    /// Takes no answer of a flight below `since`.
    Load { since: u64 },
    /// Asks for a refresh and takes what there is.
    Refresh { ready: Stored<O> },
    /// Loads for itself alone.
    Bypass,
    /// Only tells that a load would be needed.
    Tell(Arc<AtomicBool>),
}

/// The key of a call, and whether it was elected to ask for a refresh: if it goes away first, another must be.
pub(super) struct Seat<K: Key, O: Outcome> {
    pub(super) core: Weak<Core<K, O>>,
    pub(super) key: K,
    pub(super) hash: u64,
    pub(super) elected: bool,
}

impl<K: Key, O: Outcome> Drop for Seat<K, O> {
    fn drop(&mut self) {
        if !self.elected {
            return;
        }
        if let Some(core) = self.core.upgrade() {
            core.memory.get(self.hash, &|key| *key == self.key, crate::entry::Entry::give_back);
        }
    }
}

impl<K: Key, O: Outcome> Core<K, O> {
    /// Answers a call from memory, or says what is to be done.
    pub(crate) fn begin<Q: KeyRef<Owned = K>>(&self, key: &Q) -> Begin<O::Return, Call<K, O>> {
        let hash = self.hash(key);
        if !context::is_plain() {
            return self.begin_within(hash, key, &context::current());
        }
        match self.switch.get() {
            CacheMode::Normal => self.answer(hash, key, Demand::of(CacheMode::Normal), None),
            mode => self.begin_in(hash, key, &Mode::Set(mode), None),
        }
    }

    #[cold]
    fn begin_within<Q: KeyRef<Owned = K>>(&self, hash: u64, key: &Q, here: &Context) -> Begin<O::Return, Call<K, O>> {
        let observer = here.observer.as_ref();
        if here.mode.is_normal() || self.policy.ignores_modes() {
            return self.begin_in(hash, key, &Mode::Set(self.switch.get()), observer);
        }
        self.begin_in(hash, key, &here.mode, observer)
    }

    fn begin_in<Q: KeyRef<Owned = K>>(
        &self,
        hash: u64,
        key: &Q,
        mode: &Mode,
        observer: Option<&Observer>,
    ) -> Begin<O::Return, Call<K, O>> {
        match mode {
            Mode::Set(mode @ (CacheMode::Normal | CacheMode::MaxAge(_))) => {
                self.answer(hash, key, Demand::of(*mode), observer)
            }
            Mode::Set(CacheMode::Refresh) => Begin::Load(self.call(hash, key, Purpose::Load { since: next_number() })),
            Mode::Set(CacheMode::Bypass) => Begin::Load(self.call(hash, key, Purpose::Bypass)),
            Mode::CachedOnly(missed) => {
                let demand = Demand::of(CacheMode::Normal).without_refresh();
                match self.answer(hash, key, demand, observer) {
                    Begin::Load(call) => Begin::Load(Call { purpose: Purpose::Tell(Arc::clone(missed)), ..call }),
                    ready @ Begin::Ready(_) => ready,
                }
            }
            // Whoever captures has the entry already, and never polls again.
            Mode::Capture(_) => Begin::Load(self.call(hash, key, Purpose::Tell(Arc::default()))),
        }
    }

    fn answer<Q: KeyRef<Owned = K>>(
        &self,
        hash: u64,
        key: &Q,
        demand: Demand,
        observer: Option<&Observer>,
    ) -> Begin<O::Return, Call<K, O>> {
        let Some(Found { value, freshness, refresh, age }) = self.look(hash, key, demand) else {
            return Begin::Load(Call { demand, ..self.call(hash, key, Purpose::Load { since: 0 }) });
        };
        self.count_hit(freshness);
        if let Some(observer) = observer {
            observer.tell(Served::new(&self.name, how(freshness), Duration::from_nanos(age)));
        }
        if refresh {
            Begin::Load(self.call(hash, key, Purpose::Refresh { ready: value }))
        } else {
            Begin::Ready(self.outcome.close(value))
        }
    }

    #[cold]
    fn call<Q: KeyRef<Owned = K>>(&self, hash: u64, key: &Q, purpose: Purpose<O>) -> Call<K, O> {
        let elected = matches!(purpose, Purpose::Refresh { .. });
        if !elected {
            count(&self.counters.misses);
        }
        let owned = catch_unwind(AssertUnwindSafe(|| key.to_key())).unwrap_or_else(|panic| {
            // The user's `Clone`: another caller must be elected.
            if elected {
                self.memory.get(hash, &|owned| key.is(owned), crate::entry::Entry::give_back);
            }
            resume_unwind(panic)
        });
        Call {
            seat: Seat { core: Weak::clone(&self.me), key: owned, hash, elected },
            purpose,
            outcome: self.outcome,
            demand: Demand::of(CacheMode::Normal),
            tags: Vec::new(),
            context: context::current(),
        }
    }
}

/// How a call is answered from memory.
pub(super) fn how(freshness: Freshness) -> How {
    match freshness {
        Freshness::Fresh => How::Fresh,
        Freshness::Early => How::Early,
        Freshness::Stale => How::Stale(StaleReason::Refreshing),
        Freshness::Expired => How::Stale(StaleReason::Paused),
    }
}
