//! What callers who give up, and clocks that stand still, do not do.

use stampede_runtime::{How, observe, stampede_cached};
use stampede_tests::{Gate, Runs, soon};
use std::time::Duration;
use tokio::{
    join,
    sync::oneshot,
    time::{Instant, advance, timeout},
};

/// tokio moves a paused clock to the next timer as soon as all else waits: a load that waits for a real answer must not
/// have one that nobody asked for.
#[tokio::test(start_paused = true)]
async fn a_load_that_waits_for_real_io_does_not_move_a_paused_clock() {
    static RUNS: Runs = Runs::new();
    static ASKED: std::sync::Mutex<Vec<oneshot::Sender<u32>>> = std::sync::Mutex::new(Vec::new());

    #[stampede_cached(ttl = 60)]
    async fn page(id: u32) -> u32 {
        let _run = RUNS.begin();
        let (answer, reply) = oneshot::channel();
        ASKED.lock().unwrap().push(answer);
        reply.await.unwrap() + id
    }

    let answering = std::thread::spawn(|| {
        // The runtime is idle while its load waits; the answer comes from outside of it.
        loop {
            let asked = ASKED.lock().unwrap().pop();
            if let Some(answer) = asked {
                std::thread::sleep(Duration::from_millis(50));
                return answer.send(1);
            }
            std::thread::yield_now();
        }
    });
    let before = Instant::now();
    assert_eq!(join!(page(1), page(1)), (2, 2));
    assert_eq!((before.elapsed(), RUNS.count()), (Duration::ZERO, 1));
    answering.join().unwrap().unwrap();
}

/// A caller's own short patience says nothing about the loader: no pause begins.
#[tokio::test(start_paused = true)]
async fn a_load_that_nobody_waited_for_is_no_failure() {
    static GATE: Gate = Gate::new();

    #[stampede_cached(ttl = 10, stale_if_error = 1000, backoff = 100, run = "cancellable")]
    async fn page() -> u32 {
        GATE.pass().await;
        1
    }

    GATE.open(1);
    page().await;
    advance(Duration::from_secs(20)).await;
    assert!(timeout(Duration::from_secs(1), page()).await.is_err());
    GATE.open(1);
    let (_, served) = soon(observe(page())).await;
    assert_eq!(served[0].how(), How::Loaded);
    assert_eq!(page_cache().stats().pauses, 0);
}
