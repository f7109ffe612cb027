//! At nine o'clock everybody opens the report.
//!
//! A thousand callers, a handful of dates, a query of some hundred milliseconds over millions of orders, and one line
//! above the function: see `report.rs`. Seven acts show what the database and the callers see, and check it.

mod acts;
mod checks;
mod crowd;
mod db;
mod latency;
mod numbers;
mod options;
mod orders;
mod report;
mod stage;

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use crate::checks::Checks;
use crate::crowd::Crowd;
use crate::db::{CONNECTIONS, Db};
use crate::latency::{grouped, short};
use crate::options::{Options, Request, USAGE};
use crate::stage::Stage;

fn main() -> ExitCode {
    match Request::parse(env::args().skip(1)) {
        Request::Play(options) => play(&options),
        Request::Help => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Request::Wrong(message) => {
            eprintln!("nine_oclock: {message}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

#[tokio::main]
async fn play(options: &Options) -> ExitCode {
    if let Err(message) = orders::ensure(&options.file, options.rows) {
        eprintln!("nine_oclock: {message}");
        return ExitCode::FAILURE;
    }
    let began = Instant::now();
    let mut stage = set(options);
    println!("{} callers, {} dates", grouped(options.callers as u64), stage.crowd.dates.len());
    if let Err(missed) = stage.play().await {
        stage.checks.record(false, &missed);
    }
    verdict(&stage.checks, began)
}

fn set(options: &Options) -> Stage {
    let crowd = Crowd { callers: options.callers, dates: dates(options.callers) };
    Stage { db: Db::new(&options.file), crowd, checks: Checks::default() }
}

/// As many dates as there are connections, but none that nobody asks for.
fn dates(callers: usize) -> Vec<String> {
    (1..=CONNECTIONS as usize).take(callers).map(orders::date).collect()
}

fn verdict(checks: &Checks, began: Instant) -> ExitCode {
    if checks.failures().is_empty() {
        println!("\nnine_oclock: every number was as promised, after {}", short(Some(began.elapsed())));
        return ExitCode::SUCCESS;
    }
    for sentence in checks.failures() {
        eprintln!("nine_oclock: BROKEN: {sentence}");
    }
    ExitCode::FAILURE
}
