//! The seven acts.

use std::time::Duration;

use stampede_runtime::Freshness;
use tokio::time::{Instant, sleep};

use crate::crowd::{Answer, Outcome};
use crate::db::CONNECTIONS;
use crate::latency::{grouped, short};
use crate::numbers::Numbers;
use crate::report::report_cache;
use crate::stage::Stage;

const QUERIES: &str = "queries that reached the database";
/// Without the attribute the crowd would keep the database busy for minutes.
const BOUND: Duration = Duration::from_secs(6);
/// How long the database stays down after even the stale window has ended.
const OUTAGE: Duration = Duration::from_secs(4);
/// More than the longest pause and a slow query.
const RECOVERY: Duration = Duration::from_secs(90);

impl Stage {
    /// Plays all acts; an error is a condition that never came.
    pub(crate) async fn play(&mut self) -> Result<(), String> {
        self.without_the_attribute().await;
        self.cold().await;
        self.warm().await;
        self.early().await?;
        self.stale().await?;
        self.database_down().await;
        self.database_back().await
    }

    async fn without_the_attribute(&mut self) {
        let before = self.begin("I", "without the attribute; every caller runs the query");
        let answers = self.crowd.rush(&self.db, BOUND, |db, date| async move { db.report(&date).await }).await;
        let numbers = self.end(&before, &answers).await;
        tell_bound(&numbers);
        let running = u64::from(CONNECTIONS);
        self.checks.within(QUERIES, numbers.queries, numbers.values, numbers.values + running);
        self.checks.exactly("errors", numbers.errors, 0);
    }

    async fn cold(&mut self) {
        let before = self.begin("II", "with the attribute, nothing stored yet; the query runs once per date");
        let answers = self.rush().await;
        let numbers = self.end(&before, &answers).await;
        tell_one_report(&answers);
        self.checks.exactly(QUERIES, numbers.queries, self.dates());
        self.everybody_got_a_report(&numbers);
    }

    async fn warm(&mut self) {
        let before = self.begin("III", "everything is fresh; answers come from memory");
        let answers = self.rush().await;
        let numbers = self.end(&before, &answers).await;
        self.checks.exactly(QUERIES, numbers.queries, 0);
        self.checks.exactly("served fresh", numbers.fresh, numbers.calls);
        self.everybody_got_a_report(&numbers);
        self.nobody_waited(&numbers);
    }

    async fn early(&mut self) -> Result<(), String> {
        let before = self.begin("IV", "the entries are early; one refresh per date runs in the background");
        self.until_all_are(Freshness::Early).await?;
        let answers = self.rush().await;
        self.until_renewed(&before).await?;
        let numbers = self.end(&before, &answers).await;
        self.checks.exactly(QUERIES, numbers.queries, self.dates());
        self.checks.exactly("served fresh or early", numbers.fresh + numbers.early, numbers.calls);
        self.everybody_got_a_report(&numbers);
        self.nobody_waited(&numbers);
        Ok(())
    }

    async fn stale(&mut self) -> Result<(), String> {
        let before = self.begin("V", "nobody came for a while, the entries are stale; still one refresh per date");
        self.until_all_are(Freshness::Stale).await?;
        let answers = self.rush().await;
        self.until_renewed(&before).await?;
        let numbers = self.end(&before, &answers).await;
        self.checks.exactly(QUERIES, numbers.queries, self.dates());
        self.everybody_got_a_report(&numbers);
        self.nobody_waited(&numbers);
        Ok(())
    }

    async fn database_down(&mut self) {
        let before = self.begin("VI", "the orders changed, all reports are out of date, and the database fails");
        self.db.set_down(true);
        report_cache().expire().await;
        let began = Instant::now();
        let answers = self.crowds_during_the_outage().await;
        let numbers = self.end(&before, &answers).await;
        println!("  (one crowd a second for {}, also past the stale window)", short(Some(began.elapsed())));
        let most = self.dates() * attempts_within(began.elapsed());
        self.checks.within(QUERIES, numbers.queries, self.dates(), most);
        self.everybody_got_a_report(&numbers);
    }

    /// A crowd every second, first served in the stale window, then because errors may be hidden.
    async fn crowds_during_the_outage(&self) -> Vec<Answer> {
        let mut answers = self.rush().await;
        let mut last: Option<Instant> = None;
        while last.is_none_or(|end| Instant::now() < end) {
            sleep(Duration::from_secs(1)).await;
            if last.is_none() && self.all_are(Freshness::Expired) {
                last = Some(Instant::now() + OUTAGE);
            }
            answers.extend(self.rush().await);
        }
        answers
    }

    async fn database_back(&mut self) -> Result<(), String> {
        let before = self.begin("VII", "the database is back; after the pause one load per date renews the report");
        self.db.set_down(false);
        let answers = self.callers_until_all_is_renewed().await?;
        let numbers = self.end(&before, &answers).await;
        self.checks.exactly(QUERIES, numbers.queries, self.dates());
        self.everybody_got_a_report(&numbers);
        Ok(())
    }

    /// Every 50 ms a caller for each date that is still out of date: the pause ends after 30 seconds at most.
    async fn callers_until_all_is_renewed(&self) -> Result<Vec<Answer>, String> {
        let (began, mut answers) = (Instant::now(), Vec::new());
        loop {
            let outdated = self.outdated();
            if outdated.is_empty() {
                return Ok(answers);
            }
            if began.elapsed() > RECOVERY {
                return Err(format!("after {} still out of date: {outdated:?}", short(Some(RECOVERY))));
            }
            answers.extend(self.one_per_date(outdated).await);
            sleep(Duration::from_millis(50)).await;
        }
    }
}

/// How often one date may be tried within `outage`: pauses of 1, 2, 4 … seconds, up to 30, each 10 % shorter at most.
fn attempts_within(outage: Duration) -> u64 {
    let (mut attempts, mut pause, mut next) = (0, Duration::from_secs(1), Duration::ZERO);
    while next <= outage {
        attempts += 1;
        next += pause.mul_f64(0.9);
        pause = (pause * 2).min(Duration::from_secs(30));
    }
    attempts
}

fn tell_bound(numbers: &Numbers) {
    if numbers.gave_up == 0 {
        return;
    }
    println!(
        "  (bounded: {} of {} had their report after {}, and the others gave up)",
        grouped(numbers.values),
        grouped(numbers.calls),
        short(Some(BOUND)),
    );
}

fn tell_one_report(answers: &[Answer]) {
    let Some(Outcome::Value(report)) = answers.first().map(|answer| &answer.outcome) else { return };
    let best = report.products.first().map_or(0, |product| product.number);
    let (orders, euros) = (grouped(report.orders()), grouped(report.cents() / 100));
    println!("  (the report of {}: {orders} orders, {euros} euros, product {best} sold best)", report.date);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_allows_few_attempts() {
        for (seconds, attempts) in [(0.0, 1), (0.8, 1), (1.0, 2), (3.0, 3), (13.0, 4), (60.0, 7)] {
            assert_eq!(attempts_within(Duration::from_secs_f64(seconds)), attempts, "{seconds} s");
        }
    }
}
