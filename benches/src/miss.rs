//! Misses: every key is new, the loader is ready at once, and the cache is full.

use std::{hint::black_box, sync::Arc};

use stampede_runtime::stampede_cached;
use tokio::runtime::Runtime;

use crate::child::{Figures, figure, say};
use crate::instructions::{Count, per_call};
use crate::peers;
use crate::table::{Bound, Row};
use crate::timing::{Contestant, in_turns, ratio, single_threaded};

const CAPACITY: u64 = 100_000;
const ROUNDS: usize = 41;
const CHILDREN: usize = 3;

/// The value is made beforehand, so that all allocations are the cache's.
#[stampede_cached(ttl = 3600, jitter = 300, early = 600, capacity = CAPACITY, skip(value))]
async fn load(id: u64, value: &Arc<u64>) -> Arc<u64> {
    Arc::clone(value)
}

#[stampede_cached(ttl = 3600, jitter = 300, early = 600)]
async fn report(customer: &str, day: u32) -> Result<Arc<u64>, String> {
    if day == 0 { Err(customer.to_owned()) } else { Ok(Arc::new(u64::from(day))) }
}

fn misses<'a, F: Future>(runtime: &'a Runtime, call: impl Fn(u64) -> F + 'a) -> Contestant<'a> {
    let mut next = 0;
    Box::new(move |count| {
        runtime.block_on(async {
            for _ in 0..count {
                next += 1;
                black_box(call(black_box(next)).await);
            }
        });
    })
}

pub(crate) fn measure() {
    let runtime = single_threaded();
    let value = &Arc::new(7);
    let moka = peers::moka(CAPACITY);
    let mut ours = misses(&runtime, |id| load(id, value));
    let mut theirs = misses(&runtime, |id| moka.get_with(id, async { Arc::clone(value) }));
    ours(CAPACITY);
    theirs(CAPACITY);
    let [ours, theirs] = in_turns(ROUNDS, [ours, theirs]);
    say("miss", ratio(&ours, &theirs));
    say("future", of_future(&load(1, value)).max(of_future(&report("a customer", 1))));
}

#[expect(clippy::cast_precision_loss, reason = "no future is that large")]
fn of_future(call: &impl Future) -> f64 {
    size_of_val(call) as f64
}

/// So many misses, in a child.
pub(crate) fn some(count: u64) {
    let value = &Arc::new(7);
    misses(&single_threaded(), |id| load(id, value))(count);
}

pub(crate) fn rows() -> Vec<Row> {
    let figures = Figures::of("miss", CHILDREN);
    let allocations = per_call(Count::Allocations, "misses", "");
    vec![
        Row::goal(7, "miss ÷ `moka` get_with", figure(&figures, "miss"), Bound::AtMost(0.6)),
        Row::goal(7, "allocations per miss", allocations, Bound::AtMost(6.0)),
        Row::goal(7, "future of a call", figure(&figures, "future"), Bound::AtMost(128.0)).in_unit("B"),
    ]
}
