//! P7: a panic of the loader or of a callback hangs nobody; every caller of that flight sees it, nothing is stored, and
//! the next call loads again.

use crate::world::{Failed, World, message, pass, secs};
use stampede_runtime::{CacheMode, SharedError, stampede_cached};
use stampede_tests::{Runs, settle, soon};
use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::Duration,
};

/// Makes a callback panic as long as it is lit.
struct Fuse(AtomicBool);

impl Fuse {
    const fn new() -> Self {
        Self(AtomicBool::new(true))
    }

    fn burn(&self, name: &str) {
        assert!(!self.0.load(SeqCst), "{name} went off");
    }

    fn douse(&self) {
        self.0.store(false, SeqCst);
    }

    fn light(&self) {
        self.0.store(true, SeqCst);
    }
}

/// Five callers at once see the panic of `name`.
async fn all_see<F: Future<Output: Send + std::fmt::Debug> + Send + 'static>(name: &str, call: impl Fn() -> F) {
    let callers: Vec<_> = (0..5).map(|_| tokio::spawn(call())).collect();
    for caller in callers {
        let panic = soon(caller).await.unwrap_err().into_panic();
        assert_eq!(message(&*panic), format!("{name} went off"));
    }
}

macro_rules! callback_panics {
    ($($test:ident: $name:literal, $($arg:ident = $value:expr),* => $body:expr;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $test() {
            static FUSE: Fuse = Fuse::new();
            static RUNS: Runs = Runs::new();
            #[allow(dead_code)]
            fn burn() {
                FUSE.burn($name);
            }
            #[stampede_cached(ttl = 60, $($arg = $value),*)]
            async fn call() -> Result<u64, Failed> {
                let run = RUNS.begin();
                tokio::task::yield_now().await;
                let body: fn(u64) -> Result<u64, Failed> = $body;
                body(run.number)
            }

            all_see($name, call).await;
            assert_eq!(RUNS.count(), 1, "one load for all of them");
            assert_eq!(call_entry().state(), None);
            FUSE.douse();
            let _ = soon(call()).await;
            assert_eq!(RUNS.count(), 2, "the next call loads again");
            let stats = call_cache().stats();
            assert_eq!((stats.loads, stats.panics, stats.in_flight), (2, 1, 0));
        }
    )*};
}

callback_panics! {
    p7_the_loader_panics: "loader", jitter = 0 => |run| { burn(); Ok(run) };
    p7_ttl_of_panics: "ttl_of", ttl_of = |_: &u64| -> Option<Duration> { burn(); None } => Ok;
    p7_weight_panics: "weight", capacity = 10, weight = |_: &u64| { burn(); 1 } => Ok;
    p7_outage_panics: "outage", outage = |_: &Failed| { burn(); true } => |_| Err(Failed(String::new()));
}

/// `share_err` runs for each caller: each sees its own panic, and the load was no panic.
#[tokio::test(start_paused = true)]
async fn p7_share_err_panics() {
    static FUSE: Fuse = Fuse::new();
    static RUNS: Runs = Runs::new();
    #[derive(Debug)]
    struct Mine(String);
    #[stampede_cached(ttl = 60, share_err = |error: SharedError| { FUSE.burn("share_err"); Mine(error.to_string()) })]
    async fn call() -> Result<u64, Mine> {
        let _run = RUNS.begin();
        Err(Mine("down".into()))
    }

    all_see("share_err", call).await;
    assert_eq!(RUNS.count(), 1);
    FUSE.douse();
    assert!(soon(call()).await.unwrap_err().0.contains("down"));
    assert_eq!(RUNS.count(), 2);
}

/// The error that a timeout becomes is made by the user's code too, and nowhere near a caller.
#[tokio::test(start_paused = true)]
async fn p7_making_the_timeouts_error_panics() {
    static FUSE: Fuse = Fuse::new();
    #[derive(Clone, Debug)]
    struct Mine;
    impl From<SharedError> for Mine {
        fn from(_: SharedError) -> Self {
            FUSE.burn("from");
            Self
        }
    }
    #[stampede_cached(ttl = 60, timeout = 5)]
    async fn call() -> Result<u64, Mine> {
        std::future::pending().await
    }

    all_see("from", call).await;
    FUSE.douse();
    soon(call()).await.unwrap_err();
    let stats = call_cache().stats();
    assert_eq!((stats.timeouts, stats.in_flight), (2, 0));
}

/// An error that is stored is cloned for it.
#[tokio::test(start_paused = true)]
async fn p7_clone_of_the_error_panics() {
    static FUSE: Fuse = Fuse::new();
    static RUNS: Runs = Runs::new();
    #[derive(Debug)]
    struct Mine;
    impl Clone for Mine {
        fn clone(&self) -> Self {
            FUSE.burn("clone");
            Self
        }
    }
    #[stampede_cached(ttl = 60, err_ttl = 10)]
    async fn call() -> Result<u64, Mine> {
        let _run = RUNS.begin();
        Err(Mine)
    }

    all_see("clone", call).await;
    FUSE.douse();
    soon(call()).await.unwrap_err();
    soon(call()).await.unwrap_err();
    assert_eq!(RUNS.count(), 2, "it was not stored before");
}

#[tokio::test(start_paused = true)]
async fn p7_clone_of_the_value_panics() {
    static FUSE: Fuse = Fuse::new();
    static RUNS: Runs = Runs::new();
    #[derive(Debug)]
    struct Mine(u64);
    impl Clone for Mine {
        fn clone(&self) -> Self {
            FUSE.burn("clone");
            Self(self.0)
        }
    }
    #[stampede_cached(ttl = 10, early = 5, stale_if_error = 50)]
    async fn call() -> Mine {
        Mine(RUNS.begin().number)
    }

    all_see("clone", call).await;
    FUSE.douse();
    assert_eq!(soon(call()).await.0, 2);
    FUSE.light();
    all_see("clone", call).await;
    assert_eq!(RUNS.count(), 2, "a hit");
    pass(secs(6)).await;
    all_see("clone", call).await;
    FUSE.douse();
    soon(call()).await;
    settle().await;
    assert_eq!(RUNS.count(), 3, "a hit that panicked before it could refresh did not use the refresh up");
    FUSE.light();
    pass(secs(10)).await;
    // A miss, whose load ends with a panic, for which an old value would stand in, but for its clone.
    all_see("clone", call).await;
    FUSE.douse();
    assert!(soon(call()).await.0 >= 3);
}

/// Evaluated by each call, in its own task.
#[tokio::test(start_paused = true)]
async fn p7_the_key_expression_panics() {
    static FUSE: Fuse = Fuse::new();
    fn part(n: u64) -> u64 {
        FUSE.burn("key");
        n
    }
    #[stampede_cached(ttl = 60, key = part(n))]
    async fn call(n: u64) -> u64 {
        n
    }

    all_see("key", || call(1)).await;
    FUSE.douse();
    assert_eq!(soon(call(1)).await, 1);
}

/// Evaluated by each call that misses or begins a refresh. A call that has its answer is not to suffer from it, and
/// another refresh begins after the pause.
#[tokio::test(start_paused = true)]
async fn p7_the_tags_panic() {
    static FUSE: Fuse = Fuse::new();
    static RUNS: Runs = Runs::new();
    fn tag() -> &'static str {
        FUSE.burn("tags");
        "tag"
    }
    #[stampede_cached(ttl = 60, early = 30, tags = [tag()])]
    async fn call() -> u64 {
        RUNS.begin().number
    }

    all_see("tags", call).await;
    assert_eq!(RUNS.count(), 0);
    FUSE.douse();
    assert_eq!(soon(call()).await, 1);
    pass(secs(31)).await;
    FUSE.light();
    assert_eq!(soon(call()).await, 1);
    FUSE.douse();
    assert_eq!(soon(call()).await, 1);
    settle().await;
    assert_eq!((soon(call()).await, RUNS.count()), (1, 1), "in the pause no refresh begins");
    pass(secs(2)).await;
    assert_eq!(soon(call()).await, 1);
    settle().await;
    assert_eq!(soon(call()).await, 2);
}

/// A panic hits neither other keys nor other loads of the cache.
#[tokio::test(start_paused = true)]
async fn p7_a_panic_stays_with_its_key() {
    #[stampede_cached(ttl = 60, skip(world))]
    async fn read(world: std::sync::Arc<World>, key: u64) -> u64 {
        world.read().await;
        assert!(key != 3, "three");
        key
    }

    let world = World::new();
    let callers: Vec<_> = (0..6).map(|key| tokio::spawn(read(world.clone(), key))).collect();
    settle().await;
    world.gate.open(6);
    for (key, caller) in (0..).zip(callers) {
        match soon(caller).await {
            Ok(answer) => assert_eq!(answer, key),
            Err(error) => assert_eq!(message(&*error.into_panic()), "three"),
        }
    }
    assert_eq!(read_cache().stats().entries, 5);
}

/// The key's own code runs where the flight lands as well, beside the value that is to be replaced.
#[tokio::test(start_paused = true)]
async fn p7_eq_of_the_key_panics() {
    static FUSE: Fuse = Fuse::new();
    #[derive(Clone, Debug, Eq)]
    struct Part(u64);
    impl std::hash::Hash for Part {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }
    impl PartialEq for Part {
        fn eq(&self, other: &Self) -> bool {
            FUSE.burn("eq");
            self.0 == other.0
        }
    }
    #[stampede_cached(ttl = 60, skip(world))]
    async fn read(world: std::sync::Arc<World>, part: Part) -> u64 {
        world.read().await
    }

    FUSE.douse();
    let world = World::new();
    read_entry(Part(1)).insert(7).await;
    let caller = tokio::spawn(CacheMode::Refresh.enter(read(world.clone(), Part(1))));
    soon(world.gate.arrival()).await;
    FUSE.light();
    world.gate.open(1);
    assert!(soon(caller).await.unwrap_err().is_panic(), "it does not hang");
    FUSE.douse();
    assert_eq!(soon(read(world.clone(), Part(1))).await, 7, "nothing is stored");
    world.gate.open(1);
    assert_eq!(soon(CacheMode::Refresh.enter(read(world, Part(1)))).await, 1, "the next load is stored again");
    assert_eq!(read_cache().stats().in_flight, 0);
}
