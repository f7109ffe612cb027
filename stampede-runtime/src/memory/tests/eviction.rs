//! Who has to make room, and who has not.

use super::*;

type Keys = Memory<u16, u16>;

fn put(memory: &Keys, key: u16, weight: u32) -> Vec<u16> {
    put_at(memory, u64::from(key), key, weight)
}

/// The keys that had to go.
fn put_at(memory: &Keys, hash: u64, key: u16, weight: u32) -> Vec<u16> {
    let put = memory.put(hash, key, entry(key, NEVER), weight);
    assert!(put.refused.is_none());
    put.evicted.into_iter().map(|removed| removed.key).collect()
}

fn get(memory: &Keys, key: u16) -> Option<u16> {
    memory.hit(u64::from(key), |other| *other == key, |entry| entry.value)
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
        let put = memory.put(u64::from(key), key, entry(key, NEVER), 11);
        assert_eq!(put.refused.map(|(key, entry)| (key, entry.value)), Some((key, key)));
        assert!(put.evicted.is_empty() && put.replaced.is_none());
        assert_eq!((memory.len(), memory.weight()), (5, 10));
    }
}

#[test]
fn entries_of_other_shards_make_room() {
    let memory = Keys::new(2_048);
    assert_eq!(memory.shards.len(), 2);
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
    let replacing = memory.put(0, 0, entry(9, NEVER), 9);
    let evicted: Vec<_> = replacing.evicted.iter().map(|removed| (removed.key, removed.entry.value)).collect();
    assert_eq!(evicted, [(0, 0), (1, 1)]);
    assert!(replacing.replaced.is_none() && replacing.spare.is_none());
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
    assert_eq!(memory.shards.len(), 16);
    for key in 0..1_000 {
        memory.put(in_shard(key.into(), key), key, entry(key, ANCHOR + TICK * u64::from(key % 2) * 100), 1);
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

/// A writer finds its place, and comes to write only after everything was cleared and somebody else stored there.
#[test]
fn a_place_that_was_cleared_is_not_taken_for_what_comes_after() {
    let mut slab = Slab::new();
    slab.insert(1, 1, entry("old", NEVER), 1);
    let place = slab.find(1, &|key| *key == 1).unwrap();
    assert!(slab.holds(&place));
    assert_eq!(slab.take().into_removed().len(), 1);
    slab.insert(2, 2, entry("new", NEVER), 1);
    assert!(!slab.holds(&place));
}

#[test]
fn a_place_that_was_swept_is_not_taken_for_what_comes_after() {
    let mut slab = Slab::new();
    slab.insert(1, 1, entry("old", ANCHOR), 1);
    let place = slab.find(1, &|key| *key == 1).unwrap();
    let mut removed = Vec::new();
    slab.take_dead(NEVER, 10, &mut removed);
    assert_eq!((removed.len(), slab.len(), slab.weight()), (1, 0, 0));
    slab.insert(2, 2, entry("new", NEVER), 1);
    assert!(!slab.holds(&place));
}

#[test]
fn a_place_that_was_replaced_is_not_taken_for_what_was_there() {
    let mut slab = Slab::new();
    slab.insert(1, 1, entry("old", NEVER), 3);
    let place = slab.find(1, &|key| *key == 1).unwrap();
    assert_eq!(slab.replace(&place, entry("new", NEVER), 2).value, "old");
    assert!(!slab.holds(&place));
    assert_eq!(slab.weight(), 2);
}

#[test]
fn a_label_finds_its_own_entry_among_those_of_one_hash() {
    let memory = Keys::new(10);
    let label = |number| std::num::NonZeroU64::new(number);
    for key in [1, 2] {
        memory.put(7, key, entry(key, NEVER).labelled(label(key.into())), 1);
    }
    assert!(memory.remove_labelled(7, label(3)).is_none());
    assert_eq!(memory.remove_labelled(7, label(2)).map(|removed| removed.key), Some(2));
    assert!(memory.remove_labelled(7, label(2)).is_none());
    assert_eq!((memory.len(), memory.weight()), (1, 1));
}
