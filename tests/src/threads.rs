//! Waits for what threads do, without a runtime.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

const MINUTE: Duration = Duration::from_secs(60);

/// Runs `work` on a thread of its own and waits for it, but not for ever: for what may deadlock.
///
/// # Panics
///
/// If it takes more than a minute, or panics.
pub fn in_a_minute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    let thread = thread::spawn(move || done.send(work()));
    match result.recv_timeout(MINUTE) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(payload) => std::panic::resume_unwind(payload),
            Ok(_) => panic!("it ended without a result"),
        },
    }
}

/// Waits on this thread until `condition` holds, but not for ever.
///
/// # Panics
///
/// If it takes more than a minute.
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < MINUTE, "it never came");
        thread::sleep(Duration::from_millis(1));
    }
}
