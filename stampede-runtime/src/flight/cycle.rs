//! Self-deadlock: a load that waits, through whatever other loads, for its own flight.
//!
//! An edge runs from a load to the load of each flight that a future of its waits for. It is there from the poll that
//! returned pending until that future is ready or dropped. The caller whose edge would close a cycle is told the chain.
//! Urgency runs along the edges.

use crate::context::Load;
use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

/// Which loads each load waits for. Only loads that wait for loads are here, so one lock is enough.
static AWAITED: LazyLock<Mutex<Awaited>> = LazyLock::new(Mutex::default);

type Awaited = HashMap<u64, Vec<Load>>;

fn awaited() -> MutexGuard<'static, Awaited> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The edge of one waiting future. Gone when dropped.
#[derive(Debug, Default)]
pub(super) struct Edge(Option<(u64, u64)>);

impl Edge {
    /// Says that `load` waits for `target`.
    ///
    /// # Errors
    ///
    /// The chain of names, if the target waits for `load`: waiting would never end.
    pub(super) fn set(&mut self, load: &Load, target: &Load) -> Result<(), String> {
        if self.0 == Some((load.flight, target.flight)) {
            return Ok(());
        }
        self.clear();
        let mut awaited = awaited();
        if let Some(path) = path(&awaited, target, load.flight) {
            let names = path.iter().map(|target| &*target.name);
            return Err(std::iter::once(&*load.name).chain(names).collect::<Vec<_>>().join(" → "));
        }
        awaited.entry(load.flight).or_default().push(target.clone());
        self.0 = Some((load.flight, target.flight));
        // Raised under the lock, so that an edge which comes later finds it raised; rung outside of it.
        let raised = if load.urgency.is_raised() { raise(&awaited, target) } else { Vec::new() };
        drop(awaited);
        for load in raised {
            load.urgency.ring();
        }
        Ok(())
    }

    fn clear(&mut self) {
        let Some((load, flight)) = self.0.take() else { return };
        let mut awaited = awaited();
        let Some(targets) = awaited.get_mut(&load) else { return };
        if let Some(index) = targets.iter().position(|target| target.flight == flight) {
            targets.swap_remove(index);
        }
        if targets.is_empty() {
            awaited.remove(&load);
        }
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The way from `start` to the flight `goal`, both included.
fn path(awaited: &Awaited, start: &Load, goal: u64) -> Option<Vec<Load>> {
    let mut seen = vec![start.flight];
    let mut paths = vec![vec![start.clone()]];
    while let Some(path) = paths.pop() {
        let last = path.last()?.flight;
        if last == goal {
            return Some(path);
        }
        for next in awaited.get(&last).into_iter().flatten() {
            if !seen.contains(&next.flight) {
                seen.push(next.flight);
                paths.push(path.iter().chain([next]).cloned().collect());
            }
        }
    }
    None
}

/// Raises the urgency of `start` and of all that it waits for. Those that were not raised before.
fn raise(awaited: &Awaited, start: &Load) -> Vec<Load> {
    let mut raised = Vec::new();
    let mut next = vec![start];
    while let Some(load) = next.pop() {
        // What was raised before has raised the rest.
        if load.urgency.raise() {
            raised.push(load.clone());
            next.extend(awaited.get(&load.flight).into_iter().flatten());
        }
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A load of the flight `number`, which no other test and no real flight has.
    fn load(number: u64, name: &str) -> Load {
        Load { flight: (1 << 40) + number, name: name.into(), urgency: std::sync::Arc::default() }
    }

    /// `from` waits for the flight of `to`.
    fn wait(from: &Load, to: &Load) -> Result<Edge, String> {
        let mut edge = Edge::default();
        edge.set(from, to).map(|()| edge)
    }

    #[test]
    fn a_load_that_waits_for_its_own_flight_is_told() {
        let a = load(10, "a");
        assert_eq!(wait(&a, &a).unwrap_err(), "a → a");
        assert!(!awaited().contains_key(&a.flight));
    }

    #[test]
    fn the_one_who_closes_the_circle_is_told_the_chain() {
        let [a, b, c] = [load(20, "a"), load(21, "b"), load(22, "c")];
        let _edges = [wait(&a, &b).unwrap(), wait(&b, &c).unwrap()];
        assert_eq!(wait(&c, &a).unwrap_err(), "c → a → b → c");
        assert_eq!(wait(&c, &b).unwrap_err(), "c → b → c");
    }

    #[test]
    fn loads_may_wait_for_one_flight_by_two_ways() {
        let [a, b, c, d] = [load(30, "a"), load(31, "b"), load(32, "c"), load(33, "d")];
        let edges = [(&a, &b), (&a, &c), (&b, &d), (&c, &d)].map(|(from, to)| wait(from, to).unwrap());
        let chain = wait(&d, &a).unwrap_err();
        assert!(["d → a → b → d", "d → a → c → d"].contains(&&*chain), "{chain}");
        // With one way gone there is still the other.
        let [first, _, _, last] = edges;
        drop(first);
        assert_eq!(wait(&d, &a).unwrap_err(), "d → a → c → d");
        drop(last);
    }

    #[test]
    fn an_edge_goes_with_the_future_that_waits() {
        let [a, b] = [load(40, "a"), load(41, "b")];
        drop(wait(&a, &b).unwrap());
        assert!(!awaited().contains_key(&a.flight));
        drop(wait(&b, &a).unwrap());
    }

    #[test]
    fn two_futures_of_a_load_have_an_edge_each() {
        let [a, b] = [load(50, "a"), load(51, "b")];
        let (one, other) = (wait(&a, &b).unwrap(), wait(&a, &b).unwrap());
        drop(one);
        assert!(wait(&b, &a).is_err());
        drop(other);
        assert!(wait(&b, &a).is_ok());
    }

    #[test]
    fn a_future_that_waits_for_the_next_flight_waits_for_the_last_no_more() {
        let [a, b, c] = [load(60, "a"), load(61, "b"), load(62, "c")];
        let mut edge = wait(&a, &b).unwrap();
        edge.set(&a, &c).unwrap();
        assert!(wait(&b, &a).is_ok());
        assert!(wait(&c, &a).is_err());
        // To say it at each poll changes nothing.
        edge.set(&a, &c).unwrap();
        assert_eq!(awaited()[&a.flight].len(), 1);
    }

    proptest! {
        #[test]
        fn there_is_never_a_circle(steps in prop::collection::vec((0..6_usize, 0..6_usize, any::<bool>()), 1..40)) {
            let loads: Vec<_> = (100..106).map(|number| load(number, "f")).collect();
            let mut edges: Vec<(usize, usize, Edge)> = Vec::new();
            for (from, to, drops) in steps {
                if drops && !edges.is_empty() {
                    edges.swap_remove((from * 6 + to) % edges.len());
                    continue;
                }
                // All that `to` waits for, itself included.
                let mut reached = [false; 6];
                reached[to] = true;
                for _ in 0..loads.len() {
                    for (from, to, _) in &edges {
                        reached[*to] |= reached[*from];
                    }
                }
                let waits = wait(&loads[from], &loads[to]);
                prop_assert_eq!(waits.is_err(), reached[from]);
                edges.extend(waits.ok().map(|edge| (from, to, edge)));
            }
            drop(edges);
            prop_assert!(loads.iter().all(|load| !awaited().contains_key(&load.flight)));
        }
    }
}
