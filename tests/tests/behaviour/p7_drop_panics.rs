//! P7: the `Drop` of a stored value panics, wherever it is dropped.

use crate::world::{Act, Failed, World, pass, secs};
use stampede_runtime::stampede_cached;
use stampede_tests::{settle, soon};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// What memory holds explodes when it is dropped: the first copy. What callers get does not.
#[derive(Debug)]
struct Mine {
    number: u64,
    copies: Arc<AtomicU64>,
    stored: bool,
}

impl Mine {
    fn new(number: u64) -> Self {
        Self { number, copies: Arc::default(), stored: false }
    }
}

impl Clone for Mine {
    fn clone(&self) -> Self {
        let stored = self.copies.fetch_add(1, SeqCst) == 0;
        Self { number: self.number, copies: Arc::clone(&self.copies), stored }
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        if self.stored {
            DROPPED.fetch_add(1, SeqCst);
            panic!("dropped {}", self.number);
        }
    }
}

#[stampede_cached(ttl = 10, early = 5, stale_if_error = 100, outage = |error: &Failed| error.0 != "down", skip(world))]
async fn mine(world: Arc<World>) -> Result<Mine, Failed> {
    world.play().await.map(Mine::new)
}

#[tokio::test(start_paused = true)]
async fn p7_drop_of_a_stored_value_panics() {
    let world = World::new();
    let call = || soon(mine(Arc::clone(&world)));
    assert_eq!(call().await.unwrap().number, 1);

    pass(secs(6)).await;
    assert_eq!(call().await.unwrap().number, 1);
    settle().await;
    assert_eq!(DROPPED.swap(0, SeqCst), 1, "replaced by the refresh");
    assert_eq!(call().await.unwrap().number, 2);

    world.next(Act::Fail);
    pass(secs(20)).await;
    let callers: Vec<_> = (0..5).map(|_| tokio::spawn(mine(Arc::clone(&world)))).collect();
    for caller in callers {
        assert_eq!(soon(caller).await.unwrap().unwrap_err(), Failed("down".into()));
    }
    assert_eq!(DROPPED.swap(0, SeqCst), 1, "removed by an error that is no outage");

    world.next(Act::Answer);
    assert_eq!(call().await.unwrap().number, 4);
    catch_unwind(AssertUnwindSafe(|| drop(mine_entry().invalidate()))).unwrap_err();
    assert_eq!(DROPPED.swap(0, SeqCst), 1, "invalidated: the panic is that of the one who did it");
    assert_eq!(mine_entry().state(), None);

    assert_eq!(call().await.unwrap().number, 5);
    catch_unwind(AssertUnwindSafe(|| drop(mine_entry().insert(Mine::new(0))))).unwrap_err();
    assert_eq!(DROPPED.swap(0, SeqCst), 1, "replaced by what was planted");
    assert_eq!(call().await.unwrap().number, 0);
    assert_eq!(mine_cache().stats().in_flight, 0);
}

/// The load that evicts serves its callers, whatever the evicted value does.
#[tokio::test(start_paused = true)]
async fn p7_drop_of_an_evicted_value_panics() {
    #[derive(Clone)]
    struct Bomb(Arc<()>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(Arc::strong_count(&self.0) > 1, "the last one");
        }
    }
    #[stampede_cached(ttl = 60, capacity = 1)]
    async fn bomb(key: u64) -> Bomb {
        Bomb(Arc::new(()))
    }

    for key in 0..5 {
        let callers: Vec<_> = (0..3).map(|_| tokio::spawn(bomb(key))).collect();
        for caller in callers {
            soon(caller).await.unwrap();
        }
    }
    let stats = bomb_cache().stats();
    assert_eq!((stats.entries, stats.evictions, stats.in_flight, stats.panics), (1, 4, 0, 0));
}
