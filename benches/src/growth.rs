//! How cost grows: one axis after another, each size in a process of its own.
//!
//! A step is what one call costs at a size over what it costs at the size before. It is held against the same step of
//! the plainest structure that does the same: a larger one no longer fits into the processor's caches, and costs more for
//! that alone.

use std::{collections::HashMap, fs, hint::black_box, sync::Arc, thread, time::Duration};

use stampede_runtime::{CacheScope, stampede_cached};

use crate::child::{Figures, figure, resident, say};
use crate::followers;
use crate::peers;
use crate::table::{Bound, Row};
use crate::threads::{KEYS, Orders, crowded, shared, throughput};
use crate::timing::{as_f64, calls, cpu_of, in_turns, median, nanos, single_threaded};

const ROUNDS: usize = 15;
/// How much worse a step may be than the plain structure's. The two fall out of the processor's caches at different
/// sizes; something linear where it should be constant would show as ten.
const STEP: f64 = 3.0;

#[stampede_cached(ttl = 3600, jitter = 300, early = 600, capacity = 20_000_000)]
async fn many(id: u64) -> u64 {
    id
}

#[stampede_cached(ttl = 3600, jitter = 300, early = 600, scope = scope)]
async fn of_tenant(scope: &CacheScope, id: u64) -> Arc<u64> {
    Arc::new(id)
}

#[stampede_cached(ttl = 3600, jitter = 300, early = 600)]
async fn large(bytes: usize) -> Arc<[u8]> {
    vec![7; bytes].into()
}

/// Measures one size of an axis, in a child.
pub(crate) fn measure(axis: &str, size: u64) {
    match axis {
        "entries" => of_entries(size),
        "followers" => of_followers(size),
        "caches" => of_caches(size),
        "threads" => of_threads(size),
        _ => of_values(size),
    }
}

fn say_both([ours, floor]: [Vec<f64>; 2]) {
    say("ours", median(ours));
    say("floor", median(floor));
}

fn of_entries(size: u64) {
    let runtime = single_threaded();
    let fill = cpu_of(|| (0..size).for_each(|id| drop(many_entry(id).insert(id))));
    say("insert", nanos(fill) / as_f64(size));
    let floor: HashMap<u64, u64> = (0..size).map(|id| (id, id)).collect();
    let random = &mut fastrand::Rng::with_seed(1);
    let keys: Vec<u64> = (0..1 << 16).map(|_| random.u64(..size)).collect();
    say_both(in_turns(
        ROUNDS,
        [calls(&runtime, &keys, |id| many(*id)), calls(&runtime, &keys, async |id| floor.get(id).copied())],
    ));
    let miss = |id| cpu_of(|| assert_eq!(black_box(runtime.block_on(many(id))), id));
    let dearest = (size..size + 1_000).map(miss).max().unwrap_or_default();
    say("dearest", nanos(dearest) / 1e6);
}

fn of_followers(size: u64) {
    let size = usize::try_from(size).unwrap_or(followers::FOLLOWERS);
    say_both(followers::on_one_thread(size, ROUNDS));
}

fn of_caches(size: u64) {
    let runtime = single_threaded();
    let (threads, memory) = (threads_of_this_process(), resident());
    let scopes: Vec<CacheScope> = (0..size).map(|_| CacheScope::new()).collect();
    runtime.block_on(async {
        for scope in &scopes {
            of_tenant(scope, 1).await;
        }
    });
    say("bytes", (resident() - memory) / as_f64(size));
    say("tasks", as_f64(runtime.metrics().num_alive_tasks() as u64));
    say("threads", as_f64(threads_of_this_process() - threads));
    let before = switches_of_other_threads();
    thread::sleep(Duration::from_secs(1));
    say("wakes", as_f64(switches_of_other_threads() - before));
    let floor: Vec<HashMap<u64, Arc<u64>>> = (0..size).map(|_| HashMap::from([(1, Arc::new(1))])).collect();
    say_both(in_turns(
        ROUNDS,
        [
            calls(&runtime, &scopes, |scope| of_tenant(scope, 1)),
            calls(&runtime, &floor, async |map| map.get(&1).cloned()),
        ],
    ));
}

fn threads_of_this_process() -> u64 {
    fs::read_dir("/proc/self/task").map_or(0, |threads| threads.count() as u64)
}

/// How often the threads beside the first have gone to sleep: nobody does who was not woken.
fn switches_of_other_threads() -> u64 {
    let own = std::process::id().to_string();
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = threads.filter(|thread| thread.file_name().to_str() != Some(&own));
    let switches = others.filter_map(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    });
    switches.sum()
}

fn of_threads(size: u64) {
    let quick = &peers::quick(200_000, (0..KEYS).map(|id| (id, Arc::new(id))));
    let quick = |id| async move { quick.get(&id) };
    single_threaded().block_on(async {
        for id in 0..KEYS {
            shared(id).await;
        }
    });
    let orders = &Orders::zipf(KEYS);
    let threads = usize::try_from(size).unwrap_or(1);
    let rounds = (0..ROUNDS).map(|_| {
        if size <= processors() {
            (throughput(threads, orders, shared), throughput(threads, orders, quick))
        } else {
            (crowded(threads, orders, shared), crowded(threads, orders, quick))
        }
    });
    let (ours, floor): (Vec<f64>, Vec<f64>) = rounds.filter(|(ours, floor)| !(ours + floor).is_nan()).unzip();
    say_both([ours, floor]);
}

fn processors() -> u64 {
    thread::available_parallelism().map_or(1, |count| count.get() as u64)
}

fn of_values(size: u64) {
    let runtime = single_threaded();
    let size = usize::try_from(size).unwrap_or(32);
    let floor = HashMap::from([(size, Arc::<[u8]>::from(vec![7; size]))]);
    say_both(in_turns(
        ROUNDS,
        [
            calls(&runtime, &[size], |size| large(*size)),
            calls(&runtime, &[size], async |size| floor.get(size).cloned()),
        ],
    ));
}

/// The children of an axis, by size.
fn sizes(axis: &str, sizes: &[u64]) -> Vec<(u64, Result<Figures, String>)> {
    let child = |size: &u64| (*size, Figures::of_with(&["growth", axis, &size.to_string()], 1));
    sizes.iter().map(child).collect()
}

/// The cost of a call at each size, and each step beside the plain structure's.
fn steps(children: &[(u64, Result<Figures, String>)], axis: &str, what: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, (size, figures)) in children.iter().enumerate() {
        let cost = figure(figures, "ours");
        rows.push(Row::beside(format!("{size} {axis}: {what}"), cost, Bound::Free).in_unit("ns"));
        rows.push(Row::beside(format!("{size} {axis}: plain"), figure(figures, "floor"), Bound::Free).in_unit("ns"));
        if let Some((_, before)) = index.checked_sub(1).and_then(|before| children.get(before)) {
            let step = |name| Ok::<_, String>(figure(figures, name)? / figure(before, name)?);
            let beside = step("ours").and_then(|ours| Ok(ours / step("floor")?));
            rows.push(Row::beside(format!("{size} {axis}: step ÷ plain step"), beside, Bound::AtMost(STEP)));
        }
    }
    rows
}

/// Beside a `HashMap`: a look-up in a table costs the same at any size.
pub(crate) fn entries() -> Vec<Row> {
    let children = sizes("entries", &[10, 1_000, 100_000, 1_000_000, 10_000_000]);
    let mut rows = steps(&children, "entries", "hit");
    for (size, figures) in &children {
        let (insert, dearest) = (figure(figures, "insert"), figure(figures, "dearest"));
        rows.push(Row::beside(format!("{size} entries: insert, on average"), insert, Bound::Free).in_unit("ns"));
        rows.push(Row::beside(format!("{size} entries: dearest miss"), dearest, Bound::AtMost(1.0)).in_unit("ms"));
    }
    rows
}

/// Beside `Notify`: every follower is woken once.
pub(crate) fn followers() -> Vec<Row> {
    let children = sizes("followers", &[1, 10, 100, 1_000, 10_000, 100_000]);
    steps(&children, "followers", "landing, for each")
}

/// Beside as many `HashMap`s: a cache is found without looking at the others.
pub(crate) fn caches() -> Vec<Row> {
    let children = sizes("caches", &[1, 10, 100, 1_000, 10_000]);
    let mut rows = steps(&children, "caches", "hit");
    if let Some((size, figures)) = children.last() {
        let idle = |name, what, bound| Row::beside(format!("{size} idle caches: {what}"), figure(figures, name), bound);
        rows.extend([
            idle("bytes", "memory of each", Bound::Free).in_unit("B"),
            idle("tasks", "tasks", Bound::Exactly(0.0)),
            idle("threads", "threads, of all together", Bound::AtMost(1.0)),
            idle("wakes", "times that one wakes in a second", Bound::Exactly(0.0)),
        ]);
    }
    rows
}

/// Beside the threads before: readers scale with the processors, and lose little where there are fewer.
pub(crate) fn threads() -> Vec<Row> {
    let children = sizes("threads", &[1, 2, 4]);
    let mut rows = Vec::new();
    for (size, figures) in &children {
        let speed = figure(figures, "ours");
        let millions = speed.clone().map(|speed| speed / 1e6);
        rows.push(Row::beside(format!("{size} threads: million hits a second"), millions, Bound::Free));
        let theory = as_f64((*size).min(processors()));
        let beside = speed.and_then(|speed| Ok(speed / figure(&children[0].1, "ours")? / theory));
        rows.push(Row::beside(
            format!("{size} threads: part of what the processors give"),
            beside,
            Bound::AtLeast(0.7),
        ));
        let quick = figure(figures, "floor").map(|speed| speed / 1e6);
        rows.push(Row::beside(format!("{size} threads: the same of `quick_cache`"), quick, Bound::Free));
    }
    rows
}

/// Beside a `HashMap`: an `Arc` is cloned, whatever it holds.
pub(crate) fn values() -> Vec<Row> {
    let children = sizes("values", &[32, 1 << 10, 32 << 10, 1 << 20, 32 << 20]);
    steps(&children, "bytes", "hit")
}
