//! The numbers of one act, and the table that shows them.

use stampede_runtime::Stats;

use crate::crowd::{Answer, Outcome};
use crate::latency::{Latencies, grouped, short};

/// What one act cost the database and what its callers got.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) calls: u64,
    pub(crate) queries: u64,
    pub(crate) latencies: Latencies,
    pub(crate) fresh: u64,
    pub(crate) early: u64,
    pub(crate) stale: u64,
    /// Calls that got an old value because the database fails.
    pub(crate) on_error: u64,
    /// Calls that found nothing to serve and waited for a load.
    pub(crate) waited: u64,
    pub(crate) values: u64,
    pub(crate) errors: u64,
    first_error: Option<String>,
    pub(crate) gave_up: u64,
}

impl Numbers {
    /// The numbers between two readings of the cache's counters.
    pub(crate) fn new(answers: &[Answer], queries: u64, before: &Stats, after: &Stats) -> Self {
        let count =
            |wanted: fn(&Outcome) -> bool| answers.iter().filter(|answer| wanted(&answer.outcome)).count() as u64;
        let answered = answers.iter().filter(|answer| !matches!(answer.outcome, Outcome::GaveUp));
        Self {
            calls: answers.len() as u64,
            queries,
            latencies: Latencies::of(answered.map(|answer| answer.latency)),
            fresh: after.hits_fresh - before.hits_fresh,
            early: after.hits_early - before.hits_early,
            stale: after.hits_stale - before.hits_stale,
            on_error: after.served_on_error - before.served_on_error,
            waited: after.misses - before.misses,
            values: count(|outcome| matches!(outcome, Outcome::Value(_))),
            errors: count(|outcome| matches!(outcome, Outcome::Failed(_) | Outcome::Wrong(_))),
            first_error: answers.iter().find_map(Answer::error),
            gave_up: count(|outcome| matches!(outcome, Outcome::GaveUp)),
        }
    }

    pub(crate) fn print(&self) {
        let columns = [
            ("queries", grouped(self.queries)),
            ("p50", short(self.latencies.percentile(50))),
            ("p99", short(self.latencies.percentile(99))),
            ("max", short(self.latencies.percentile(100))),
            ("calls", grouped(self.calls)),
            ("fresh", grouped(self.fresh)),
            ("early", grouped(self.early)),
            ("stale", grouped(self.stale)),
            ("on error", grouped(self.on_error)),
            ("waited", grouped(self.waited)),
            ("errors", grouped(self.errors)),
            ("gave up", grouped(self.gave_up)),
        ];
        println!("  {}", columns.each_ref().map(|(name, _)| format!("{name:>9}")).concat());
        println!("  {}", columns.each_ref().map(|(_, number)| format!("{number:>9}")).concat());
        if let Some(error) = &self.first_error {
            println!("  (the first error: {error})");
        }
    }
}
