//! Measuring in processes of their own: memory is laid out anew in each, and what one has left behind disturbs no other.
//!
//! A child is this program with `measure NAME`; it prints a line for each number.

use std::{
    collections::BTreeMap,
    env,
    process::{Command, Output, Stdio},
};

use crate::timing::median;

/// What a child has measured, by name.
#[derive(Debug, Default)]
pub(crate) struct Figures(BTreeMap<String, Vec<f64>>);

impl Figures {
    /// What so many children say about `name`.
    pub(crate) fn of(name: &str, children: usize) -> Result<Self, String> {
        Self::of_with(&[name], children)
    }

    pub(crate) fn of_with(arguments: &[&str], children: usize) -> Result<Self, String> {
        let mut figures = Self::default();
        for _ in 0..children {
            let output = run(&mut again(arguments)?)?;
            figures.read(&String::from_utf8_lossy(&output.stdout));
        }
        Ok(figures)
    }

    fn read(&mut self, lines: &str) {
        for line in lines.lines() {
            if let Some((name, Ok(number))) = line.split_once('\t').map(|(name, number)| (name, number.parse())) {
                self.0.entry(name.to_owned()).or_default().push(number);
            }
        }
    }

    /// The median over the children.
    pub(crate) fn get(&self, name: &str) -> Result<f64, String> {
        let numbers = self.0.get(name).ok_or_else(|| format!("no child said anything of {name}"))?;
        let median = median(numbers.iter().copied().filter(|number| !number.is_nan()));
        if median.is_nan() { Err(String::from("others kept the processors too busy")) } else { Ok(median) }
    }
}

/// Reads one figure where the measuring itself may have failed.
pub(crate) fn figure(figures: &Result<Figures, String>, name: &str) -> Result<f64, String> {
    figures.as_ref().map_err(Clone::clone)?.get(name)
}

/// Says a number to the parent.
pub(crate) fn say(name: &str, number: f64) {
    println!("{name}\t{number}");
}

/// This program again, told to measure.
pub(crate) fn again(arguments: &[&str]) -> Result<Command, String> {
    let program = env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    let mut command = Command::new(program);
    command.arg("measure").args(arguments);
    Ok(command)
}

pub(crate) fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.stderr(Stdio::piped()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}: {}", output.status, said.lines().last().unwrap_or_default()))
}

/// What this process holds in memory now, in bytes.
pub(crate) fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<f64> = pages.split_whitespace().nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(f64::NAN) * PAGE
}

/// Where pages are larger the ratios stay what they are.
const PAGE: f64 = 4_096.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_medians_over_the_children() {
        let mut figures = Figures::default();
        for child in ["ratio\t2\nother\t7", "ratio\t1", "not a figure\nratio\t9"] {
            figures.read(child);
        }
        assert_eq!(figures.get("ratio"), Ok(2.0));
        assert_eq!(figures.get("other"), Ok(7.0));
        assert!(figures.get("third").is_err());
    }

    #[test]
    fn a_child_that_could_not_measure_is_left_out() {
        let mut figures = Figures::default();
        for child in ["some\tNaN\nall\tNaN", "some\t3"] {
            figures.read(child);
        }
        assert_eq!(figures.get("some"), Ok(3.0));
        assert!(figures.get("all").is_err());
    }
}
