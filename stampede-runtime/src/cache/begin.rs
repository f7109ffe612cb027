//! The beginning of a call: its answer from memory, or what is to be done.

use super::{
    AnyCore, Core, Key,
    look::{Demand, Found},
    types::Typed,
};
use crate::{
    context::{self, Context, Tag},
    entry::Entry,
    erased::{AnyKeyRef, Is, SharedKey, Stored, erase},
    flight::next_number,
    handle,
    key::KeyRef,
    mode::{CacheMode, Mode},
    observe::{How, Served, StaleReason},
    outcome::Outcome,
    policy::Freshness,
    stats::{Hit, count},
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
pub(crate) struct Call {
    pub(super) seat: Seat,
    pub(super) purpose: Purpose,
    pub(super) demand: Demand,
    pub(super) tags: Vec<Tag>,
    pub(super) context: Context,
}

pub(super) enum Purpose {
    /// Takes no answer of a flight below `since`.
    Load { since: u64 },
    /// Asks for a refresh and takes what there is.
    Refresh { ready: Stored },
    /// Loads for itself alone.
    Bypass,
    /// Only tells that a load would be needed.
    Tell(Arc<AtomicBool>),
}

/// The key of a call, and whether it was elected to ask for a refresh: if it goes away first, another must be.
pub(super) struct Seat {
    pub(super) core: Weak<AnyCore>,
    pub(super) key: SharedKey,
    pub(super) hash: u64,
    pub(super) elected: bool,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.elected {
            return;
        }
        if let Some(core) = self.core.upgrade() {
            core.let_ask(self.hash, &super::is(&self.key));
        }
    }
}

/// What a call may be answered with, and what it is for if it can't be.
struct Intent {
    /// `None`: memory is not asked.
    demand: Option<Demand>,
    purpose: Purpose,
}

impl Intent {
    const fn normal() -> Self {
        Self { demand: Some(Demand::NORMAL), purpose: Purpose::Load { since: 0 } }
    }
}

/// Answers a call that finds a fresh value, if nothing was entered around it: so most calls end.
#[inline]
pub(crate) fn hit<Q: KeyRef, O: Outcome>(core: &Core<Typed<Q::Owned, O>>, key: &Q) -> Option<O::Return> {
    if !context::is_plain() || !core.switch.is_normal() {
        return None;
    }
    let value = core.fresh(key)?;
    core.counters.hit(Hit::Fresh);
    Some(core.types.kind.outcome.close(value))
}

/// Answers a call from memory, or says what is to be done.
pub(crate) fn begin<Q: KeyRef, O: Outcome>(core: &Core<Typed<Q::Owned, O>>, key: &Q) -> Begin<O::Return, Call> {
    hit(core, key).map_or_else(|| begin_slowly(core, key), Begin::Ready)
}

/// The same for a call that is known to be no [`hit`].
#[cold]
#[inline(never)]
pub(crate) fn begin_slowly<Q: KeyRef, O: Outcome>(core: &Core<Typed<Q::Owned, O>>, key: &Q) -> Begin<O::Return, Call> {
    let hash = core.hash(key);
    if context::is_plain() && core.switch.is_normal() {
        return answer(core, hash, key, Intent::normal(), None);
    }
    let here = context::current();
    let intent = core.any().intend(hash, key, &here);
    answer(core, hash, key, intent, Some(here))
}

fn answer<Q: KeyRef, O: Outcome>(
    core: &Core<Typed<Q::Owned, O>>,
    hash: u64,
    key: &Q,
    intent: Intent,
    here: Option<Context>,
) -> Begin<O::Return, Call> {
    let found = intent.demand.and_then(|demand| core.look(hash, key, demand));
    let Some(Found { value, freshness, refresh, age }) = found else {
        return Begin::Load(core.any().call(hash, key, intent, here));
    };
    core.any().tell_hit(freshness, age, here.as_ref());
    if refresh {
        let ready = erase(value);
        return Begin::Load(core.any().call(hash, key, Intent { purpose: Purpose::Refresh { ready }, ..intent }, here));
    }
    Begin::Ready(core.types.kind.outcome.close(value))
}

impl<K: Key, O: Outcome> Core<Typed<K, O>> {
    pub(crate) fn kind(&self) -> super::Kind<O> {
        self.types.kind
    }
}

impl AnyCore {
    /// What a call is for, with a mode, a scope or an observer around it.
    #[cold]
    fn intend(&self, hash: u64, key: &dyn AnyKeyRef, here: &Context) -> Intent {
        let own = Mode::Set(self.switch.get());
        let mode = if here.mode.is_normal() || self.policy.ignores_modes() { &own } else { &here.mode };
        match mode {
            Mode::Set(mode @ (CacheMode::Normal | CacheMode::MaxAge(_))) => {
                Intent { demand: Some(Demand::of(*mode)), ..Intent::normal() }
            }
            Mode::Set(CacheMode::Refresh) => Intent { demand: None, purpose: Purpose::Load { since: next_number() } },
            Mode::Set(CacheMode::Bypass) => Intent { demand: None, purpose: Purpose::Bypass },
            Mode::CachedOnly(missed) => {
                Intent { demand: Some(Demand::NORMAL.without_refresh()), purpose: Purpose::Tell(Arc::clone(missed)) }
            }
            Mode::Capture(captured) => {
                handle::capture(self, hash, key, captured);
                // Whoever captures has the entry now, and never polls again.
                Intent { demand: None, purpose: Purpose::Tell(Arc::default()) }
            }
        }
    }

    /// Tells of a call that was answered.
    fn tell_hit(&self, freshness: Freshness, age: u64, here: Option<&Context>) {
        self.count_hit(freshness);
        if let Some(observer) = here.and_then(|here| here.observer.as_ref()) {
            observer.tell(Served::new(&self.name, how(freshness), Duration::from_nanos(age)));
        }
    }

    #[cold]
    fn call(&self, hash: u64, key: &dyn AnyKeyRef, intent: Intent, here: Option<Context>) -> Call {
        let Intent { demand, purpose } = intent;
        let elected = matches!(purpose, Purpose::Refresh { .. });
        if !elected {
            count(&self.counters.misses);
        }
        let owned = catch_unwind(AssertUnwindSafe(|| key.to_shared())).unwrap_or_else(|panic| {
            // The user's `Clone`: another caller must be elected.
            if elected {
                self.let_ask(hash, &|owned| key.matches(owned));
            }
            resume_unwind(panic)
        });
        Call {
            seat: Seat { core: self.weak(), key: owned, hash, elected },
            purpose,
            demand: demand.unwrap_or(Demand::NORMAL),
            tags: Vec::new(),
            context: here.unwrap_or_else(context::current),
        }
    }

    /// The refresh that was asked for is not coming: the next caller may ask.
    pub(super) fn let_ask(&self, hash: u64, is: Is<'_>) {
        self.memory().get(hash, is, |seen| Entry::give_back(seen.entry));
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
