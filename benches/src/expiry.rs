//! Expiry and pauses: a million entries that end at once, and the longest that one call pays.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use stampede_runtime::stampede_cached;

use crate::child::{Figures, figure, say};
use crate::peers;
use crate::table::{Bound, Row};
use crate::timing::{as_f64, cpu_of, nanos, single_threaded};

const ENTRIES: u64 = 1_000_000;
/// Longer than filling takes, so that all end together.
const TTL: Duration = Duration::from_secs(5);
/// How long after their end entries may be there untouched.
const PATIENCE: Duration = Duration::from_secs(10);
const CHILDREN: usize = 3;

static ALIVE: AtomicU64 = AtomicU64::new(0);

/// A value that is counted for as long as anything holds it.
#[derive(Debug)]
struct Counted(u64);

impl Counted {
    fn new(id: u64) -> Self {
        ALIVE.fetch_add(1, Relaxed);
        Self(id)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Relaxed);
    }
}

/// In its entry, so that what the allocator does with a million small pieces at once is not in the numbers.
#[stampede_cached(ttl = TTL, capacity = 2 * ENTRIES)]
async fn inline(id: u64) -> Counted {
    Counted::new(id)
}

/// As users have it: freed by the sweeper, where glibc puts the pieces aside, and joined when a caller next asks glibc
/// for a large one.
#[stampede_cached(ttl = TTL, capacity = 2 * ENTRIES)]
async fn apart(id: u64) -> Arc<Counted> {
    Arc::new(Counted::new(id))
}

#[stampede_cached(ttl = 3600, jitter = 300, early = 600, capacity = 4 * ENTRIES)]
#[expect(dead_code, reason = "only its entries are used")]
async fn lasting(id: u64) -> Arc<u64> {
    Arc::new(id)
}

fn fill(insert: impl Fn(u64)) -> Instant {
    (0..ENTRIES).for_each(insert);
    Instant::now()
}

/// Nobody calls: how many entries are left.
pub(crate) fn untouched() {
    let filled = fill(|id| drop(apart_entry(id).insert(Arc::new(Counted::new(id)))));
    while 0 < ALIVE.load(Relaxed) && filled.elapsed() < TTL + PATIENCE {
        sleep(Duration::from_millis(50));
    }
    say("left", as_f64(ALIVE.load(Relaxed)));
    say("after", filled.elapsed().saturating_sub(TTL).as_secs_f64());
}

pub(crate) fn dearest_call(value: &str) {
    match value {
        "inline" => dearest(fill(|id| drop(inline_entry(id).insert(Counted::new(id)))), inline),
        _ => dearest(fill(|id| drop(apart_entry(id).insert(Arc::new(Counted::new(id))))), apart),
    }
}

/// Calls from before the entries' end until all are freed: the dearest of them, in milliseconds. They hit and miss.
fn dearest<F: Future>(filled: Instant, call: impl Fn(u64) -> F) {
    let runtime = single_threaded();
    let (mut dearest, mut id) = (Duration::ZERO, 0);
    // A few entries are always there: those of these calls.
    while 10_000 < ALIVE.load(Relaxed) && filled.elapsed() < TTL + PATIENCE {
        id = (id + 1) % 2_000;
        let key = if id < 1_000 { id } else { ENTRIES + id };
        dearest = dearest.max(cpu_of(|| drop(runtime.block_on(call(key)))));
    }
    say("dearest", nanos(dearest) / 1e6);
}

/// The longest insert of three million, in milliseconds.
pub(crate) fn longest_insert(engine: &str) {
    let quick = peers::quick(4_000_000, []);
    let insert: &dyn Fn(u64) = match engine {
        "ours" => &|id| drop(lasting_entry(id).insert(Arc::new(id))),
        _ => &|id| quick.insert(id, Arc::new(id)),
    };
    let longest = (0..3 * ENTRIES).map(|id| cpu_of(|| insert(id))).max().unwrap_or_default();
    say("longest", nanos(longest) / 1e6);
}

pub(crate) fn rows() -> Vec<Row> {
    let untouched = Figures::of("expiry-untouched", 1);
    let dearest = |value| Figures::of_with(&["expiry-calls", value], CHILDREN)?.get("dearest");
    let longest = |engine, children| Figures::of_with(&["longest-insert", engine], children)?.get("longest");
    vec![
        Row::goal(12, "of a million expired entries left untouched", figure(&untouched, "left"), Bound::Exactly(0.0)),
        Row::goal(12, "the last is freed so long after its end", figure(&untouched, "after"), Bound::Free).in_unit("s"),
        Row::goal(12, "dearest call meanwhile, plain values", dearest("inline"), Bound::AtMost(1.0)).in_unit("ms"),
        Row::goal(12, "dearest call meanwhile, `Arc` values", dearest("apart"), Bound::AtMost(1.0)).in_unit("ms"),
        Row::goal(13, "longest insert of 3 million", longest("ours", CHILDREN), Bound::AtMost(1.5)).in_unit("ms"),
        Row::goal(13, "the same of `quick_cache`", longest("quick_cache", 1), Bound::Free).in_unit("ms"),
    ]
}
