//! What an annotated function adds to the build: `build-cost/run.sh`, in the dev profile.

use std::process::Command;

use crate::child;
use crate::table::{Bound, Row};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/build-cost/run.sh");

pub(crate) fn rows() -> Vec<Row> {
    let what = "build time added per function ÷ `cached` by_key's";
    vec![
        Row::goal(14, what, measure(["200", "2", "same", "dev"]), Bound::AtMost(1.0 / 3.0)),
        Row::goal(
            14,
            "the same, each with a return type of its own",
            measure(["50", "2", "own", "dev"]),
            Bound::AtMost(1.0 / 3.0),
        ),
    ]
}

/// The ratio for so many functions, in so many rounds, with these types and in this profile.
fn measure(arguments: [&str; 4]) -> Result<f64, String> {
    let output = child::run(Command::new("bash").arg(SCRIPT).args(arguments))?;
    let said = String::from_utf8_lossy(&output.stdout);
    ratio(&said).ok_or_else(|| format!("run.sh said no ratio: {said}"))
}

/// From `dev … added: ours 1 ms, peer 4 ms, ratio 0.25`.
fn ratio(said: &str) -> Option<f64> {
    let line = said.lines().find(|line| line.starts_with("dev"))?;
    line.rsplit_once("ratio ")?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_understood() {
        let said = "dev      none 100 ms   ours 120 ms   peer 180 ms   added: ours 20 ms, peer 80 ms, ratio 0.25\n";
        assert_eq!(ratio(said), Some(0.25));
        assert_eq!(ratio("error: no such crate"), None);
    }
}
