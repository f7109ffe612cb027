//! No lock is held where a value, an error or a key is dropped: its `Drop` may use the cache that held it.

use stampede_runtime::{CacheMode, CacheScope, Entry, Stats, stampede_cached};
use stampede_tests::{Gate, in_a_minute, soon, wait_until};
use std::{
    cell::Cell,
    future::pending,
    mem::ManuallyDrop,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    time::Duration,
};

/// A key, a value and an error that uses its cache when it is dropped, with all of the cache's locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct User(u32);

static USES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

impl Drop for User {
    fn drop(&mut self) {
        // What it drops in turn only goes.
        if !BUSY.replace(true) {
            drop(f_cache().clear());
            USES.fetch_add(1, SeqCst);
            BUSY.set(false);
        }
    }
}

/// What a load does.
#[derive(Clone, Copy)]
enum Load {
    Answer(u32),
    Fail,
    Panic,
    Pass,
    Hang,
}

static GATE: Gate = Gate::new();

#[stampede_cached(
    ttl = 3600, stale = 3600, err_ttl = 3600, capacity = 10, weight = |value: &User| value.0, outage = |_: &User| false,
    ttl_of = |value: &User| (value.0 == 9).then_some(Duration::ZERO), tags = ["tag"], run = "cancellable",
    skip(load)
)]
async fn f(key: User, load: Load) -> Result<User, User> {
    // A load that drops its key clears the cache, and is too late then.
    let key = ManuallyDrop::new(key);
    match load {
        Load::Answer(weight) => Ok(User(weight)),
        Load::Fail => Err(User(key.0)),
        Load::Panic => panic!("drops: the load panics"),
        Load::Pass => {
            GATE.pass().await;
            Ok(User(key.0))
        }
        Load::Hang => pending().await,
    }
}

/// Does something in which drops only drop.
fn quiet<T>(work: impl FnOnce() -> T) -> T {
    BUSY.set(true);
    let result = work();
    BUSY.set(false);
    result
}

fn entry(key: u32) -> Entry<'static, User> {
    quiet(|| f_entry(User(key)))
}

fn refresh(key: u32, load: Load) -> impl Future<Output = Result<User, User>> {
    CacheMode::Refresh.enter(f(User(key), load))
}

/// Runs one way in which something is dropped, and checks that it went that way.
async fn dropped(way: &str, run: impl AsyncFnOnce(), went: fn(&Stats, &Stats) -> bool) {
    BUSY.set(true);
    drop(f_cache().clear());
    for key in 1..4 {
        drop(refresh(key, Load::Answer(1)).await);
    }
    BUSY.set(false);
    let (before, uses) = (f_cache().stats(), USES.load(SeqCst));
    soon(run()).await;
    wait_until(|| USES.load(SeqCst) > uses);
    let after = f_cache().stats();
    assert!(went(&before, &after), "{way}: {before:?}, then {after:?}");
}

async fn all_ways() {
    let changed = |before: &Stats, after: &Stats| after.invalidations > before.invalidations && before.entries == 3;
    let loaded = |before: &Stats, after: &Stats| after.loads > before.loads && after.refused == before.refused;
    let failed = |before: &Stats, after: &Stats| after.errors > before.errors && after.refused == before.refused;

    dropped("insert", async || drop(entry(1).insert(User(1))), changed).await;
    dropped("invalidate", async || drop(entry(1).invalidate()), changed).await;
    dropped("a tag", async || drop(f_cache().invalidate_tag("tag")), changed).await;
    dropped("clear", async || drop(f_cache().clear()), changed).await;
    dropped("a load in its place", async || drop(refresh(1, Load::Answer(2)).await), loaded).await;
    dropped("a load that is not stored", async || drop(refresh(1, Load::Answer(9)).await), loaded).await;
    dropped("an error in its place", async || drop(refresh(1, Load::Fail).await), failed).await;
    dropped("bypass", async || drop(CacheMode::Bypass.enter(f(User(1), Load::Answer(1))).await), loaded).await;
    let too_heavy = |before: &Stats, after: &Stats| after.too_heavy > before.too_heavy;
    dropped("too heavy", async || drop(refresh(1, Load::Answer(11)).await), too_heavy).await;
    let evicted = |before: &Stats, after: &Stats| after.evictions > before.evictions;
    dropped("evicted", async || drop(refresh(5, Load::Answer(10)).await), evicted).await;
    let panicked = |before: &Stats, after: &Stats| after.panics > before.panics;
    dropped("a panic", async || drop(tokio::spawn(refresh(1, Load::Panic)).await), panicked).await;
    dropped("given up", give_up, |before, after| after.abandoned > before.abandoned).await;
    dropped("too late", come_too_late, |before, after| after.refused > before.refused).await;
}

async fn give_up() {
    let call = tokio::spawn(f(User(7), Load::Hang));
    tokio::task::yield_now().await;
    call.abort();
    drop(call.await);
}

async fn come_too_late() {
    let call = tokio::spawn(f(User(7), Load::Pass));
    GATE.arrival().await;
    drop(entry(7).invalidate());
    GATE.open(1);
    drop(call.await);
}

#[test]
fn whatever_way_it_goes() {
    in_a_minute(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(all_ways());
    });
}

/// A value that uses its cache when it is dropped by the sweeper.
#[derive(Clone)]
struct Swept;

static SWEPT: AtomicU64 = AtomicU64::new(0);

impl Drop for Swept {
    fn drop(&mut self) {
        if std::thread::current().name() == Some("stampede-timekeeper") {
            drop(swept_cache().clear());
            SWEPT.fetch_add(1, SeqCst);
        }
    }
}

#[stampede_cached(ttl = 3600)]
async fn swept(key: u32) -> Swept {
    let _ = key;
    Swept
}

#[tokio::test]
async fn by_the_sweeper() {
    for key in 0..100 {
        swept(key).await;
    }
    swept_cache().expire().await;
    wait_until(|| SWEPT.load(SeqCst) == 100);
}

/// A value that uses its cache when its scope is dropped.
#[derive(Clone)]
struct Scoped;

static LEAVING: AtomicBool = AtomicBool::new(false);
static SCOPED: AtomicU64 = AtomicU64::new(0);

impl Drop for Scoped {
    fn drop(&mut self) {
        if LEAVING.load(SeqCst) {
            drop(scoped_cache().clear());
            SCOPED.fetch_add(1, SeqCst);
        }
    }
}

#[stampede_cached(ttl = 3600)]
async fn scoped(key: u32) -> Scoped {
    let _ = key;
    Scoped
}

#[test]
fn with_its_scope() {
    in_a_minute(|| {
        let scope = CacheScope::new();
        let guard = scope.guard();
        futures::executor::block_on(async {
            for key in 0..100 {
                scoped(key).await;
            }
        });
        LEAVING.store(true, SeqCst);
        drop(scope);
        assert_eq!(SCOPED.load(SeqCst), 0, "the guard holds the scope");
        drop(guard);
        assert_eq!(SCOPED.load(SeqCst), 100);
    });
}
