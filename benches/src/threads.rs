//! Two threads: wall time of slices that truly overlap.

use std::{
    hint::black_box,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use quick_cache::sync::Cache as Quick;
use stampede_runtime::stampede_cached;

use crate::child::{Figures, figure, say};
use crate::hit::text;
use crate::peers;
use crate::table::{Bound, Row};
use crate::timing::{as_f64, ratio, single_threaded, thread_cpu};

pub(crate) const KEYS: u64 = 100_000;
const HOT: u64 = 7;
const CAPACITY: usize = 200_000;
const SLICE: Duration = Duration::from_millis(15);
/// What a thread runs before, some rounds of its keys: the processor's caches hold what another left there.
const WARM_UP: Duration = Duration::from_millis(20);
const ROUNDS: usize = 21;
const CHILDREN: usize = 3;
/// Calls between two looks at the time.
const BATCH: usize = 256;

#[stampede_cached(ttl = 3600, jitter = 300, early = 600, capacity = CAPACITY as u64)]
pub(crate) async fn shared(id: u64) -> Arc<u64> {
    Arc::new(id)
}

#[stampede_cached(ttl = 3600, jitter = 300, early = 600, capacity = CAPACITY as u64)]
async fn copied(id: u64) -> String {
    text(id)
}

/// What each thread asks for, in its order.
#[derive(Debug)]
pub(crate) struct Orders(Vec<Vec<u64>>);

impl Orders {
    pub(crate) fn hot() -> Self {
        Self(vec![vec![HOT; BATCH]; 4])
    }

    /// Zipf's law with the exponent that caches are usually measured with: few keys are asked for by most.
    pub(crate) fn zipf(keys: u64) -> Self {
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=keys)
            .map(|rank| {
                sum += as_f64(rank).powf(-0.99);
                sum
            })
            .collect();
        let draw = |random: &mut fastrand::Rng| {
            let drawn = random.f64() * sum;
            sums.partition_point(|upto| *upto < drawn) as u64
        };
        let orders = (0..4).map(|seed| {
            let random = &mut fastrand::Rng::with_seed(seed);
            (0..256 * BATCH).map(|_| draw(random)).collect()
        });
        Self(orders.collect())
    }
}

/// Calls per second of so many threads together, each with a processor of its own.
pub(crate) fn throughput<F: Future>(threads: usize, orders: &Orders, call: impl Fn(u64) -> F + Sync) -> f64 {
    undisturbed(|| together(threads, orders, &call))
}

/// The same, where there are fewer processors than threads.
pub(crate) fn crowded<F: Future>(threads: usize, orders: &Orders, call: impl Fn(u64) -> F + Sync) -> f64 {
    together(threads, orders, &call).per_second
}

fn together<F: Future>(threads: usize, orders: &Orders, call: &(impl Fn(u64) -> F + Sync)) -> Slice {
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        let slices = orders.0[..threads].iter().map(|order| {
            scope.spawn(|| {
                slice(order, call, WARM_UP);
                barrier.wait();
                slice(order, call, SLICE)
            })
        });
        let slices: Vec<_> = slices.collect();
        let slices = slices.into_iter().map(|slice| slice.join().expect("no call panics"));
        slices.reduce(Slice::together).expect("a thread")
    })
}

/// What a slice came to.
#[derive(Debug, Clone, Copy)]
struct Slice {
    calls: u64,
    began: Instant,
    ended: Instant,
    /// The processor time that the thread had of it, or the one that had least.
    used: Duration,
    per_second: f64,
}

impl Slice {
    /// What some that ran at once came to together: from the first one's beginning to the last one's end.
    fn together(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            began: self.began.min(other.began),
            ended: self.ended.max(other.ended),
            used: self.used.min(other.used),
            per_second: self.per_second + other.per_second,
        }
    }

    /// The part of the time for which each thread had a processor: near one only if all ran, and at once.
    fn share(&self) -> f64 {
        self.used.as_secs_f64() / (self.ended - self.began).as_secs_f64()
    }
}

/// One thread's calls, for so long.
fn slice<F: Future>(order: &[u64], call: impl Fn(u64) -> F, lasts: Duration) -> Slice {
    let runtime = single_threaded();
    let (began, cpu) = (Instant::now(), thread_cpu());
    let mut calls = 0;
    runtime.block_on(async {
        for keys in order.chunks(BATCH).cycle() {
            for key in keys {
                black_box(call(black_box(*key)).await);
            }
            calls += keys.len() as u64;
            if lasts <= began.elapsed() {
                break;
            }
        }
    });
    let (ended, used) = (Instant::now(), thread_cpu().saturating_sub(cpu));
    Slice { calls, began, ended, used, per_second: as_f64(calls) / (ended - began).as_secs_f64() }
}

/// A slice in which no thread had to wait for a processor; no number if others on the machine allow none.
fn undisturbed(mut run: impl FnMut() -> Slice) -> f64 {
    let mut best = run();
    for _ in 0..12 {
        if 0.97 <= best.share() {
            break;
        }
        let next = run();
        if best.share() < next.share() {
            best = next;
        }
    }
    if best.share() < 0.9 { f64::NAN } else { best.per_second }
}

pub(crate) fn measure() {
    let arcs = &peers::quick(CAPACITY, (0..KEYS).map(|id| (id, Arc::new(id))));
    let texts = &peers::quick(CAPACITY, (0..KEYS).map(|id| (id, text(id))));
    single_threaded().block_on(async {
        for id in 0..KEYS {
            shared(id).await;
            copied(id).await;
        }
    });
    let (hot, zipf) = (&Orders::hot(), &Orders::zipf(KEYS));
    compare("zipf", zipf, shared, arcs);
    compare("hot String", hot, copied, texts);
    compare("hot Arc", hot, shared, arcs);
    say("beside a writer", beside_a_writer(zipf, shared, |id| drop(shared_entry(id).insert(Arc::new(id)))));
    let write_hot = |_| drop(shared_entry(HOT).insert(Arc::new(HOT)));
    say("beside a writer of its key", beside_a_writer(hot, shared, write_hot));
    let quick = |id| async move { arcs.get(&id) };
    let write_hot = |_| arcs.insert(HOT, Arc::new(HOT));
    say("beside a writer of its key, quick_cache", beside_a_writer(hot, quick, write_hot));
    say("beside a writer, quick_cache", beside_a_writer(zipf, quick, |id| arcs.insert(id, Arc::new(id))));
}

/// One thread, two threads, and the rival's two threads, in turns.
fn compare<V, F>(name: &str, orders: &Orders, ours: impl Fn(u64) -> F + Sync, quick: &Quick<u64, V>)
where
    V: Clone + Send + Sync,
    F: Future<Output = V>,
{
    let rival = |id| async move { quick.get(&id).expect("a hit") };
    let (mut one, mut two, mut rivals) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(throughput(1, orders, &ours));
        two.push(throughput(2, orders, &ours));
        rivals.push(throughput(2, orders, rival));
    }
    say(name, ratio(&two, &one));
    say(&format!("{name} beside quick_cache"), ratio(&two, &rivals));
}

/// Which part of its speed a reader keeps while another thread writes as fast as it can.
fn beside_a_writer<F: Future>(orders: &Orders, read: impl Fn(u64) -> F + Sync, write: impl Fn(u64) + Sync) -> f64 {
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(throughput(1, orders, &read));
        beside.push(undisturbed(|| while_writing(&write, || slice(&orders.0[0], &read, SLICE))));
    }
    ratio(&beside, &alone)
}

fn while_writing(write: &(impl Fn(u64) + Sync), read: impl FnOnce() -> Slice) -> Slice {
    let (barrier, over) = (Barrier::new(2), AtomicBool::new(false));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            barrier.wait();
            let (began, mut random) = (Instant::now(), fastrand::Rng::with_seed(9));
            while !over.load(Relaxed) {
                write(random.u64(..KEYS));
            }
            began
        });
        barrier.wait();
        let slice = read();
        over.store(true, Relaxed);
        let began = writer.join().expect("no write panics");
        Slice { began: slice.began.min(began), ..slice }
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let figures = Figures::of("threads", CHILDREN);
    let scaling = [("zipf", 1.6), ("hot String", 1.5), ("hot Arc", 0.35)].into_iter().flat_map(|(name, least)| {
        let beside = format!("{name} beside quick_cache");
        [
            Row::goal(5, format!("two threads ÷ one: {name}"), figure(&figures, name), Bound::AtLeast(least)),
            Row::goal(
                5,
                format!("two threads ÷ `quick_cache`'s: {name}"),
                figure(&figures, &beside),
                Bound::AtLeast(1.0),
            ),
        ]
    });
    let kept = |name, bound, what| Row::goal(6, what, figure(&figures, name), bound);
    scaling
        .chain([
            kept("beside a writer", Bound::AtLeast(0.25), "speed that a reader keeps beside a writer"),
            kept("beside a writer, quick_cache", Bound::Free, "the same of `quick_cache`"),
            kept("beside a writer of its key", Bound::AtLeast(0.25), "the same, both at one key"),
            kept("beside a writer of its key, quick_cache", Bound::Free, "both at one key, `quick_cache`"),
        ])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_asks_for_the_first_key_most_and_for_each_by_its_rank() {
        let Orders(orders) = Orders::zipf(KEYS);
        let asked = |key| orders.iter().flatten().filter(|asked| **asked == key).count() as u64;
        let all = as_f64(orders.iter().map(|order| order.len() as u64).sum());
        // The sum of the 100 000 weights is 12.8.
        for (key, share) in [(0, 0.078), (1, 0.039), (9, 0.008)] {
            let measured = as_f64(asked(key)) / all;
            assert!((measured / share - 1.0).abs() < 0.1, "key {key}: {measured}");
        }
        assert!(orders.iter().flatten().all(|key| *key < KEYS));
    }
}
