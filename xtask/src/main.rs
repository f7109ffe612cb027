//! The project's own commands, run from anywhere in the workspace as `cargo xtask COMMAND`.
//!
//! Nothing here is skipped in silence: what a command needs and does not find makes it fail, with a line that says what
//! to install.

mod steps;

use std::env;
use std::process::ExitCode;

use steps::{CHECKS, Step, TESTS, run_all};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test    run all tests, doc tests included
  check   formatting, lints and documentation, all warnings denied
  ci      check, then test";

/// What was asked for on the command line.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Run(Vec<Step>),
    Help,
    Unknown,
}

impl Request {
    fn parse(arguments: &[String]) -> Self {
        match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["test"] => Self::Run(TESTS.to_vec()),
            ["check"] => Self::Run(CHECKS.to_vec()),
            ["ci"] => Self::Run([CHECKS, TESTS].concat()),
            ["help" | "-h" | "--help"] => Self::Help,
            _ => Self::Unknown,
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match Request::parse(&arguments) {
        Request::Run(steps) => run_all(&steps),
        Request::Help => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Request::Unknown => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Request {
        let arguments: Vec<String> = line.split_whitespace().map(String::from).collect();
        Request::parse(&arguments)
    }

    #[test]
    fn ci_is_check_and_then_test() {
        assert_eq!(parse("ci"), Request::Run([CHECKS, TESTS].concat()));
    }

    #[test]
    fn what_is_not_a_command_is_refused() {
        for line in ["", "tests", "test now", "--ci"] {
            assert_eq!(parse(line), Request::Unknown, "{line:?}");
        }
    }
}
