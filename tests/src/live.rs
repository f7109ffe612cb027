//! Values that are counted as long as they live.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

/// Counts the values that were made from it, and their clones.
#[derive(Debug, Default)]
pub struct Live {
    made: AtomicU64,
    dropped: AtomicU64,
    alive: AtomicI64,
    most: AtomicI64,
}

impl Live {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { made: AtomicU64::new(0), dropped: AtomicU64::new(0), alive: AtomicI64::new(0), most: AtomicI64::new(0) }
    }

    /// A value that is counted.
    pub fn make(&'static self) -> Counted {
        self.made.fetch_add(1, SeqCst);
        let alive = self.alive.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(alive, SeqCst);
        Counted(self)
    }

    /// How many have been made, clones included.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.made.load(SeqCst)
    }

    /// How many have been dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(SeqCst)
    }

    /// How many are alive.
    #[must_use]
    pub fn alive(&self) -> i64 {
        self.alive.load(SeqCst)
    }

    /// The most that were alive at the same time.
    #[must_use]
    pub fn most_at_once(&self) -> i64 {
        self.most.load(SeqCst)
    }
}

/// A value that is counted as long as it lives.
#[derive(Debug)]
pub struct Counted(&'static Live);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.make()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, SeqCst);
        self.0.dropped.fetch_add(1, SeqCst);
    }
}
