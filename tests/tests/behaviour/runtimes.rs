//! Where loads can run: without tokio, without its time, on a `LocalSet`, in one runtime after another.

use crate::world::{Act, Failed, World, panic_of};
use stampede_runtime::{Cache, CacheMode, Run, SharedError, stampede_cached};
use stampede_tests::{Gate, Runs};
use std::{cell::Cell, rc::Rc, sync::Arc, sync::mpsc, thread, time::Duration};
use tokio::{runtime::Builder, task::LocalSet};

/// Runs `test` on a thread of its own, and not for ever.
fn ends<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, end) = mpsc::channel();
    let thread = thread::spawn(move || done.send(test()));
    match end.recv_timeout(Duration::from_secs(60)) {
        Ok(output) => output,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => std::panic::resume_unwind(thread.join().unwrap_err()),
    }
}

#[test]
fn without_a_tokio_runtime_loads_run_in_the_caller() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 60)]
    async fn value(key: u64) -> u64 {
        let run = RUNS.begin();
        GATE.pass().await;
        key * 100 + run.number
    }

    ends(|| {
        let callers: Vec<_> = (0..4).map(|_| thread::spawn(|| futures::executor::block_on(value(7)))).collect();
        futures::executor::block_on(GATE.arrival());
        while value_cache().stats().coalesced < 3 {
            thread::yield_now();
        }
        GATE.open(1);
        for caller in callers {
            assert_eq!(caller.join().unwrap(), 701);
        }
        assert_eq!(futures::executor::block_on(value(7)), 701);
        assert_eq!(RUNS.count(), 1);
    });
}

/// A leader that is dropped is replaced by a follower, as with `in_caller`.
#[test]
fn without_a_tokio_runtime_a_dropped_leader_is_replaced() {
    #[stampede_cached(ttl = 60, skip(world))]
    async fn read(world: Arc<World>) -> u64 {
        world.read().await
    }

    ends(|| {
        let world = World::new();
        let mut leader = Box::pin(read(Arc::clone(&world)));
        let waker = futures::task::noop_waker();
        assert!(leader.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
        let follower = {
            let world = Arc::clone(&world);
            thread::spawn(move || futures::executor::block_on(read(world)))
        };
        while read_cache().stats().coalesced < 1 {
            thread::yield_now();
        }
        drop(leader);
        world.gate.open(1);
        assert_eq!(follower.join().unwrap(), 1);
        assert_eq!(world.runs.count(), 2);
    });
}

macro_rules! deadlines {
    ($($test:ident: $block_on:expr;)*) => {$(
        /// Real time, but nothing is measured: the one deadline must come, and it does.
        #[test]
        fn $test() {
            #[stampede_cached(ttl = 60, timeout = "20ms", skip(world))]
            async fn play(world: Arc<World>) -> Result<u64, Failed> {
                world.play().await
            }
            #[stampede_cached(ttl = 60, lead_after = "20ms", run = "in_caller", skip(world))]
            async fn here(world: Arc<World>) -> Result<u64, Failed> {
                world.play().await
            }

            ends(|| {
                let block_on = $block_on;
                let world = World::new();
                world.next(Act::Hang);
                block_on(Box::pin(async move {
                    assert!(play(Arc::clone(&world)).await.unwrap_err().0.contains("timeout"));
                    let mut parked = Box::pin(here(Arc::clone(&world)));
                    assert!(futures::poll!(&mut parked).is_pending());
                    world.next(Act::Answer);
                    assert_eq!(here(world).await, Ok(3), "the parked leader is replaced");
                }));
                assert_eq!((play_cache().stats().timeouts, here_cache().stats().direct), (1, 1));
            });
        }
    )*};
}

type Test = futures::future::BoxFuture<'static, ()>;

deadlines! {
    deadlines_without_a_tokio_runtime: |test: Test| futures::executor::block_on(test);
    deadlines_in_a_runtime_without_time: |test: Test| Builder::new_current_thread().build().unwrap().block_on(test);
    deadlines_in_a_runtime_with_time:
        |test: Test| Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn in_a_runtime_without_time_loads_and_refreshes_run_as_ever() {
    #[stampede_cached(ttl = 3_600, early = 1_800, jitter = 60, skip(world))]
    async fn play(world: Arc<World>) -> Result<u64, Failed> {
        world.play().await
    }

    ends(|| {
        let world = World::new();
        for runtime in [Builder::new_current_thread(), Builder::new_multi_thread()] {
            let mut runtime = runtime;
            let runtime = runtime.build().unwrap();
            let (first, second) = runtime.block_on(async {
                let first = play(Arc::clone(&world)).await;
                (first, CacheMode::Refresh.enter(play(Arc::clone(&world))).await)
            });
            assert!(second.unwrap() > first.unwrap());
        }
        assert_eq!(world.runs.count(), 3, "what one runtime loaded, the next finds");
    });
}

/// What is in memory outlives the runtime that loaded it, and so does the cache.
#[test]
fn several_runtimes_one_after_another() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 3_600)]
    async fn value(key: u64) -> u64 {
        RUNS.begin().number
    }

    ends(|| {
        for round in 0..5 {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            assert_eq!(runtime.block_on(value(0)), 1);
            assert_eq!(runtime.block_on(value(100 + round)), round + 2);
        }
    });
}

/// A load that was left behind in a runtime that is gone does not block its key.
#[test]
fn a_load_that_went_with_its_runtime_is_led_anew() {
    #[stampede_cached(ttl = 3_600, skip(world))]
    async fn read(world: Arc<World>) -> u64 {
        world.read().await
    }

    ends(|| {
        let world = World::new();
        let build = || Builder::new_current_thread().enable_all().build().unwrap();
        let first = build();
        first.spawn(read(Arc::clone(&world)));
        first.block_on(world.gate.arrival());
        drop(first);
        world.gate.open(1);
        assert_eq!(build().block_on(read(Arc::clone(&world))), 1);
        let stats = read_cache().stats();
        assert_eq!((stats.abandoned, stats.loads, stats.in_flight), (1, 2, 0));
    });
}

/// A refresh that went with its runtime leaves the old value, and the next refresh begins after the pause.
#[test]
fn a_refresh_that_went_with_its_runtime_is_not_the_last() {
    #[stampede_cached(ttl = 3_600, early = "3599990ms", backoff = "1ms", skip(world))]
    async fn read(world: Arc<World>) -> u64 {
        world.read().await
    }

    ends(|| {
        let world = World::new();
        let build = || Builder::new_current_thread().enable_all().start_paused(false).build().unwrap();
        let first = build();
        world.gate.open(1);
        first.block_on(read(Arc::clone(&world)));
        // Early from the first moments on; the refresh hangs at the gate.
        first.block_on(async {
            world.gate.arrival().await;
            while read_cache().stats().refreshes == 0 {
                read(Arc::clone(&world)).await;
                tokio::task::yield_now().await;
            }
            world.gate.arrival().await;
        });
        drop(first);
        assert_eq!(read_cache().stats().abandoned, 1);
        build().block_on(async {
            while read_cache().stats().refreshes == 1 {
                read(Arc::clone(&world)).await;
                tokio::task::yield_now().await;
            }
            world.gate.arrival().await;
            world.gate.open(1);
        });
    });
}

#[tokio::test]
async fn on_a_local_set() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn value(key: u64) -> u64 {
        RUNS.begin();
        tokio::task::yield_now().await;
        key
    }
    // Neither the future nor the argument can leave the thread.
    #[stampede_cached(ttl = 60, run = "in_caller", skip(count))]
    async fn local(count: &Rc<Cell<u64>>) -> u64 {
        let count = Rc::clone(count);
        tokio::task::spawn_local(async move {
            count.set(count.get() + 1);
            count.get()
        })
        .await
        .unwrap()
    }

    let local_set = LocalSet::new();
    let run = local_set.run_until(async {
        let callers: Vec<_> = (0..10).map(|_| tokio::task::spawn_local(value(3))).collect();
        for caller in callers {
            assert_eq!(caller.await.unwrap(), 3);
        }
        let count = Rc::new(Cell::new(0));
        for _ in 0..3 {
            assert_eq!(local(&count).await, 1);
        }
    });
    stampede_tests::soon(run).await;
    assert_eq!(RUNS.count(), 1);
}

/// The runtime without the attribute, in the caller's task and in no runtime.
#[test]
fn a_cache_by_hand_runs_anywhere() {
    ends(|| {
        let cache: Cache<u64, u64> =
            Cache::builder("by hand").ttl(Duration::from_secs(60)).run(Run::InCaller).build().unwrap();
        let load = |value| async move { Ok::<_, SharedError>(value) };
        assert_eq!(futures::executor::block_on(cache.get_or_load(&1, || load(5))).unwrap(), 5);
        let runtime = Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(cache.get_or_load(&1, || load(6))).unwrap(), 5);
    });
}

/// The load's runtime is shut down under a caller that lives elsewhere, whose arguments went with it.
#[test]
fn the_caller_of_a_lost_load_is_told() {
    #[stampede_cached(ttl = 60, skip(world))]
    async fn told(world: Arc<World>) -> anyhow::Result<u64> {
        Ok(world.read().await)
    }
    #[stampede_cached(ttl = 60, skip(world))]
    async fn plain(world: Arc<World>) -> u64 {
        world.read().await
    }

    ends(|| {
        let world = World::new();
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let call = |block_on: fn(Arc<World>) -> String| {
            let (world, handle) = (Arc::clone(&world), runtime.handle().clone());
            thread::spawn(move || {
                let _inside = handle.enter();
                block_on(world)
            })
        };
        let callers = [
            call(|world| futures::executor::block_on(told(world)).unwrap_err().to_string()),
            call(|world| futures::executor::block_on(panic_of(plain(world)))),
        ];
        for _ in 0..2 {
            futures::executor::block_on(world.gate.arrival());
        }
        runtime.shutdown_background();
        for caller in callers {
            assert_eq!(caller.join().unwrap(), "the runtime that ran the load was shut down");
        }
    });
}
