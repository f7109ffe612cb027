//! A stampede: however its load ends, and whatever becomes of the caller who leads it, the body runs once.

use std::{
    pin::pin,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::{Context, Waker},
    time::Duration,
};

use stampede_runtime::stampede_cached;
use tokio::{
    runtime::Builder,
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::child::{Figures, figure, say};
use crate::table::{Bound, Row};

const CALLERS: usize = 300;
/// Long before that all callers have their answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a stampede goes.
#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq)]
enum Course {
    Ok,
    Err,
    Panic,
    CancelledLeader,
    ParkedLeader,
}

const COURSES: [(&str, Course); 5] = [
    ("Ok", Course::Ok),
    ("Err", Course::Err),
    ("panic", Course::Panic),
    ("cancelled leader", Course::CancelledLeader),
    ("parked leader", Course::ParkedLeader),
];

static RUNS: AtomicU32 = AtomicU32::new(0);
/// Loads end when all callers wait.
static GATE: Semaphore = Semaphore::const_new(0);

#[stampede_cached(ttl = 3600)]
async fn body(course: Course) -> Result<u32, String> {
    RUNS.fetch_add(1, Relaxed);
    let _open = GATE.acquire().await;
    match course {
        Course::Panic => panic!("as it is to be"),
        Course::Err => Err(String::from("as it is to be")),
        Course::Ok | Course::CancelledLeader | Course::ParkedLeader => Ok(7),
    }
}

pub(crate) fn measure() {
    // The panics are wanted, and reach every caller.
    std::panic::set_hook(Box::new(|_| {}));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime");
    for (name, course) in COURSES {
        RUNS.store(0, Relaxed);
        if runtime.block_on(async { timeout(PATIENCE, stampede(course)).await }).is_ok() {
            say(name, f64::from(RUNS.load(Relaxed)));
        }
    }
    runtime.shutdown_background();
}

async fn stampede(course: Course) {
    let mut leader = Some(Box::pin(body(course)));
    if let Some(leader) = &mut leader {
        let begun = pin!(leader).poll(&mut Context::from_waker(Waker::noop()));
        assert!(begun.is_pending());
    }
    let mut callers = JoinSet::new();
    (0..CALLERS).for_each(|_| drop(callers.spawn(body(course))));
    sleep(Duration::from_millis(50)).await;
    if course != Course::ParkedLeader {
        let leader = leader.take();
        if course != Course::CancelledLeader {
            callers.spawn(leader.expect("it is there until now"));
        }
    }
    GATE.add_permits(1);
    while callers.join_next().await.is_some() {}
    GATE.forget_permits(1);
}

pub(crate) fn rows() -> Vec<Row> {
    let figures = Figures::of("stampede", 1);
    let row = |(name, _)| {
        let runs = figure(&figures, name).map_err(|_| String::from("not all callers had their answer"));
        Row::goal(8, format!("runs of the body for {CALLERS} callers: {name}"), runs, Bound::Exactly(1.0))
    };
    COURSES.map(row).into()
}
