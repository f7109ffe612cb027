//! The table: what was measured, what it was to be, and whether it is.

use std::fmt;

/// One number and the goal that it serves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The number of the goal; none for what is shown beside the goals.
    goal: Option<u8>,
    what: String,
    /// The number, or why there is none.
    measured: Result<f64, String>,
    unit: &'static str,
    bound: Bound,
}

/// What a number is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
    Exactly(f64),
    /// Nothing: it is shown to understand the others by.
    Free,
}

impl Bound {
    /// Whether a number is as it was to be. No number, such as that of a division by zero, never is.
    fn holds(self, measured: f64) -> bool {
        match self {
            Self::AtMost(most) => measured <= most,
            Self::AtLeast(least) => measured >= least,
            Self::Exactly(wanted) => (measured - wanted).abs() < 0.005,
            Self::Free => true,
        }
    }

    fn show(self, unit: &str) -> String {
        match self {
            Self::AtMost(most) => format!("≤ {}", with_unit(most, unit)),
            Self::AtLeast(least) => format!("≥ {}", with_unit(least, unit)),
            Self::Exactly(wanted) => with_unit(wanted, unit),
            Self::Free => String::from("–"),
        }
    }
}

impl Row {
    /// A number that belongs to one of the fourteen goals.
    pub(crate) fn goal(goal: u8, what: impl Into<String>, measured: Result<f64, String>, bound: Bound) -> Self {
        Self { goal: Some(goal), what: what.into(), measured, unit: "", bound }
    }

    /// A number beside the goals.
    pub(crate) fn beside(what: impl Into<String>, measured: Result<f64, String>, bound: Bound) -> Self {
        Self { goal: None, what: what.into(), measured, unit: "", bound }
    }

    /// What it is counted in; nothing for a ratio.
    pub(crate) fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Where it stands in the table: by goal, what is beside them last.
    pub(crate) fn order(&self) -> u8 {
        self.goal.unwrap_or(u8::MAX)
    }

    /// What is not as it was to be, in one sentence.
    pub(crate) fn missed(&self) -> Option<String> {
        let wanted = self.bound.show(self.unit);
        match &self.measured {
            Ok(measured) if self.bound.holds(*measured) => None,
            Ok(measured) => Some(format!("{self}: {}, and it was to be {wanted}", with_unit(*measured, self.unit))),
            Err(_) if self.bound == Bound::Free => None,
            Err(reason) => Some(format!("{self}: not measured: {reason}")),
        }
    }

    fn cells(&self) -> [String; 5] {
        let verdict = match (&self.bound, self.missed()) {
            (Bound::Free, _) => "",
            (_, None) => "ok",
            (_, Some(_)) => "**missed**",
        };
        [
            self.goal.map(|goal| goal.to_string()).unwrap_or_default(),
            self.what.clone(),
            self.measured
                .as_ref()
                .map_or_else(|_| String::from("not measured"), |number| with_unit(*number, self.unit)),
            self.bound.show(self.unit),
            String::from(verdict),
        ]
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.goal {
            Some(goal) => write!(f, "goal {goal}, {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// Prints rows as a table that a README can hold.
pub(crate) fn print(title: &str, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    let head = ["goal", title, "measured", "to be", ""].map(String::from);
    let cells: Vec<[String; 5]> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let widths: [usize; 5] =
        std::array::from_fn(|column| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    println!();
    for (index, row) in cells.iter().enumerate() {
        println!("{}", line(row, widths));
        if index == 0 {
            println!("{}", line(&widths.map(|width| "-".repeat(width.max(3))), widths));
        }
    }
}

fn line(row: &[String; 5], widths: [usize; 5]) -> String {
    let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
    format!("| {} |", cells.join(" | "))
}

/// A number with as many places as say something.
fn with_unit(number: f64, unit: &str) -> String {
    // What rounds to nothing has no sign.
    let number = if number.abs() < 0.005 { 0.0 } else { number };
    let places = match number.abs() {
        size if size >= 100.0 || number.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    if unit.is_empty() { format!("{number:.places$}") } else { format!("{number:.places$} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(measured: Result<f64, String>, bound: Bound) -> bool {
        Row::goal(1, "a ratio", measured, bound).missed().is_some()
    }

    #[test]
    fn a_bound_holds_up_to_itself() {
        assert!(!missed(Ok(1.5), Bound::AtMost(1.5)));
        assert!(missed(Ok(1.51), Bound::AtMost(1.5)));
        assert!(!missed(Ok(7.0), Bound::AtLeast(7.0)));
        assert!(missed(Ok(6.99), Bound::AtLeast(7.0)));
        assert!(!missed(Ok(1.0), Bound::Exactly(1.0)));
        assert!(missed(Ok(2.0), Bound::Exactly(1.0)));
        assert!(missed(Ok(0.0), Bound::Exactly(1.0)));
    }

    #[test]
    fn what_is_no_number_is_missed() {
        for bound in [Bound::AtMost(1.0), Bound::AtLeast(1.0), Bound::Exactly(1.0)] {
            assert!(missed(Ok(f64::NAN), bound));
            assert!(missed(Err(String::from("no valgrind")), bound));
        }
        assert!(!missed(Err(String::from("no valgrind")), Bound::Free));
    }

    #[test]
    fn a_miss_says_which_goal_and_by_how_much() {
        let row = Row::goal(4, "hit with windows", Ok(7.0), Bound::AtMost(6.0)).in_unit("ns");
        assert_eq!(row.missed().unwrap(), "goal 4, hit with windows: 7 ns, and it was to be ≤ 6 ns");
    }
}
