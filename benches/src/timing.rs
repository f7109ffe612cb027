//! Time on a machine that others use too: processor time of this thread, in turns, and medians of ratios.

use std::{array, hint::black_box, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// How long one contestant runs before it is the next one's turn.
const SLICE: Duration = Duration::from_millis(2);

/// Runs one contestant so many times.
pub(crate) type Contestant<'a> = Box<dyn FnMut(u64) + 'a>;

/// The processor time that this thread has used: what others on the machine disturb least.
#[cfg(target_os = "linux")]
pub(crate) fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a thread has used no less than nothing")
}

/// Elsewhere the time that has passed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_cpu() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

/// The processor time that `run` takes on this thread.
pub(crate) fn cpu_of(run: impl FnOnce()) -> Duration {
    let before = thread_cpu();
    run();
    thread_cpu().saturating_sub(before)
}

pub(crate) fn single_threaded() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime on this thread")
}

/// A contestant that awaits a call for each of some keys in turn, as a user's task does.
pub(crate) fn calls<'a, K, F>(runtime: &'a Runtime, keys: &'a [K], call: impl Fn(&'a K) -> F + 'a) -> Contestant<'a>
where
    F: Future,
{
    let mut at = 0;
    Box::new(move |count| {
        runtime.block_on(async {
            for _ in 0..count {
                at = if at + 1 < keys.len() { at + 1 } else { 0 };
                black_box(call(black_box(&keys[at])).await);
            }
        });
    })
}

/// Lets the contestants run in turn, for so many rounds, and tells for each the nanoseconds per run in each round.
pub(crate) fn in_turns<const N: usize>(rounds: usize, mut contestants: [Contestant<'_>; N]) -> [Vec<f64>; N] {
    let counts = contestants.each_mut().map(runs_in_a_slice);
    let mut times = array::from_fn(|_| Vec::with_capacity(rounds));
    for _ in 0..rounds {
        for ((run, times), count) in contestants.iter_mut().zip(&mut times).zip(counts) {
            times.push(nanos(cpu_of(|| run(count))) / as_f64(count));
        }
    }
    times
}

/// How often a contestant runs in its slice. What it does once, it does here.
fn runs_in_a_slice(run: &mut Contestant<'_>) -> u64 {
    run(2_048);
    let mut count = 64;
    loop {
        let took = cpu_of(|| run(count));
        if took >= SLICE / 4 {
            let slices = SLICE.as_secs_f64() / took.as_secs_f64();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
            return ((as_f64(count) * slices) as u64).max(1);
        }
        count *= 2;
    }
}

pub(crate) fn nanos(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

#[expect(clippy::cast_precision_loss, reason = "nothing is counted that far")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

/// The median over the rounds of what `compare` makes of two contestants in the same round. A round without a number
/// does not count.
pub(crate) fn by_round(one: &[f64], other: &[f64], compare: impl Fn(f64, f64) -> f64) -> f64 {
    let rounds = one.iter().zip(other).map(|(one, other)| compare(*one, *other));
    median(rounds.filter(|number| !number.is_nan()))
}

pub(crate) fn ratio(one: &[f64], other: &[f64]) -> f64 {
    by_round(one, other, |one, other| one / other)
}

/// The middle one, or the mean of the two in the middle; of nothing, no number.
pub(crate) fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => numbers[middle],
        _ => f64::midpoint(numbers[middle - 1], numbers[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert!(close(median([3.0, 1.0, 100.0]), 3.0));
        assert!(close(median([4.0, 1.0, 100.0, 2.0]), 3.0));
        assert!(median([]).is_nan());
    }

    #[test]
    fn a_round_in_which_all_was_slow_changes_no_ratio() {
        assert!(close(ratio(&[10.0, 50.0, 10.0], &[5.0, 25.0, 5.0]), 2.0));
        assert!(close(by_round(&[10.0, 51.0, 12.0], &[5.0, 45.0, 5.0], |one, other| one - other), 6.0));
    }

    #[test]
    fn contestants_run_in_turn_and_as_often_as_they_are_timed() {
        let (mut one, mut other) = (0, 0);
        let [first, second] = in_turns(
            5,
            [
                Box::new(|count| (0..count).for_each(|_| one = black_box(one + 1))),
                Box::new(|count| (0..count).for_each(|_| other = black_box(other + 1))),
            ],
        );
        assert_eq!((first.len(), second.len()), (5, 5));
        assert!(one > 0 && other > 0);
    }
}
