//! Latencies, their percentiles, and how numbers are written.

use std::time::Duration;

/// How long calls took, the shortest first.
#[derive(Debug, Default)]
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    pub(crate) fn of(latencies: impl Iterator<Item = Duration>) -> Self {
        let mut sorted: Vec<Duration> = latencies.collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    /// The nearest-rank percentile: the least latency that `percent` of the calls did not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Option<Duration> {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).copied()
    }
}

/// A duration in the unit that suits it, or a dash.
pub(crate) fn short(duration: Option<Duration>) -> String {
    let Some(duration) = duration else { return "-".to_owned() };
    let seconds = duration.as_secs_f64();
    match duration.as_micros() {
        0..1_000 => format!("{} µs", duration.as_micros()),
        1_000..100_000 => format!("{:.1} ms", seconds * 1e3),
        100_000..1_000_000 => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// A number with its thousands set apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut written = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percentile_of(count: u64, percent: usize) -> Option<u128> {
        let latencies = Latencies::of((1..=count).rev().map(Duration::from_millis));
        latencies.percentile(percent).map(|latency| latency.as_millis())
    }

    #[test]
    fn percentiles_are_the_nearest_rank() {
        for (count, percent, expected) in [
            (0, 50, None),
            (1, 99, Some(1)),
            (2, 50, Some(1)),
            (5, 50, Some(3)),
            (1000, 99, Some(990)),
            (1000, 100, Some(1000)),
        ] {
            assert_eq!(percentile_of(count, percent), expected, "p{percent} of {count}");
        }
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, written) in [(0, "0"), (999, "999"), (1_000, "1,000"), (3_000_000, "3,000,000")] {
            assert_eq!(grouped(number), written);
        }
    }

    #[test]
    fn durations_choose_their_unit() {
        for (micros, written) in [(7, "7 µs"), (1_250, "1.2 ms"), (512_345, "512 ms"), (1_500_000, "1.50 s")] {
            assert_eq!(short(Some(Duration::from_micros(micros))), written);
        }
        assert_eq!(short(None), "-");
    }
}
