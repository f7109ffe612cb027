//! The command line: what was typed, checked.

use std::env;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

pub(crate) const USAGE: &str = "\
At nine o'clock everybody opens the report: a thousand callers, one slow query per date, seven acts.

usage: cargo run --release --example nine_oclock -- [OPTIONS]

  --rows N      orders in the database [3000000]
  --callers N   callers at once [1000]
  --file PATH   the SQLite file, created if it is not there [nine_oclock.sqlite in target/]
  --help        this page

Exits with 0 if every number was as promised, 1 if one was not, 2 if the command line was not understood.";

const ROWS: u64 = 3_000_000;
const CALLERS: usize = 1_000;

/// What to play.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) rows: u64,
    pub(crate) callers: usize,
    pub(crate) file: PathBuf,
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Play(Options),
    Help,
    Wrong(String),
}

impl Request {
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Self {
        let mut options = Options { rows: ROWS, callers: CALLERS, file: default_file() };
        match options.read(arguments) {
            Ok(true) => Self::Play(options),
            Ok(false) => Self::Help,
            Err(message) => Self::Wrong(message),
        }
    }
}

impl Options {
    /// Reads all arguments; `Ok(false)` if help is wanted.
    fn read(&mut self, mut arguments: impl Iterator<Item = String>) -> Result<bool, String> {
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--rows" => self.rows = number(&name, &value()?, 1_000..=1_000_000_000)?,
                "--callers" => self.callers = number(&name, &value()?, 1..=100_000)?,
                "--file" => self.file = value()?.into(),
                "--help" | "-h" => return Ok(false),
                _ => return Err(format!("{name} is not an option")),
            }
        }
        Ok(true)
    }
}

fn number<N>(name: &str, typed: &str, allowed: RangeInclusive<N>) -> Result<N, String>
where
    N: FromStr + PartialOrd + fmt::Display,
{
    let number = typed.replace('_', "").parse().ok().filter(|number| allowed.contains(number));
    let (least, most) = allowed.into_inner();
    number.ok_or_else(|| format!("{name} takes a number from {least} to {most}, not {typed:?}"))
}

/// Beside the other things that cargo made, so that `cargo clean` takes it away too.
fn default_file() -> PathBuf {
    let executable = env::current_exe().ok();
    let target = executable.as_ref().and_then(|path| path.ancestors().nth(3));
    let folder = target.filter(|folder| folder.join("CACHEDIR.TAG").exists());
    folder.map_or_else(env::temp_dir, PathBuf::from).join("nine_oclock.sqlite")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Request {
        Request::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn what_is_not_typed_has_a_default() {
        let Request::Play(options) = parse("--callers 50") else { panic!("not understood") };
        assert_eq!((options.rows, options.callers), (ROWS, 50));
    }

    #[test]
    fn every_option_is_read() {
        let expected = Options { rows: 20_000, callers: 7, file: "orders.sqlite".into() };
        assert_eq!(parse("--rows 20_000 --callers 7 --file orders.sqlite"), Request::Play(expected));
        assert_eq!(parse("--rows 2000 -h"), Request::Help);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["--rows", "--rows 999", "--rows many", "--callers -1", "--speed 9", "now"] {
            assert!(matches!(parse(line), Request::Wrong(_)), "{line:?}");
        }
    }
}
