//! The table of a cache's flights, and the rules of who leads, follows and may store.

use super::{Flight, next_number};
use crate::index::Index;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed};

/// So many locks are enough for writers not to meet.
const STRIPES: usize = 8;

/// All flights of one cache.
#[derive(Debug)]
pub(crate) struct Flights<K, V, F> {
    stripes: [Mutex<Stripe<K, V, F>>; STRIPES],
}

/// Keys that share a lock.
#[derive(Debug)]
struct Stripe<K, V, F> {
    index: Index,
    routes: Vec<Option<Route<K, V, F>>>,
    /// Places in `routes` that are free.
    free: Vec<u32>,
}

/// The flights of one key. In the table as long as there are any.
#[derive(Debug)]
struct Route<K, V, F> {
    hash: u64,
    key: K,
    /// The one that newcomers join.
    current: Option<Arc<Flight<V, F>>>,
    /// Those that were superseded, or overdue, and still run.
    older: Vec<Arc<Flight<V, F>>>,
    /// Flights below this number store nothing and take no newcomers.
    floor: u64,
}

/// What a caller does.
#[derive(Debug)]
pub(crate) enum Role<V, F> {
    /// Runs the load. `anew`: because another had kept the key for too long.
    Lead { flight: Arc<Flight<V, F>>, anew: bool },
    /// Takes the flight's answer.
    Follow(Arc<Flight<V, F>>),
    /// Waits until the flight has landed, and asks again: its answer is too old for this caller.
    Await(Arc<Flight<V, F>>),
    /// Would have to lead, but can't.
    Stranded,
}

/// What a flight finds when it lands.
#[derive(Debug)]
pub(crate) struct Landed<K> {
    /// Whether it may store: nothing newer is there.
    pub(crate) accepted: bool,
    /// Its key; `None` for a flight that was never in the table.
    pub(crate) key: Option<K>,
    /// No flight is left whose end would be the end of a refresh.
    pub(crate) last: bool,
}

/// The lock of one stripe: what stands in a key's flights and in its entry is changed only under it.
#[derive(Debug)]
pub(crate) struct Locked<'a, K, V, F>(MutexGuard<'a, Stripe<K, V, F>>);

impl<K, V, F> Flights<K, V, F> {
    pub(crate) fn new() -> Self {
        Self { stripes: std::array::from_fn(|_| Mutex::new(Stripe::new())) }
    }

    /// Takes the lock of the key's stripe.
    pub(crate) fn lock(&self, hash: u64) -> Locked<'_, K, V, F> {
        let stripe = (hash >> 24) as usize % STRIPES;
        Locked(self.stripes[stripe].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes all locks, one after another.
    pub(crate) fn each(&self) -> impl Iterator<Item = Locked<'_, K, V, F>> {
        self.stripes.iter().map(|stripe| Locked(stripe.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<K, V, F> Stripe<K, V, F> {
    const fn new() -> Self {
        Self { index: Index::new(), routes: Vec::new(), free: Vec::new() }
    }

    fn at(&self, index: u32) -> Option<&Route<K, V, F>> {
        self.routes.get(index as usize)?.as_ref()
    }

    fn at_mut(&mut self, index: u32) -> Option<&mut Route<K, V, F>> {
        self.routes.get_mut(index as usize)?.as_mut()
    }

    fn find(&self, hash: u64, is: &dyn Fn(&Route<K, V, F>) -> bool) -> Option<u32> {
        let is_it = |index| self.at(index).is_some_and(|route| route.hash == hash && is(route));
        self.index.find(hash, &is_it)
    }

    fn find_mut(&mut self, hash: u64, is: &dyn Fn(&Route<K, V, F>) -> bool) -> Option<&mut Route<K, V, F>> {
        self.at_mut(self.find(hash, is)?)
    }

    fn each(&self) -> impl Iterator<Item = &Route<K, V, F>> {
        self.routes.iter().flatten()
    }

    fn insert(&mut self, route: Route<K, V, F>) -> &mut Route<K, V, F> {
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

    fn remove(&mut self, index: u32) -> Option<Route<K, V, F>> {
        let route = self.routes.get_mut(index as usize)?.take()?;
        self.index.remove(route.hash, index);
        self.free.push(index);
        if self.index.is_empty() {
            // What a storm of keys has left is given back.
            *self = Self::new();
        }
        Some(route)
    }
}

impl<K, V, F> Route<K, V, F> {
    fn flights(&self) -> impl Iterator<Item = &Arc<Flight<V, F>>> {
        self.current.iter().chain(&self.older)
    }

    fn raise(&mut self) {
        self.floor = next_number();
    }

    /// Whether the answer of this flight is waited for: it may be stored, and doesn't take too long.
    fn takes(&self, current: &Flight<V, F>) -> bool {
        current.number >= self.floor && !current.is_overdue()
    }
}

impl<K: Eq, V, F> Locked<'_, K, V, F> {
    /// Finds the caller's role. `since`: it takes no answer of a flight below that number.
    pub(crate) fn board(
        &mut self,
        key: &K,
        hash: u64,
        since: u64,
        can_lead: bool,
        new: &mut dyn FnMut() -> Arc<Flight<V, F>>,
    ) -> Role<V, F>
    where
        K: Clone,
    {
        if let Some(route) = self.route(hash, &|other| other == key) {
            return route.board(since, can_lead, new);
        }
        if !can_lead {
            return Role::Stranded;
        }
        let route = Route { hash, key: key.clone(), current: None, older: Vec::new(), floor: 0 };
        self.0.insert(route).board(since, can_lead, new)
    }

    /// A refresh leads only where no flight would bring its answer anyway. `bool`: anew, as in [`Role::Lead`].
    pub(crate) fn board_refresh(
        &mut self,
        key: &K,
        hash: u64,
        new: &mut dyn FnMut() -> Arc<Flight<V, F>>,
    ) -> Option<(Arc<Flight<V, F>>, bool)>
    where
        K: Clone,
    {
        let brings = |route: &mut Route<K, V, F>| route.current.as_ref().is_some_and(|current| route.takes(current));
        if self.route(hash, &|other| other == key).is_some_and(brings) {
            return None;
        }
        match self.board(key, hash, 0, true, new) {
            Role::Lead { flight, anew } => Some((flight, anew)),
            Role::Follow(_) | Role::Await(_) | Role::Stranded => None,
        }
    }

    fn route(&mut self, hash: u64, is: &dyn Fn(&K) -> bool) -> Option<&mut Route<K, V, F>> {
        self.0.find_mut(hash, &|route| is(&route.key))
    }

    /// What runs now may not store any more, and newcomers don't join it.
    pub(crate) fn supersede(&mut self, hash: u64, is: &dyn Fn(&K) -> bool) {
        if let Some(route) = self.route(hash, is) {
            route.raise();
        }
    }

    /// What runs now will be stored as already expired.
    pub(crate) fn expire(&mut self, hash: u64, is: &dyn Fn(&K) -> bool) {
        if let Some(route) = self.route(hash, is) {
            route.flights().for_each(|flight| flight.expired.store(true, Relaxed));
        }
    }
}

impl<K, V, F> Locked<'_, K, V, F> {
    /// [`supersede`](Self::supersede) for all keys of the stripe of which a flight has the tag, or for all.
    pub(crate) fn supersede_all(&mut self, tag: Option<&str>) {
        let has = |flight: &Arc<Flight<V, F>>| tag.is_none_or(|tag| flight.has_tag(tag));
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
    pub(crate) fn key_of_number(&self, hash: u64, number: u64) -> Option<&K> {
        let runs = |route: &Route<K, V, F>| route.flights().any(|flight| flight.number == number);
        self.0.at(self.0.find(hash, &runs)?).map(|route| &route.key)
    }

    /// [`supersede`](Self::supersede) for the key of a flight.
    pub(crate) fn supersede_flight(&mut self, hash: u64, number: u64) {
        let runs = |route: &Route<K, V, F>| route.flights().any(|flight| flight.number == number);
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

    /// The key of the flight, if newcomers join it.
    pub(crate) fn key_of(&self, flight: &Arc<Flight<V, F>>) -> Option<&K> {
        let is_here = |route: &Route<K, V, F>| route.current.as_ref().is_some_and(|other| Arc::ptr_eq(other, flight));
        self.0.at(self.0.find(flight.hash, &is_here)?).map(|route| &route.key)
    }

    /// Takes a flight that has ended out of the table.
    pub(crate) fn land(&mut self, flight: &Arc<Flight<V, F>>) -> Landed<K>
    where
        K: Clone,
    {
        let is_here = |route: &Route<K, V, F>| route.flights().any(|other| Arc::ptr_eq(other, flight));
        // By the flight and not by its key: no code of the user's needs to run.
        let nowhere = Landed { accepted: false, key: None, last: false };
        let Some(index) = self.0.find(flight.hash, &is_here) else { return nowhere };
        let Some(route) = self.0.at_mut(index) else { return nowhere };
        let accepted = flight.number >= route.floor;
        route.current.take_if(|current| Arc::ptr_eq(current, flight));
        route.older.retain(|older| !Arc::ptr_eq(older, flight));
        if route.current.is_none() && route.older.is_empty() {
            return Landed { accepted, key: self.0.remove(index).map(|route| route.key), last: true };
        }
        if accepted {
            // Whatever else runs is older, or newer: the older come too late.
            route.floor = flight.number + 1;
        }
        Landed { accepted, key: Some(route.key.clone()), last: route.current.is_none() }
    }
}

impl<K, V, F> Route<K, V, F> {
    fn board(&mut self, since: u64, can_lead: bool, new: &mut dyn FnMut() -> Arc<Flight<V, F>>) -> Role<V, F> {
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

    fn lead(&mut self, new: &mut dyn FnMut() -> Arc<Flight<V, F>>, anew: bool) -> Role<V, F> {
        let flight = new();
        flight.join();
        self.older.extend(self.current.replace(Arc::clone(&flight)));
        Role::Lead { flight, anew }
    }
}
