//! What a hit goes by: a moment beside the value, which has to follow all that is done to the entry's times.

use super::*;

type Keys = Typed<u16, ()>;

const KEY: u16 = 7;
const HASH: u64 = 7;

fn put(memory: &Keys, entry: Entry, value: u16) {
    memory.put(HASH, &is(KEY), entry, 1, item(KEY, Ok::<_, ()>(value)));
}

/// What a hit at `now` gets.
fn hit(memory: &Keys, now: Nanos) -> Option<u16> {
    memory.0.hit(HASH, |key| *key == KEY, now, |value| value.unwrap())
}

/// That `value` is a hit before `until`, and no longer.
fn assert_hit_until(memory: &Keys, value: u16, until: Nanos) {
    assert_eq!((hit(memory, until - 1), hit(memory, until)), (Some(value), None));
}

#[test]
fn a_value_is_a_hit_before_its_first_deadline() {
    let memory = Keys::new(10);
    assert_eq!(hit(&memory, ANCHOR), None);
    put(&memory, entry(ANCHOR + 100), 1);
    assert_hit_until(&memory, 1, ANCHOR + 100);
}

#[test]
fn what_replaces_it_has_a_deadline_of_its_own() {
    let memory = Keys::new(10);
    put(&memory, entry(ANCHOR + 100), 1);
    for (value, until) in [(2, ANCHOR + 200), (3, ANCHOR + 50)] {
        put(&memory, entry(until), value);
        assert_hit_until(&memory, value, until);
    }
}

#[test]
fn an_entry_that_is_expired_is_no_hit_from_then_on() {
    let memory = Keys::new(10);
    put(&memory, entry(ANCHOR + 100), 1);
    memory.update(HASH, &is(KEY), &mut |entry| entry.expire(ANCHOR + 60, NEVER));
    assert_hit_until(&memory, 1, ANCHOR + 60);
    memory.update_all(&mut |entry| entry.expire(ANCHOR + 40, NEVER));
    assert_hit_until(&memory, 1, ANCHOR + 40);
}

#[test]
fn what_takes_the_place_of_a_removed_entry_is_what_is_hit() {
    let memory = Keys::new(10);
    put(&memory, entry(ANCHOR + 100), 1);
    assert!(memory.remove_if(HASH, &is(KEY), |_| true).is_some());
    assert_eq!(hit(&memory, ANCHOR), None);
    put(&memory, entry(ANCHOR + 50), 2);
    assert_hit_until(&memory, 2, ANCHOR + 50);
}

/// The system's clock says nothing about it.
#[tokio::test(start_paused = true)]
async fn an_entry_of_a_paused_clock_is_never_a_hit() {
    let memory = Keys::new(10);
    let clock = crate::clock::Now::read().clock;
    let life = Lifetime { stored: ANCHOR, early_at: NEVER, fresh_until: NEVER, windows: true };
    put(&memory, Entry::new(life, clock, NEVER, 0), 1);
    assert_eq!(hit(&memory, 0), None);
}
