//! Where the acts are played: the database, the crowd, and the readings before and after.

use std::time::Duration;

use stampede_runtime::{Freshness, Stats};
use tokio::time::{Instant, sleep};

use crate::checks::Checks;
use crate::crowd::{Answer, Crowd};
use crate::db::Db;
use crate::latency::short;
use crate::numbers::Numbers;
use crate::report::{report, report_cache, report_entry};

/// Far more than anything here takes, so that a slow machine is not taken for a fault.
const PATIENCE: Duration = Duration::from_secs(120);
/// Below this a query is too short to tell a caller who waited for it from one who waited for the processor.
const TELLING: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) db: Db,
    pub(crate) crowd: Crowd,
    pub(crate) checks: Checks,
}

/// The counters before an act.
#[derive(Debug)]
pub(crate) struct Before {
    queries: u64,
    stats: Stats,
}

impl Stage {
    pub(crate) fn begin(&mut self, act: &'static str, title: &str) -> Before {
        println!("\nAct {act}: {title}");
        self.checks.begin(act);
        Before { queries: self.db.queries(), stats: report_cache().stats() }
    }

    /// Everybody opens the report.
    pub(crate) async fn rush(&self) -> Vec<Answer> {
        rush(&self.crowd, &self.db).await
    }

    /// One caller for each of these dates opens the report.
    pub(crate) async fn one_per_date(&self, dates: Vec<String>) -> Vec<Answer> {
        rush(&Crowd { callers: dates.len(), dates }, &self.db).await
    }

    /// The dates whose report is no longer fresh, nor early.
    pub(crate) fn outdated(&self) -> Vec<String> {
        let good = [Some(Freshness::Fresh), Some(Freshness::Early)];
        let dates = self.crowd.dates.iter();
        dates.filter(|date| !good.contains(&report_entry(date).state())).cloned().collect()
    }

    pub(crate) fn dates(&self) -> u64 {
        self.crowd.dates.len() as u64
    }

    pub(crate) fn all_are(&self, wanted: Freshness) -> bool {
        self.crowd.dates.iter().all(|date| report_entry(date).state() == Some(wanted))
    }

    /// Waits until every date's entry has come to the state `wanted`.
    pub(crate) async fn until_all_are(&self, wanted: Freshness) -> Result<(), String> {
        let began = Instant::now();
        self.until(&format!("all entries are {wanted:?}"), || self.all_are(wanted)).await?;
        println!("  (all entries are {wanted:?} after {})", short(Some(began.elapsed())));
        Ok(())
    }

    /// Waits until as many refreshes as there are dates were begun since `before`, and all have ended.
    pub(crate) async fn until_renewed(&self, before: &Before) -> Result<(), String> {
        let renewed = || {
            let stats = report_cache().stats();
            stats.refreshes - before.stats.refreshes >= self.dates() && stats.in_flight == 0
        };
        self.until("every entry was renewed", renewed).await
    }

    async fn until(&self, what: &str, reached: impl Fn() -> bool) -> Result<(), String> {
        let began = Instant::now();
        while !reached() {
            if began.elapsed() > PATIENCE {
                let states: Vec<_> = self.crowd.dates.iter().map(|date| report_entry(date).state()).collect();
                return Err(format!("{what}: not within {}; the entries are {states:?}", short(Some(PATIENCE))));
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Prints the table of an act whose queries are all done.
    pub(crate) async fn end(&self, before: &Before, answers: &[Answer]) -> Numbers {
        self.db.idle().await;
        let queries = self.db.queries() - before.queries;
        let numbers = Numbers::new(answers, queries, &before.stats, &report_cache().stats());
        numbers.print();
        numbers
    }

    pub(crate) fn everybody_got_a_report(&mut self, numbers: &Numbers) {
        self.checks.exactly("callers who got their report", numbers.values, numbers.calls);
    }

    pub(crate) fn nobody_waited(&mut self, numbers: &Numbers) {
        self.checks.exactly("callers who waited for a load", numbers.waited, 0);
        let (fastest, p99) = (self.db.fastest(), numbers.latencies.percentile(99));
        if fastest < TELLING {
            println!("  (not checked: latencies, as the fastest query took only {})", short(Some(fastest)));
            return;
        }
        let sentence =
            format!("p99: {}, and it must be below the fastest query's {}", short(p99), short(Some(fastest)));
        self.checks.record(p99 < Some(fastest), &sentence);
    }
}

async fn rush(crowd: &Crowd, db: &Db) -> Vec<Answer> {
    crowd.rush(db, PATIENCE, |db, date| async move { report(&db, &date).await }).await
}
