//! The callers: they wait together for nine o'clock, and then all open the report at once.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::db::{Db, DbError};
use crate::report::Report;

/// Who asks, and for what: caller `i` opens the report of date `i` modulo the number of dates.
#[derive(Debug, Clone)]
pub(crate) struct Crowd {
    pub(crate) callers: usize,
    pub(crate) dates: Vec<String>,
}

/// What one caller got, and how long after nine o'clock.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) latency: Duration,
    pub(crate) outcome: Outcome,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    Value(Report),
    /// A report, but of another date.
    Wrong(Report),
    Failed(DbError),
    GaveUp,
}

impl Answer {
    /// What went wrong, if something did.
    pub(crate) fn error(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Value(_) | Outcome::GaveUp => None,
            Outcome::Wrong(report) => Some(format!("the report of {}, which was not asked for", report.date)),
            Outcome::Failed(error) => Some(error.to_string()),
        }
    }
}

impl Crowd {
    /// Lets all callers call `open` at once and collects their answers; a caller gives up after `patience`.
    pub(crate) async fn rush<F, L>(&self, db: &Db, patience: Duration, open: F) -> Vec<Answer>
    where
        F: Fn(Db, String) -> L,
        L: Future<Output = Result<Report, DbError>> + Send + 'static,
    {
        let (nine_oclock, clock) = watch::channel(None);
        let mut callers = JoinSet::new();
        for date in self.dates.iter().cycle().take(self.callers) {
            callers.spawn(call(clock.clone(), patience, date.clone(), open(db.clone(), date.clone())));
        }
        nine_oclock.send_replace(Some(Instant::now()));
        callers.join_all().await
    }
}

async fn call<L>(mut clock: watch::Receiver<Option<Instant>>, patience: Duration, date: String, report: L) -> Answer
where
    L: Future<Output = Result<Report, DbError>>,
{
    let nine = clock.wait_for(Option::is_some).await.ok().and_then(|began| *began);
    let nine = nine.expect("nine o'clock comes before the crowd is dropped");
    let outcome = match timeout(patience, report).await {
        Ok(Ok(report)) if *report.date == *date => Outcome::Value(report),
        Ok(Ok(report)) => Outcome::Wrong(report),
        Ok(Err(error)) => Outcome::Failed(error),
        Err(_) => Outcome::GaveUp,
    };
    Answer { latency: nine.elapsed(), outcome }
}
