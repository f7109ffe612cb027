//! What the loaders of these tests look at: a source that changes, a gate, and a script.

use futures::FutureExt as _;
use stampede_runtime::SharedError;
use stampede_tests::{Gate, Runs};
use std::{
    any::Any,
    fmt,
    future::pending,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Moves the paused clock and lets everybody see it.
pub(crate) async fn pass(time: Duration) {
    tokio::time::advance(time).await;
    stampede_tests::settle().await;
}

/// What a load does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Answer,
    Fail,
    Panic,
    Hang,
}

/// An error that can be cloned, and that can report a timeout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed(pub(crate) String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl From<SharedError> for Failed {
    fn from(error: SharedError) -> Self {
        Self(error.to_string())
    }
}

/// What loads see, to be skipped in the key.
pub(crate) struct World {
    pub(crate) source: AtomicU64,
    pub(crate) gate: Gate,
    pub(crate) runs: Runs,
    act: Mutex<Act>,
}

impl World {
    pub(crate) fn new() -> Arc<Self> {
        let act = Mutex::new(Act::Answer);
        Arc::new(Self { source: AtomicU64::new(1), gate: Gate::new(), runs: Runs::new(), act })
    }

    pub(crate) fn set(&self, source: u64) {
        self.source.store(source, SeqCst);
    }

    /// What the source holds when the load begins, once the gate is open.
    pub(crate) async fn read(&self) -> u64 {
        let _run = self.runs.begin();
        let found = self.source.load(SeqCst);
        self.gate.pass().await;
        found
    }

    pub(crate) fn next(&self, act: Act) {
        *self.act.lock().unwrap() = act;
    }

    /// What the script says, at once: the number of the run, an error, a panic or nothing for ever.
    pub(crate) async fn play(&self) -> Result<u64, Failed> {
        let run = self.runs.begin();
        let act = *self.act.lock().unwrap();
        match act {
            Act::Answer => Ok(run.number),
            Act::Fail => Err(Failed("down".into())),
            Act::Panic => panic!("boom {}", run.number),
            Act::Hang => pending().await,
        }
    }
}

/// The message of the panic that `future` ends with.
pub(crate) async fn panic_of<F: Future<Output: fmt::Debug>>(future: F) -> String {
    message(&*AssertUnwindSafe(future).catch_unwind().await.expect_err("it should panic"))
}

/// The message of a panic.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    let fixed = payload.downcast_ref::<&str>().map(ToString::to_string);
    fixed.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a panic with a message")
}
