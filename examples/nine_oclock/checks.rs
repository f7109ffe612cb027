//! The example checks its own numbers: what was promised and not kept becomes a sentence and exit code 1.

use crate::latency::grouped;

/// The checks so far.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    act: &'static str,
    failures: Vec<String>,
}

impl Checks {
    /// The checks that follow belong to `act`.
    pub(crate) fn begin(&mut self, act: &'static str) {
        self.act = act;
    }

    pub(crate) fn exactly(&mut self, what: &str, number: u64, allowed: u64) {
        let sentence = format!("{what}: {}, and it must be {}", grouped(number), grouped(allowed));
        self.record(number == allowed, &sentence);
    }

    pub(crate) fn within(&mut self, what: &str, number: u64, least: u64, most: u64) {
        let sentence = format!("{what}: {}, and {} to {} are allowed", grouped(number), grouped(least), grouped(most));
        self.record((least..=most).contains(&number), &sentence);
    }

    pub(crate) fn record(&mut self, kept: bool, sentence: &str) {
        println!("  {} {sentence}", if kept { "kept  " } else { "BROKEN" });
        if !kept {
            self.failures.push(format!("act {}: {sentence}", self.act));
        }
    }

    /// What was not kept, one sentence each.
    pub(crate) fn failures(&self) -> &[String] {
        &self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_number_is_no_failure() {
        let mut checks = Checks::default();
        checks.exactly("queries", 5, 5);
        checks.within("queries", 5, 1, 5);
        assert!(checks.failures().is_empty());
    }

    #[test]
    fn a_broken_number_is_named_with_its_act() {
        let mut checks = Checks::default();
        checks.begin("II");
        checks.exactly("queries", 6, 5);
        checks.within("queries", 0, 1, 5);
        assert_eq!(checks.failures()[0], "act II: queries: 6, and it must be 5");
        assert_eq!(checks.failures()[1], "act II: queries: 0, and 1 to 5 are allowed");
    }
}
