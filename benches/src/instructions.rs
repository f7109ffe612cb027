//! Instructions and allocations, which repeat whatever the machine does: this program again, under valgrind.
//!
//! A child makes so many calls, another twice as many: what the second has more is what the calls cost.

use std::{
    io::ErrorKind,
    process::{Command, Stdio},
};

use crate::child;
use crate::hit::Keys;
use crate::table::{Bound, Row};
use crate::timing::{as_f64, single_threaded};

const CALLS: u64 = 20_000;

/// What valgrind counts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    Instructions,
    Allocations,
}

/// So many hits, in a child. The argument is the shape of the key and their number.
pub(crate) fn hits(shape: &str, count: u64) {
    let runtime = single_threaded();
    let keys = Keys::new();
    let mut calls = keys.ours(&runtime, shape);
    // What is done once: the misses.
    calls(2_048);
    calls(count);
}

/// What one call of the workload `name` costs.
pub(crate) fn per_call(count: Count, name: &str, argument: &str) -> Result<f64, String> {
    let once = total(count, name, argument, CALLS)?;
    let twice = total(count, name, argument, 2 * CALLS)?;
    Ok((as_f64(twice) - as_f64(once)) / as_f64(CALLS))
}

fn total(count: Count, name: &str, argument: &str, calls: u64) -> Result<u64, String> {
    let calls = calls.to_string();
    let child = child::again(&[name, argument, &calls])?;
    let mut valgrind = Command::new("valgrind");
    let tool: &[&str] = match count {
        Count::Instructions => &["--tool=callgrind", "--callgrind-out-file=/dev/null"],
        Count::Allocations => &["--tool=dhat", "--dhat-out-file=/dev/null"],
    };
    valgrind.args(tool).arg(child.get_program()).args(child.get_args()).stdout(Stdio::null());
    let output = valgrind.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => String::from("valgrind is not on this machine; install it"),
        _ => format!("valgrind: {error}"),
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let number = match count {
        Count::Instructions => instructions(&said),
        Count::Allocations => blocks(&said),
    };
    number.filter(|_| output.status.success()).ok_or_else(|| {
        format!("valgrind ({}) said no total: {}", output.status, said.lines().last().unwrap_or_default())
    })
}

/// From callgrind's `==7== Collected : 123456`.
fn instructions(said: &str) -> Option<u64> {
    let (_, rest) = said.lines().find_map(|line| line.split_once("Collected :"))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// From dhat's `==7== Total:     1,234 bytes in 56 blocks`.
fn blocks(said: &str) -> Option<u64> {
    let (_, rest) = said.lines().find_map(|line| line.split_once("Total:"))?;
    let (_, blocks) = rest.split_once(" in ")?;
    blocks.split_whitespace().next()?.replace(',', "").parse().ok()
}

pub(crate) fn rows() -> Vec<Row> {
    let allocations = ["u64", "str", "(str, u32)"].map(|shape| {
        let measured = per_call(Count::Allocations, "hits", shape);
        Row::goal(1, format!("allocations per hit: {shape}"), measured, Bound::Exactly(0.0))
    });
    let instructions = |shape| per_call(Count::Instructions, "hits", shape);
    let limits = [("u64", 190.0), ("str", 310.0), ("(str, u32)", 330.0), ("String value", 420.0)];
    let shapes = limits.map(|(shape, most)| {
        Row::goal(2, format!("instructions per hit: {shape}"), instructions(shape), Bound::AtMost(most))
    });
    let windows = instructions("u64").and_then(|with| Ok(with - instructions("forever")?));
    let windows = Row::goal(4, "ttl + jitter + early − without: instructions", windows, Bound::AtMost(30.0));
    allocations.into_iter().chain(shapes).chain([windows]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callgrind_is_understood() {
        let said = "==21== Events    : Ir\n==21== Collected : 31415926\n==21== \n==21== I   refs:      31,415,926\n";
        assert_eq!(instructions(said), Some(31_415_926));
        assert_eq!(instructions("==21== Fatal error"), None);
    }

    #[test]
    fn dhat_is_understood() {
        let said = "==21== Total:     823,849,731 bytes in 3,929,133 blocks\n==21== At t-gmax: 133 bytes in 4 blocks\n";
        assert_eq!(blocks(said), Some(3_929_133));
        assert_eq!(blocks("==21== Total: nothing"), None);
    }
}
