//! Who has to make room, and who has not.

use super::*;

type Keys = Typed<u16, ()>;

fn put(memory: &Keys, key: u16, weight: u32) -> Vec<u16> {
    put_at(memory, u64::from(key), key, weight)
}

/// The keys that had to go.
fn put_at(memory: &Keys, hash: u64, key: u16, weight: u32) -> Vec<u16> {
    let put = memory.put(hash, &is(key), entry(NEVER), weight, keyed(key, key));
    assert!(put.refused.is_none());
    put.evicted.iter().map(|removed| pair(removed).0).collect()
}

fn keyed(key: u16, value: u16) -> Item {
    item(key, Ok::<_, ()>(value))
}

/// The key and the value of what was handed out.
fn pair(removed: &Removed) -> (u16, u16) {
    let &(key, value) = unpack::<u16, ()>(&removed.item);
    (key, value.unwrap())
}

fn get(memory: &Keys, key: u16) -> Option<u16> {
    memory.0.visit(u64::from(key), |other| *other == key, |_, value| value.unwrap())
}

/// What everything but a hit does: a visit only if it says so.
fn look(memory: &Keys, key: u16, visit: bool) -> Option<u16> {
    let read = |seen: Seen<'_>| {
        if visit {
            seen.visit();
        }
        seen.value()?.ok()?.downcast_ref().copied()
    };
    memory.get(u64::from(key), &is(key), read).flatten()
}

/// The hash of a key that lies in that shard.
fn in_shard(shard: u64, key: u16) -> u64 {
    shard << 32 | u64::from(key)
}

#[test]
fn exactly_as_many_entries_fit_as_the_capacity_says() {
    for capacity in [1, 2, 10, 1_023, 1_024, 2_048, 5_000, 20_000] {
        let memory = Keys::new(capacity.into());
        for key in 0..capacity {
            assert!(put_at(&memory, hash(key) ^ u64::from(key), key, 1).is_empty(), "{key} of {capacity}");
        }
        assert_eq!(memory.len(), u64::from(capacity));
        assert_eq!(put(&memory, capacity, 1).len(), 1);
        assert_eq!((memory.len(), memory.weight()), (capacity.into(), capacity.into()));
    }
}

#[test]
fn who_was_visited_is_passed_over_once() {
    let memory = Keys::new(4);
    (0..4).for_each(|key| drop(put(&memory, key, 1)));
    for visited in [0, 1, 3] {
        assert_eq!(get(&memory, visited), Some(visited));
    }
    assert_eq!(put(&memory, 4, 1), [2]);
    assert_eq!(put(&memory, 5, 1), [0], "its chance was used");
    assert_eq!(get(&memory, 1), Some(1));
    assert_eq!(put(&memory, 6, 1), [4]);
}

#[test]
fn a_look_is_a_visit_if_it_says_so() {
    let memory = Keys::new(3);
    (0..3).for_each(|key| drop(put(&memory, key, 1)));
    for (key, visit) in [(0, true), (1, false), (2, true)] {
        assert_eq!(look(&memory, key, visit), Some(key));
    }
    assert_eq!(put(&memory, 3, 1), [1]);
}

#[test]
fn if_all_were_visited_the_oldest_goes() {
    let memory = Keys::new(3);
    (0..3).for_each(|key| drop(put(&memory, key, 1)));
    (0..3).for_each(|key| assert_eq!(get(&memory, key), Some(key)));
    assert_eq!(put(&memory, 3, 1), [0]);
}

#[test]
fn a_heavy_entry_has_just_enough_others_make_room() {
    let memory = Keys::new(10);
    (0..10).for_each(|key| drop(put(&memory, key, 1)));
    assert_eq!(put(&memory, 10, 4), [0, 1, 2, 3]);
    assert_eq!(put(&memory, 10, 6), [4, 5]);
    assert_eq!((memory.len(), memory.weight()), (5, 10));
    // As heavy as all: it fits alone.
    assert_eq!(put(&memory, 11, 10).len(), 5);
    assert_eq!((memory.len(), memory.weight()), (1, 10));
}

#[test]
fn what_is_too_heavy_costs_nobody_their_place() {
    let memory = Keys::new(10);
    (0..5).for_each(|key| drop(put(&memory, key, 2)));
    for key in [0, 7] {
        let put = memory.put(u64::from(key), &is(key), entry(NEVER), 11, keyed(key, key));
        assert_eq!(put.refused.as_ref().map(pair), Some((key, key)));
        assert!(put.evicted.is_empty() && put.replaced.is_none());
        assert_eq!((memory.len(), memory.weight()), (5, 10));
    }
}

#[test]
fn entries_of_other_shards_make_room() {
    let memory = Keys::new(2_048);
    assert_eq!(memory.shards.count(), 2);
    for key in 0..4 {
        assert!(put_at(&memory, in_shard(0, key), key, 512).is_empty());
    }
    assert_eq!(put_at(&memory, in_shard(1, 4), 4, 512), [0]);
    assert_eq!(put_at(&memory, in_shard(1, 5), 5, 512), [4], "its own shard has one now");
}

#[test]
fn a_heavier_value_may_take_its_own_place() {
    let memory = Keys::new(10);
    drop(put(&memory, 0, 6));
    drop(put(&memory, 1, 4));
    // The hand stands at the entry that is replaced.
    let replacing = memory.put(0, &is(0), entry(NEVER), 9, keyed(0, 9));
    let evicted: Vec<_> = replacing.evicted.iter().map(pair).collect();
    assert_eq!(evicted, [(0, 0), (1, 1)]);
    assert!(replacing.replaced.is_none());
    assert_eq!((get(&memory, 0), get(&memory, 1), memory.weight()), (Some(9), None, 9));
}

#[test]
fn cap_02_the_heaviest_weights_add_up() {
    let memory = Keys::new(u64::MAX);
    for key in 0..1_000 {
        assert!(put_at(&memory, in_shard(key.into(), key), key, u32::MAX).is_empty());
    }
    assert_eq!(memory.weight(), 1_000 * u64::from(u32::MAX));
    assert!(put_at(&memory, in_shard(7, 7), 7, 1).is_empty());
    assert_eq!(memory.weight(), 999 * u64::from(u32::MAX) + 1);
    memory.clear(drop);
    assert_eq!((memory.len(), memory.weight()), (0, 0));
}

#[test]
fn a_sweep_goes_through_all_shards_in_bounded_steps() {
    let memory = Keys::new(1 << 18);
    assert_eq!(memory.shards.count(), 16);
    for key in 0..1_000 {
        let entry = entry(ANCHOR + TICK * u64::from(key % 2) * 100);
        memory.put(in_shard(key.into(), key), &is(key), entry, 1, keyed(key, key));
    }
    let now = ANCHOR + 2 * TICK;
    for _ in 0..7 {
        let swept = memory.sweep(now, 64);
        assert_eq!((swept.removed.len(), swept.next), (64, Some(now)));
    }
    let last = memory.sweep(now, 64);
    assert_eq!((last.removed.len(), last.next), (500 - 7 * 64, Some(ANCHOR + 101 * TICK)));
    assert_eq!((memory.len(), memory.weight()), (500, 500));
}

fn slab() -> Box<AnySlab> {
    Box::new(Slab::<SlotsOf<u16, &str, ()>>::new())
}

fn text(key: u16, text: &'static str) -> Item {
    item(key, Ok::<_, ()>(text))
}

/// A writer finds its place, and comes to write only after everything was cleared and somebody else stored there.
#[test]
fn a_place_that_was_cleared_is_not_taken_for_what_comes_after() {
    let mut slab = slab();
    slab.insert(1, entry(NEVER), 1, text(1, "old"));
    let place = slab.find(1, &is(1)).unwrap();
    assert!(slab.holds(&place));
    assert_eq!(slab.take().entries().count(), 1);
    slab.insert(2, entry(NEVER), 1, text(2, "new"));
    assert!(!slab.holds(&place));
}

#[test]
fn a_place_that_was_swept_is_not_taken_for_what_comes_after() {
    let mut slab = slab();
    slab.insert(1, entry(ANCHOR), 1, text(1, "old"));
    let place = slab.find(1, &is(1)).unwrap();
    let mut removed = Vec::new();
    slab.take_dead(NEVER, 10, &mut removed);
    assert_eq!((removed.len(), slab.len()), (1, 0));
    slab.insert(2, entry(NEVER), 1, text(2, "new"));
    assert!(!slab.holds(&place));
    assert_eq!(slab.take().weight, 1, "what was swept weighs nothing");
}

#[test]
fn a_place_that_was_replaced_is_not_taken_for_what_was_there() {
    let mut slab = slab();
    slab.insert(1, entry(NEVER), 3, text(1, "old"));
    let place = slab.find(1, &is(1)).unwrap();
    let replaced = slab.replace(&place, entry(NEVER), 2, text(1, "new"));
    assert_eq!((replaced.entry.weight, unpack(&replaced.item)), (3, &(1, Ok::<_, ()>("old"))));
    assert!(!slab.holds(&place));
    assert_eq!(slab.take().weight, 2);
}

#[test]
fn the_key_that_was_there_stays_and_the_spare_one_is_handed_out() {
    let memory = Memory::<ShardsOf<Arc<u16>, &str, ()>>::new(10, 10);
    let (first, spare) = (Arc::new(1_u16), Arc::new(1_u16));
    let put = |key: &Arc<u16>, text| {
        let is = |other: &dyn Any| other.downcast_ref() == Some(key);
        let memory: &AnyMemory = &memory;
        memory.put(1, &is, entry(NEVER), 1, item(Arc::clone(key), Ok::<_, ()>(text)))
    };
    assert!(put(&first, "old").replaced.is_none());
    let replaced = put(&spare, "new").replaced.unwrap();
    let (key, value) = replaced.item.downcast_ref::<Option<(Arc<u16>, Result<&str, ()>)>>().unwrap().as_ref().unwrap();
    assert_eq!(*value, Ok("old"));
    assert!(Arc::ptr_eq(key, &spare));
    let found = memory.visit(1, |key| Arc::ptr_eq(key, &first), |_, value| *value);
    assert_eq!(found, Some(Ok("new")));
}

#[test]
fn a_label_finds_its_own_entry_among_those_of_one_hash() {
    let memory = Keys::new(10);
    let label = |number| NonZeroU64::new(number);
    for key in [1, 2] {
        memory.put(7, &is(key), entry(NEVER).labelled(label(key.into())), 1, keyed(key, key));
    }
    assert!(memory.remove_labelled(7, label(3)).is_none());
    assert_eq!(memory.remove_labelled(7, label(2)).map(|removed| pair(&removed)), Some((2, 2)));
    assert!(memory.remove_labelled(7, label(2)).is_none());
    assert_eq!((memory.len(), memory.weight()), (1, 1));
}
