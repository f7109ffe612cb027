//! Followers: a hundred thousand of them wait for one load, or go away from it.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Waker},
    time::{Duration, Instant},
};

use stampede_runtime::stampede_cached;
use tokio::{
    runtime::{Builder, Runtime},
    sync::Notify,
    task::{JoinSet, yield_now},
};

use crate::child::{Figures, figure, resident, say};
use crate::table::{Bound, Row};
use crate::timing::{as_f64, cpu_of, median, nanos, ratio, single_threaded, thread_cpu};

pub(crate) const FOLLOWERS: usize = 100_000;
const ROUNDS: usize = 9;
const CHILDREN: usize = 3;

/// One flight, seen by who lands it and who waits for it.
#[derive(Debug, Default)]
struct Flight {
    waiting: AtomicUsize,
    land: Notify,
    landed: OnceLock<Arc<u64>>,
    landing: Notify,
    /// When the load ended, and when the last follower had its answer: processor time of the thread, and time.
    ended: Mutex<Option<(Duration, Instant)>>,
    last: Mutex<Option<(Duration, Instant)>>,
}

fn now() -> (Duration, Instant) {
    (thread_cpu(), Instant::now())
}

impl Flight {
    async fn load(&self) -> Arc<u64> {
        self.land.notified().await;
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(now());
        Arc::new(7)
    }

    /// The floor: nothing but what every follower needs.
    async fn notified(&self) -> Arc<u64> {
        let landing = self.landing.notified();
        match self.landed.get() {
            Some(value) => Arc::clone(value),
            None => {
                landing.await;
                Arc::clone(self.landed.get().expect("it is there before it is told of"))
            }
        }
    }

    fn answered(&self) {
        if self.waiting.fetch_sub(1, Relaxed) == 1 {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(now());
        }
    }

    /// Processor time and time from the load's end to the last follower.
    fn took(&self) -> (f64, f64) {
        let read = |moment: &Mutex<_>| *moment.lock().unwrap_or_else(PoisonError::into_inner);
        let (ended, last) = (read(&self.ended), read(&self.last));
        let (ended, last) = ended.zip(last).expect("the load ended, and all were answered");
        (nanos(last.0.saturating_sub(ended.0)), nanos(last.1 - ended.1))
    }
}

#[stampede_cached(ttl = 3600, jitter = 300, early = 600, skip(flight))]
async fn answer(id: u64, flight: &Arc<Flight>) -> Arc<u64> {
    flight.load().await
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Asked {
    Ours,
    Floor,
}

/// Lets so many followers wait for a load of the key `id`; `waiting` is called when all do.
fn land(runtime: &Runtime, asked: Asked, id: u64, followers: usize, waiting: impl FnOnce()) -> (f64, f64) {
    let flight = Arc::new(Flight::default());
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        flight.waiting.store(followers, Relaxed);
        let leader = Arc::clone(&flight);
        tasks.spawn(async move {
            match asked {
                Asked::Ours => drop(answer(id, &leader).await),
                Asked::Floor => {
                    let value = leader.load().await;
                    leader.landed.get_or_init(|| value);
                    leader.landing.notify_waiters();
                }
            }
        });
        yield_now().await;
        for _ in 0..followers {
            let flight = Arc::clone(&flight);
            match asked {
                Asked::Ours => tasks.spawn(async move {
                    answer(id, &flight).await;
                    flight.answered();
                }),
                Asked::Floor => tasks.spawn(async move {
                    flight.notified().await;
                    flight.answered();
                }),
            };
        }
        // Each of them, and the load, has been polled.
        for _ in 0..100 {
            yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        waiting();
        flight.land.notify_one();
        while tasks.join_next().await.is_some() {}
    });
    flight.took()
}

/// Nanoseconds of processor time per follower of ours and of the floor, round by round.
pub(crate) fn on_one_thread(followers: usize, rounds: usize) -> [Vec<f64>; 2] {
    let runtime = single_threaded();
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (asked, times) in [Asked::Ours, Asked::Floor].into_iter().zip(&mut times) {
            let id = (followers + round) as u64;
            let (cpu, _) = land(&runtime, asked, id, followers, || {});
            times.push(cpu / as_f64(followers as u64));
        }
    }
    // In the first round memory is new.
    times.map(|times| times[1..].to_vec())
}

pub(crate) fn measure() {
    let [ours, floor] = on_one_thread(FOLLOWERS, ROUNDS);
    say("landing", ratio(&ours, &floor));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime");
    let wall = |asked, round| land(&runtime, asked, round, FOLLOWERS, || {}).1;
    let rounds: Vec<_> =
        (0..ROUNDS as u64).map(|round| (wall(Asked::Ours, round), wall(Asked::Floor, round))).collect();
    let (ours, floor): (Vec<_>, Vec<_>) = rounds.into_iter().skip(1).unzip();
    say("landing on two threads", ratio(&ours, &floor));
    let [few, many] = [5_000, 50_000].map(cancelling);
    say("cancelling", many);
    say("cancelling grows", many / few);
}

/// What it costs to go away, for each of so many followers.
pub(crate) fn cancelling(followers: usize) -> f64 {
    let runtime = single_threaded();
    let _inside = runtime.enter();
    let flight = Arc::new(Flight::default());
    let of_round = |round| {
        let call = |_| {
            let mut call: Pin<Box<dyn Future<Output = _>>> = Box::pin(answer(round, &flight));
            assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            call
        };
        let calls: Vec<_> = (0..followers).map(call).collect();
        nanos(cpu_of(|| drop(calls))) / as_f64(followers as u64)
    };
    median((0..9).map(|round| of_round(u64::MAX - round - followers as u64)))
}

/// What a follower holds in memory, in a child of its own.
pub(crate) fn memory(asked: &str) {
    let asked = if asked == "ours" { Asked::Ours } else { Asked::Floor };
    let before = resident();
    land(&single_threaded(), asked, 1, FOLLOWERS, || say("bytes", (resident() - before) / as_f64(FOLLOWERS as u64)));
}

pub(crate) fn rows() -> Vec<Row> {
    let figures = Figures::of("followers", CHILDREN);
    let bytes = |asked| Figures::of_with(&["follower-memory", asked], CHILDREN)?.get("bytes");
    let memory = bytes("ours").and_then(|ours| Ok(ours / bytes("floor")?));
    let figure = |name| figure(&figures, name);
    vec![
        Row::goal(9, "100 000 followers ÷ `Notify`: processor time", figure("landing"), Bound::AtMost(1.2)),
        Row::goal(9, "the same on two threads: time", figure("landing on two threads"), Bound::AtMost(1.2)),
        Row::goal(9, "memory of a follower ÷ `Notify`'s", memory, Bound::AtMost(1.2)),
        Row::goal(10, "cancelling 50 000 followers, each", figure("cancelling"), Bound::AtMost(150.0)).in_unit("ns"),
        // Ten times as many no longer fit into the processor's caches, which costs every design something.
        Row::goal(10, "the same ÷ each of 5 000", figure("cancelling grows"), Bound::AtMost(2.0)),
    ]
}
