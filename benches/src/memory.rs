//! Memory per entry: a million of `u64` → `Arc<str>`, each engine in a process of its own.

use std::sync::Arc;

use stampede_runtime::stampede_cached;

use crate::child::{Figures, resident, say};
use crate::peers;
use crate::table::{Bound, Row};
use crate::timing::{as_f64, single_threaded};

const ENTRIES: u64 = 1_000_000;
/// Memory repeats.
const CHILDREN: usize = 1;

#[stampede_cached(ttl = 3600, jitter = 300, early = 600, capacity = ENTRIES)]
async fn ours(id: u64) -> Arc<str> {
    text(id)
}

/// A value of 32 bytes that nobody else has.
fn text(id: u64) -> Arc<str> {
    format!("{id:032}").into()
}

/// Fills one engine, and then pushes twice as many through it.
pub(crate) fn measure(engine: &str) {
    let runtime = single_threaded();
    match engine {
        "ours" => fill(|id| drop(runtime.block_on(ours(id))), || ours_cache().len()),
        // With a deadline beside each value: what a cache that expires can't do without.
        "quick_cache" => {
            let quick = peers::quick(1_000_000, []);
            fill(|id| quick.insert(id, (text(id), id)), || quick.len() as u64);
        }
        _ => {
            let moka = peers::moka(ENTRIES);
            let settle = || {
                runtime.block_on(moka.run_pending_tasks());
                moka.entry_count()
            };
            fill(|id| runtime.block_on(moka.insert(id, text(id))), settle);
        }
    }
}

fn fill(insert: impl Fn(u64), len: impl Fn() -> u64) {
    let before = resident();
    let bytes = |ids: std::ops::Range<u64>| {
        ids.for_each(&insert);
        let len = as_f64(len());
        (resident() - before) / len
    };
    say("full", bytes(0..ENTRIES));
    say("churned", bytes(ENTRIES..3 * ENTRIES));
}

pub(crate) fn rows() -> Vec<Row> {
    let [ours, quick, moka] =
        ["ours", "quick_cache", "moka"].map(|engine| Figures::of_with(&["memory", engine], CHILDREN));
    let figure = crate::child::figure;
    let beside = |name, peer| Ok(figure(&ours, name)? / figure(peer, name)?);
    let mut rows = Vec::new();
    for (name, when) in [("full", "a million entries"), ("churned", "two million more later")] {
        rows.extend([
            Row::goal(11, format!("bytes per entry, {when}"), figure(&ours, name), Bound::Free).in_unit("B"),
            Row::goal(
                11,
                format!("÷ `quick_cache` with a deadline, {when}"),
                beside(name, &quick),
                Bound::AtMost(1.25),
            ),
            Row::goal(11, format!("÷ `moka`, ttl, {when}"), beside(name, &moka), Bound::AtMost(0.4)),
        ]);
    }
    rows
}
