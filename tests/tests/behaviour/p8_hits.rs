//! P8: a hit allocates nothing, takes no exclusive lock, and clones the value once.

use futures::FutureExt as _;
use stampede_runtime::stampede_cached;
use stampede_tests::soon;
use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};

#[tokio::test]
async fn p8_a_hit_allocates_nothing() {
    #[stampede_cached(ttl = 60)]
    async fn length(text: &str, times: u32) -> usize {
        text.len() * times as usize
    }

    assert_eq!(soon(length("seven77", 3)).await, 21);
    let counted = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            assert_eq!(length("seven77", 3).now_or_never(), Some(21));
        }
    });
    assert_eq!((counted.count_total, counted.bytes_total), (0, 0));
    assert_eq!(length_cache().stats().hits(), 1_000);
}

#[tokio::test]
async fn p8_a_hit_clones_the_value_once() {
    static CLONES: AtomicU64 = AtomicU64::new(0);
    struct Counted;
    impl Clone for Counted {
        fn clone(&self) -> Self {
            CLONES.fetch_add(1, SeqCst);
            Self
        }
    }
    #[stampede_cached(ttl = 60, early = 59, stale = 60)]
    async fn counted() -> Counted {
        Counted
    }

    soon(counted()).await;
    CLONES.store(0, SeqCst);
    for hits in 1..=100 {
        soon(counted()).await;
        assert_eq!(CLONES.load(SeqCst), hits);
    }
}

/// Two hits clone at the same time: neither can hold a lock that the other needs for itself.
#[test]
fn p8_hits_do_not_exclude_each_other() {
    static MEET: Barrier = Barrier::new(2);
    static MEETING: AtomicBool = AtomicBool::new(false);
    struct Meeting;
    impl Clone for Meeting {
        fn clone(&self) -> Self {
            if MEETING.load(SeqCst) {
                MEET.wait();
            }
            Self
        }
    }
    #[stampede_cached(ttl = 60)]
    async fn meeting() -> Meeting {
        Meeting
    }

    futures::executor::block_on(meeting());
    MEETING.store(true, SeqCst);
    let (done, both) = mpsc::channel();
    for _ in 0..2 {
        let done = done.clone();
        std::thread::spawn(move || {
            let hit = meeting().now_or_never().is_some();
            done.send(hit).unwrap();
        });
    }
    for _ in 0..2 {
        assert!(both.recv_timeout(Duration::from_secs(60)).expect("both hits at once"));
    }
}
