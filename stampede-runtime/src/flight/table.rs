//! The table of a cache's flights, and the rules of who leads, follows and may store.

use super::{Flight, next_number};
use crate::{
    erased::{Is, SharedKey},
    index::Index,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed};

/// So many locks are enough for writers not to meet.
const STRIPES: usize = 8;

/// Room for so many keys is kept when there are none: the next miss would ask for it again.
const FEW: usize = 16;

/// All flights of one cache.
#[derive(Debug)]
pub(crate) struct Flights {
    stripes: [Mutex<Stripe>; STRIPES],
}

/// Keys that share a lock.
#[derive(Debug)]
struct Stripe {
    index: Index,
    routes: Vec<Option<Route>>,
    /// Places in `routes` that are free.
    free: Vec<u32>,
}

/// The flights of one key. In the table as long as there are any.
#[derive(Debug)]
struct Route {
    hash: u64,
    key: SharedKey,
    /// The one that newcomers join.
    current: Option<Arc<Flight>>,
    /// Those that were superseded, or overdue, and still run.
    older: Vec<Arc<Flight>>,
    /// Flights below this number store nothing and take no newcomers.
    floor: u64,
}

/// What a caller does.
#[derive(Debug)]
pub(crate) enum Role {
    /// Runs the load. `anew`: because another had kept the key for too long.
    Lead { flight: Arc<Flight>, anew: bool },
    /// Takes the flight's answer.
    Follow(Arc<Flight>),
    /// Waits until the flight has landed, and asks again: its answer is too old for this caller.
    Await(Arc<Flight>),
    /// Would have to lead, but can't.
    Stranded,
}

/// What a flight finds when it lands.
#[derive(Debug)]
pub(crate) struct Landed {
    /// Whether it may store: nothing newer is there.
    pub(crate) accepted: bool,
    /// Whether it was in the table: one that is for its caller alone never is.
    pub(crate) known: bool,
    /// No flight is left whose end would be the end of a refresh.
    pub(crate) last: bool,
    /// What the table no longer needs; to be dropped where no lock is held.
    pub(crate) _key: Option<SharedKey>,
}

/// The lock of one stripe: what stands in a key's flights and in its entry is changed only under it.
#[derive(Debug)]
pub(crate) struct Locked<'a>(MutexGuard<'a, Stripe>);

impl Flights {
    pub(crate) fn new() -> Self {
        Self { stripes: std::array::from_fn(|_| Mutex::new(Stripe::new())) }
    }

    /// Takes the lock of the key's stripe.
    pub(crate) fn lock(&self, hash: u64) -> Locked<'_> {
        let stripe = (hash >> 24) as usize % STRIPES;
        Locked(self.stripes[stripe].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes all locks, one after another.
    pub(crate) fn each(&self) -> impl Iterator<Item = Locked<'_>> {
        self.stripes.iter().map(|stripe| Locked(stripe.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Stripe {
    const fn new() -> Self {
        Self { index: Index::new(), routes: Vec::new(), free: Vec::new() }
    }

    fn at(&self, index: u32) -> Option<&Route> {
        self.routes.get(index as usize)?.as_ref()
    }

    fn at_mut(&mut self, index: u32) -> Option<&mut Route> {
        self.routes.get_mut(index as usize)?.as_mut()
    }

    fn find(&self, hash: u64, is: &dyn Fn(&Route) -> bool) -> Option<u32> {
        let is_it = |index| self.at(index).is_some_and(|route| route.hash == hash && is(route));
        self.index.find(hash, &is_it)
    }

    fn find_mut(&mut self, hash: u64, is: &dyn Fn(&Route) -> bool) -> Option<&mut Route> {
        self.at_mut(self.find(hash, is)?)
    }

    fn each(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter().flatten()
    }

    fn insert(&mut self, route: Route) -> &mut Route {
        let hash = route.hash;
        let index = self.free.pop().unwrap_or_else(|| {
            self.routes.push(None);
            // A key in flight is a task: memory ends long before these numbers do.
            u32::try_from(self.routes.len() - 1).unwrap_or(u32::MAX)
        });
        let routes = &self.routes;
        let hash_of = |index: u32| routes[index as usize].as_ref().map_or(0, |route| route.hash);
        self.index.insert(hash, index, &hash_of);
        self.routes[index as usize].insert(route)
    }

    fn remove(&mut self, index: u32) -> Option<SharedKey> {
        let route = self.routes.get_mut(index as usize)?.take()?;
        self.index.remove(route.hash, index);
        self.free.push(index);
        if self.index.is_empty() && self.routes.len() > FEW {
            // What a storm of keys has left is given back.
            *self = Self::new();
        }
        Some(route.key)
    }
}

impl Route {
    fn flights(&self) -> impl Iterator<Item = &Arc<Flight>> {
        self.current.iter().chain(&self.older)
    }

    fn raise(&mut self) {
        self.floor = next_number();
    }

    /// Whether the answer of this flight is waited for: it may be stored, and doesn't take too long.
    fn takes(&self, current: &Flight) -> bool {
        current.number >= self.floor && !current.is_overdue()
    }
}

impl Locked<'_> {
    /// Finds the caller's role. `since`: it takes no answer of a flight below that number.
    pub(crate) fn board(
        &mut self,
        key: &SharedKey,
        hash: u64,
        since: u64,
        can_lead: bool,
        new: &mut dyn FnMut() -> Arc<Flight>,
    ) -> Role {
        if let Some(route) = self.route(hash, &|other| key.matches(other)) {
            return route.board(since, can_lead, new);
        }
        if !can_lead {
            return Role::Stranded;
        }
        let route = Route { hash, key: Arc::clone(key), current: None, older: Vec::new(), floor: 0 };
        self.0.insert(route).board(since, can_lead, new)
    }

    /// A refresh leads only where no flight would bring its answer anyway. `bool`: anew, as in [`Role::Lead`].
    pub(crate) fn board_refresh(
        &mut self,
        key: &SharedKey,
        hash: u64,
        new: &mut dyn FnMut() -> Arc<Flight>,
    ) -> Option<(Arc<Flight>, bool)> {
        let brings = |route: &mut Route| route.current.as_ref().is_some_and(|current| route.takes(current));
        if self.route(hash, &|other| key.matches(other)).is_some_and(brings) {
            return None;
        }
        match self.board(key, hash, 0, true, new) {
            Role::Lead { flight, anew } => Some((flight, anew)),
            Role::Follow(_) | Role::Await(_) | Role::Stranded => None,
        }
    }

    fn route(&mut self, hash: u64, is: Is<'_>) -> Option<&mut Route> {
        self.0.find_mut(hash, &|route| is(route.key.as_any()))
    }

    /// What runs now may not store any more, and newcomers don't join it.
    pub(crate) fn supersede(&mut self, hash: u64, is: Is<'_>) {
        if let Some(route) = self.route(hash, is) {
            route.raise();
        }
    }

    /// What runs now will be stored as already expired.
    pub(crate) fn expire(&mut self, hash: u64, is: Is<'_>) {
        if let Some(route) = self.route(hash, is) {
            route.flights().for_each(|flight| flight.expired.store(true, Relaxed));
        }
    }
}

impl Locked<'_> {
    /// [`supersede`](Self::supersede) for all keys of the stripe of which a flight has the tag, or for all.
    pub(crate) fn supersede_all(&mut self, tag: Option<&str>) {
        let has = |flight: &Arc<Flight>| tag.is_none_or(|tag| flight.has_tag(tag));
        for route in self.0.routes.iter_mut().flatten() {
            if route.flights().any(has) {
                route.raise();
            }
        }
    }

    /// The lowest number of a flight of the stripe.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.0.each().flat_map(Route::flights).map(|flight| flight.number).min()
    }

    /// The key of the flight of this number.
    pub(crate) fn key_of_number(&self, hash: u64, number: u64) -> Option<SharedKey> {
        let runs = |route: &Route| route.flights().any(|flight| flight.number == number);
        self.0.at(self.0.find(hash, &runs)?).map(|route| Arc::clone(&route.key))
    }

    /// [`supersede`](Self::supersede) for the key of a flight.
    pub(crate) fn supersede_flight(&mut self, hash: u64, number: u64) {
        let runs = |route: &Route| route.flights().any(|flight| flight.number == number);
        if let Some(route) = self.0.find_mut(hash, &runs) {
            route.raise();
        }
    }

    /// [`expire`](Self::expire) for all keys of the stripe.
    pub(crate) fn expire_all(&mut self) {
        for route in self.0.each() {
            route.flights().for_each(|flight| flight.expired.store(true, Relaxed));
        }
    }

    /// Whether newcomers join the flight.
    pub(crate) fn is_current(&self, flight: &Arc<Flight>) -> bool {
        let is_here = |route: &Route| route.current.as_ref().is_some_and(|other| Arc::ptr_eq(other, flight));
        self.0.find(flight.hash, &is_here).is_some()
    }

    /// Takes a flight that has ended out of the table.
    pub(crate) fn land(&mut self, flight: &Arc<Flight>) -> Landed {
        let is_here = |route: &Route| route.flights().any(|other| Arc::ptr_eq(other, flight));
        // By the flight and not by its key: no code of the user's needs to run.
        let nowhere = Landed { accepted: false, known: false, last: false, _key: None };
        let Some(index) = self.0.find(flight.hash, &is_here) else { return nowhere };
        let Some(route) = self.0.at_mut(index) else { return nowhere };
        let accepted = flight.number >= route.floor;
        route.current.take_if(|current| Arc::ptr_eq(current, flight));
        route.older.retain(|older| !Arc::ptr_eq(older, flight));
        if route.current.is_none() && route.older.is_empty() {
            return Landed { accepted, known: true, last: true, _key: self.0.remove(index) };
        }
        if accepted {
            // Whatever else runs is older, or newer: the older come too late.
            route.floor = flight.number + 1;
        }
        Landed { accepted, known: true, last: route.current.is_none(), _key: None }
    }
}

impl Route {
    fn board(&mut self, since: u64, can_lead: bool, new: &mut dyn FnMut() -> Arc<Flight>) -> Role {
        let Some(current) = &self.current else {
            return if can_lead { self.lead(new, false) } else { Role::Stranded };
        };
        let floor = self.floor.max(since);
        let overdue = current.is_overdue() && can_lead;
        if overdue {
            return self.lead(new, true);
        }
        if current.number >= floor {
            // Whoever joins waits: what began as a refresh is now a miss.
            current.refresh.store(false, Relaxed);
            current.join();
            return Role::Follow(Arc::clone(current));
        }
        let room = self.older.iter().all(|older| older.is_overdue());
        // Forced loads are not piled up: those who come during one share the next.
        if room && can_lead && !(current.is_forced() && since > self.floor) {
            self.raise();
            return self.lead(new, false);
        }
        Role::Await(Arc::clone(current))
    }

    fn lead(&mut self, new: &mut dyn FnMut() -> Arc<Flight>, anew: bool) -> Role {
        let flight = new();
        flight.join();
        self.older.extend(self.current.replace(Arc::clone(&flight)));
        Role::Lead { flight, anew }
    }
}
