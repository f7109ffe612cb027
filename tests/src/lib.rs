//! What the tests share: loaders that count and can be held, and waits that end.

mod live;
mod threads;

pub use live::{Counted, Live};
use std::{
    future::Future,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::Duration,
};
pub use threads::{in_a_minute, wait_until};
use tokio::sync::Semaphore;

/// Counts the runs of a loader, and how many run at once.
#[derive(Debug, Default)]
pub struct Runs {
    begun: AtomicU64,
    running: AtomicU64,
    most: AtomicU64,
}

impl Runs {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { begun: AtomicU64::new(0), running: AtomicU64::new(0), most: AtomicU64::new(0) }
    }

    /// Counts a run that lasts until the guard is dropped. To be called first in the loader.
    pub fn begin(&self) -> Run<'_> {
        let running = self.running.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(running, SeqCst);
        Run { number: self.begun.fetch_add(1, SeqCst) + 1, runs: self }
    }

    /// How many have begun.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.begun.load(SeqCst)
    }

    /// The most that ran at the same time.
    #[must_use]
    pub fn most_at_once(&self) -> u64 {
        self.most.load(SeqCst)
    }
}

/// One run of a loader.
#[derive(Debug)]
pub struct Run<'a> {
    /// 1 for the first.
    pub number: u64,
    runs: &'a Runs,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.runs.running.fetch_sub(1, SeqCst);
    }
}

/// Holds loaders until it is opened.
#[derive(Debug)]
pub struct Gate {
    arrived: Semaphore,
    open: Semaphore,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub const fn new() -> Self {
        Self { arrived: Semaphore::const_new(0), open: Semaphore::const_new(0) }
    }

    /// Called by a loader: says that it is here and waits to be let through.
    ///
    /// # Panics
    ///
    /// Never: the semaphore is not closed.
    pub async fn pass(&self) {
        self.arrived.add_permits(1);
        self.open.acquire().await.expect("never closed").forget();
    }

    /// Waits until a loader stands at the gate (one more each time it is called).
    ///
    /// # Panics
    ///
    /// Never: the semaphore is not closed.
    pub async fn arrival(&self) {
        self.arrived.acquire().await.expect("never closed").forget();
    }

    /// Lets so many loaders through, those to come included.
    pub fn open(&self, loaders: usize) {
        self.open.add_permits(loaders);
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// Waits for `future`, but not for ever.
///
/// # Panics
///
/// If it takes more than a minute of the runtime's time.
pub async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("it hangs")
}

/// Waits until `condition` holds, but not for ever: for what other threads do. It doesn't move a paused clock.
///
/// # Panics
///
/// If it takes more than a minute.
pub async fn until(mut condition: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never came");
        tokio::task::yield_now().await;
    }
}

/// Lets the other tasks of a current-thread runtime run until they all wait.
pub async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}
