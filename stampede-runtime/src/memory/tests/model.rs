//! One thread: memory does what a map would, with a bound.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

/// Not all keys have a hash of their own.
const KEYS: u16 = 64;

#[derive(Clone, Debug)]
enum Step {
    Put { key: u16, weight: u32, dies: Nanos },
    Get { key: u16 },
    Remove { key: u16, holds: bool },
    Update { key: u16, dies: Nanos },
    UpdateAll { dies: Nanos },
    Clear,
    Sweep { now: Nanos, most: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let moment = || prop::sample::select(moments());
    let key = || 0..KEYS;
    let weight = prop_oneof![8 => 1..=3_u32, 4 => 1..=600_u32, 1 => Just(u32::MAX)];
    prop_oneof![
        12 => (key(), weight, moment()).prop_map(|(key, weight, dies)| Step::Put { key, weight, dies }),
        6 => key().prop_map(|key| Step::Get { key }),
        3 => (key(), any::<bool>()).prop_map(|(key, holds)| Step::Remove { key, holds }),
        3 => (key(), moment()).prop_map(|(key, dies)| Step::Update { key, dies }),
        1 => moment().prop_map(|dies| Step::UpdateAll { dies }),
        1 => Just(Step::Clear),
        3 => (moment(), 1..20_usize).prop_map(|(now, most)| Step::Sweep { now, most }),
    ]
}

/// One shard, two, and sixteen.
fn capacity() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 1..=60_u64, 3 => Just(2_048), 2 => Just(1 << 18)]
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Kept {
    id: u64,
    weight: u32,
    dies: Nanos,
}

impl Kept {
    fn of(entry: &Entry, id: u64) -> Self {
        Self { id, weight: entry.weight, dies: entry.dies }
    }

    /// What was handed out, with its key.
    fn removed(removed: &Removed) -> (u16, Self) {
        let (key, id) = told_of_removed(removed);
        (key, Self::of(&removed.entry, id))
    }

    /// What was found, with its key.
    fn seen(seen: &Seen<'_>) -> (u16, Self) {
        let (key, id) = told_of_seen(seen);
        (key, Self::of(seen.entry, id))
    }
}

/// Memory, and the map that says what has to be in it.
struct Both {
    memory: Typed<Value, Value>,
    map: HashMap<u16, Kept>,
    capacity: u64,
    living: Living,
    ids: u64,
}

impl Both {
    fn new(capacity: u64) -> Self {
        Self { memory: Typed::new(capacity), map: HashMap::new(), capacity, living: Living::default(), ids: 0 }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Put { key, weight, dies } => self.put(key, weight, dies),
            Step::Get { key } => self.get(key),
            Step::Remove { key, holds } => self.remove(key, holds),
            Step::Update { key, dies } => self.update(key, dies),
            Step::UpdateAll { dies } => {
                self.memory.update_all(&mut |entry| entry.dies = dies);
                self.map.values_mut().for_each(|kept| kept.dies = dies);
            }
            Step::Clear => self.clear(),
            Step::Sweep { now, most } => self.sweep(now, most),
        }
        self.check();
    }

    fn put(&mut self, key: u16, weight: u32, dies: Nanos) {
        self.ids += 1;
        let kept = Kept { id: self.ids, weight, dies };
        let value = Value::new(key, kept.id, &self.living);
        let (entry, item) = numbered(value, dies);
        let put = self.memory.put(hash(key), &is(key), entry, weight, item);
        if u64::from(weight) > self.capacity {
            assert_eq!(told_of_removed(&put.refused.expect("too heavy")), (key, kept.id));
            assert!(put.evicted.is_empty() && put.replaced.is_none());
            return;
        }
        assert!(put.refused.is_none());
        for evicted in &put.evicted {
            self.forget(evicted);
        }
        let replaced = self.map.insert(key, kept);
        assert_eq!(put.replaced.as_ref().map(Kept::removed), replaced.map(|replaced| (key, replaced)));
        // Nothing had to go that did not have to.
        if let Some(last) = put.evicted.last() {
            let last = if told_of_removed(last).0 == key { 0 } else { u64::from(last.entry.weight) };
            assert!(self.weight() + last > self.capacity);
        }
    }

    fn get(&self, key: u16) {
        let kept = self.map.get(&key).map(|&kept| (key, kept));
        let hit = self.memory.0.visit(
            hash(key),
            |other| *other == key,
            |entry, value| {
                let (key, id) = told(entry, value.as_ref());
                (key, Kept::of(entry, id))
            },
        );
        assert_eq!(hit, kept);
        assert_eq!(self.memory.get(hash(key), &is(key), |seen| Kept::seen(&seen)), kept);
    }

    fn remove(&mut self, key: u16, holds: bool) {
        let removed = self.memory.remove_if(hash(key), &is(key), |_| holds);
        assert_eq!(removed.is_some(), holds && self.map.contains_key(&key));
        if let Some(removed) = removed {
            assert_eq!(told_of_removed(&removed).0, key);
            self.forget(&removed);
        }
    }

    fn update(&mut self, key: u16, dies: Nanos) {
        let mut updated = 0;
        self.memory.update(hash(key), &is(key), &mut |entry| {
            entry.dies = dies;
            updated += 1;
        });
        assert_eq!(updated, usize::from(self.map.contains_key(&key)));
        if let Some(kept) = self.map.get_mut(&key) {
            kept.dies = dies;
        }
    }

    fn clear(&mut self) {
        let living = self.map.len() as u64;
        let mut all = Vec::new();
        self.memory.clear(|taken| all.push(taken));
        for entry in all.iter().flat_map(Taken::entries) {
            let id = entry.label.map_or(0, NonZeroU64::get);
            let (&key, &kept) = self.map.iter().find(|(_, kept)| kept.id == id).expect("was not there");
            assert_eq!(Kept::of(entry, id), kept);
            self.map.remove(&key);
        }
        assert!(self.map.is_empty());
        assert_eq!(self.living.load(Relaxed), living, "the values come with the entries");
    }

    fn sweep(&mut self, now: Nanos, most: usize) {
        let is_dead = |kept: &Kept| freed_at(kept.dies).is_some_and(|at| at <= now);
        let dead = self.map.values().filter(|kept| is_dead(kept)).count();
        let swept = self.memory.sweep(now, most);
        assert_eq!(swept.removed.len(), dead.min(most));
        for removed in &swept.removed {
            assert!(is_dead(&Kept::removed(removed).1));
            self.forget(removed);
        }
        let next = self.map.values().filter_map(|kept| freed_at(kept.dies)).min();
        assert_eq!(swept.next, if swept.removed.len() == most { Some(now) } else { next });
    }

    /// What was handed out was in the map, and is not there any more.
    fn forget(&mut self, removed: &Removed) {
        let (key, kept) = Kept::removed(removed);
        assert_eq!(self.map.remove(&key), Some(kept));
    }

    fn weight(&self) -> u64 {
        self.map.values().map(|kept| u64::from(kept.weight)).sum()
    }

    fn check(&self) {
        assert_eq!(self.memory.weight(), self.weight());
        assert!(self.memory.weight() <= self.capacity);
        assert_eq!(self.memory.len(), self.map.len() as u64);
        assert_eq!(self.living.load(Relaxed), self.map.len() as u64);
        for key in 0..KEYS {
            assert_eq!(self.peek(key), self.map.get(&key).map(|&kept| (key, kept)), "key {key}");
        }
    }

    /// A look that is no visit.
    fn peek(&self, key: u16) -> Option<(u16, Kept)> {
        let shard = self.memory.shard_index(hash(key));
        let seen = |slab: &AnySlab| slab.seen(&slab.find(hash(key), &is(key))?).map(|seen| Kept::seen(&seen));
        self.memory.read(shard, seen).flatten()
    }

    /// Frees what dies, in steps, and then the rest.
    fn end(mut self) {
        for _ in 0..=KEYS / 7 {
            self.sweep(NEVER - 1, 7);
        }
        self.check();
        assert!(self.map.values().all(|kept| freed_at(kept.dies).is_none()));
        drop(self.memory);
        assert_eq!(self.living.load(Relaxed), 0);
    }
}

fn run(capacity: u64, steps: &[Step]) {
    let mut both = Both::new(capacity);
    for step in steps {
        both.take(step);
    }
    both.end();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn cap_02_memory_is_a_map_whose_weights_add_up(
        capacity in capacity(), steps in prop::collection::vec(step(), 1..120),
    ) {
        run(capacity, &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// As many shards as there can be, and room for the heaviest weights.
    #[test]
    fn cap_02_the_largest_memory_is_a_map_whose_weights_add_up(steps in prop::collection::vec(step(), 20..60)) {
        run(3 * u64::from(u32::MAX), &steps);
    }
}
