//! Stampede beside what users would pick instead, measured in one run and in turns.
//!
//! Ratios and counts are the result: machines are shared and noisy, so that times mean little by themselves. A row is a
//! goal; `--check` makes a missed one the exit code.

mod build_cost;
mod child;
mod expiry;
mod followers;
mod growth;
mod hit;
mod instructions;
mod memory;
mod miss;
mod peers;
mod stampede;
mod table;
mod threads;
mod timing;

use std::{env, process::ExitCode, time::Instant};

use crate::table::Row;

const USAGE: &str = "\
usage: cargo run --release -p stampede-benches -- [--check] [--growth] [--only NAME]

  --check      exit with 1 where a goal is missed, and say which
  --growth     how cost grows: with entries, followers, caches, threads and the size of values
  --only NAME  one workload or axis";

/// What is measured together, and the rows that come of it.
struct Workload {
    name: &'static str,
    rows: fn() -> Vec<Row>,
}

const WORKLOADS: &[Workload] = &[
    Workload { name: "hit", rows: hit::rows },
    Workload { name: "instructions", rows: instructions::rows },
    Workload { name: "threads", rows: threads::rows },
    Workload { name: "miss", rows: miss::rows },
    Workload { name: "stampede", rows: stampede::rows },
    Workload { name: "followers", rows: followers::rows },
    Workload { name: "memory", rows: memory::rows },
    Workload { name: "expiry", rows: expiry::rows },
    Workload { name: "build", rows: build_cost::rows },
];

const AXES: &[Workload] = &[
    Workload { name: "entries", rows: growth::entries },
    Workload { name: "followers", rows: growth::followers },
    Workload { name: "caches", rows: growth::caches },
    Workload { name: "threads", rows: growth::threads },
    Workload { name: "values", rows: growth::values },
];

/// What was asked for on the command line.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Measure {
        check: bool,
        growth: bool,
        only: Option<String>,
    },
    /// Of a parent: to measure this in a process of its own.
    Child(Vec<String>),
    Help,
    Wrong(String),
}

impl Request {
    fn parse(arguments: &[String]) -> Self {
        if let [first, rest @ ..] = arguments
            && first == "measure"
        {
            return Self::Child(rest.to_vec());
        }
        let (mut check, mut growth, mut only) = (false, false, None);
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            match (argument, &only) {
                ("--check", _) => check = true,
                ("--growth", _) => growth = true,
                ("--only", None) => match arguments.next() {
                    Some(name) => only = Some(name.to_owned()),
                    None => return Self::Wrong(String::from("`--only` needs a name")),
                },
                ("-h" | "--help", _) => return Self::Help,
                _ => return Self::Wrong(format!("what is `{argument}`?")),
            }
        }
        match &only {
            Some(name) if !chosen(growth).iter().any(|workload| workload.name == name) => {
                Self::Wrong(format!("there is no `{name}`; there are {}", names(growth)))
            }
            _ => Self::Measure { check, growth, only },
        }
    }
}

fn chosen(growth: bool) -> &'static [Workload] {
    if growth { AXES } else { WORKLOADS }
}

fn names(growth: bool) -> String {
    chosen(growth).iter().map(|workload| workload.name).collect::<Vec<_>>().join(", ")
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match Request::parse(&arguments) {
        Request::Measure { check, growth, only } => {
            let workloads =
                chosen(growth).iter().filter(|workload| only.as_ref().is_none_or(|only| only == workload.name));
            verdict(check, &measure(workloads, growth))
        }
        Request::Child(arguments) => child(&arguments.iter().map(String::as_str).collect::<Vec<_>>()),
        Request::Help => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Request::Wrong(message) => {
            eprintln!("stampede-benches: {message}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn measure<'a>(workloads: impl Iterator<Item = &'a Workload>, growth: bool) -> Vec<Row> {
    let mut all = Vec::new();
    for workload in workloads {
        eprintln!("stampede-benches: measuring {} …", workload.name);
        let began = Instant::now();
        let rows = (workload.rows)();
        eprintln!("stampede-benches: measured {} in {:.0} s", workload.name, began.elapsed().as_secs_f64());
        if growth {
            table::print(workload.name, &rows);
        }
        all.extend(rows);
    }
    if !growth {
        all.sort_by_key(Row::order);
        table::print("what", &all);
    }
    all
}

fn verdict(check: bool, rows: &[Row]) -> ExitCode {
    let missed: Vec<String> = rows.iter().filter_map(Row::missed).collect();
    for sentence in &missed {
        eprintln!("stampede-benches: MISSED: {sentence}");
    }
    if check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Measures one thing in this process, for the parent.
fn child(arguments: &[&str]) -> ExitCode {
    let number = |text: &str| text.parse().expect("a parent gives a number");
    match arguments {
        ["hit"] => hit::measure(),
        ["hits", shape, count] => instructions::hits(shape, number(count)),
        ["threads"] => threads::measure(),
        ["stampede"] => stampede::measure(),
        ["followers"] => followers::measure(),
        ["follower-memory", asked] => followers::memory(asked),
        ["memory", engine] => memory::measure(engine),
        ["expiry-untouched"] => expiry::untouched(),
        ["expiry-calls", value] => expiry::dearest_call(value),
        ["longest-insert", engine] => expiry::longest_insert(engine),
        ["growth", axis, size] => growth::measure(axis, number(size)),
        ["miss"] => miss::measure(),
        ["misses", _, count] => miss::some(number(count)),
        _ => {
            eprintln!("stampede-benches: no measuring is called {arguments:?}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Request {
        Request::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_asked_for_is_understood() {
        assert_eq!(parse(""), Request::Measure { check: false, growth: false, only: None });
        let only = Some(String::from("hit"));
        assert_eq!(parse("--only hit --check"), Request::Measure { check: true, growth: false, only });
        assert_eq!(parse("--help"), Request::Help);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for line in ["--chekc", "hit", "--only", "--only what", "--growth --only hit", "--only hit --only miss"] {
            assert!(matches!(parse(line), Request::Wrong(_)), "{line}");
        }
    }

    #[test]
    fn only_check_makes_a_missed_goal_the_exit_code() {
        let rows = [Row::goal(1, "it", Ok(2.0), table::Bound::AtMost(1.0))];
        assert_eq!(verdict(true, &rows), ExitCode::FAILURE);
        assert_eq!(verdict(false, &rows), ExitCode::SUCCESS);
        assert_eq!(verdict(true, &[]), ExitCode::SUCCESS);
    }
}
