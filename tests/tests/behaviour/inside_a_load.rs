//! What a loader may say about its own load: `load::ttl`, `no_store`, `tag`, `reason`, `previous`.

use stampede_runtime::{CacheMode, Freshness, load, load::Reason, stampede_cached};
use stampede_tests::{Gate, Runs, soon};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{spawn, task::yield_now, time::advance};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn the_loader_bounds_the_lifetime() {
    static RUNS: Runs = Runs::new();

    #[stampede_cached(ttl = 100, ttl_of = |_| Some(Duration::from_secs(50)))]
    async fn page(id: u64) -> u64 {
        let run = RUNS.begin();
        load::ttl(Duration::from_secs(30));
        load::ttl(Duration::from_secs(id));
        run.number
    }

    assert_eq!(page(10).await, 1);
    advance(9 * SECOND).await;
    assert_eq!(page(10).await, 1);
    advance(2 * SECOND).await;
    assert_eq!(page(10).await, 2, "the shorter of two bounds counts, and it beats `ttl_of`");
    assert_eq!(page(90).await, 3);
    advance(29 * SECOND).await;
    assert_eq!(page(90).await, 3);
    advance(2 * SECOND).await;
    assert_eq!(page(90).await, 4);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_to_be_stored_is_given_and_removes_the_old_value() {
    static RUNS: Runs = Runs::new();

    #[stampede_cached(ttl = 100, stale = 100)]
    async fn page() -> u64 {
        let run = RUNS.begin();
        if run.number > 1 {
            load::no_store();
            load::ttl(Duration::from_secs(60));
        }
        run.number
    }

    assert_eq!(page().await, 1);
    assert_eq!(CacheMode::Refresh.enter(page()).await, 2);
    assert_eq!(page_entry().state(), None);
    assert_eq!(page().await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_tag_from_inside_is_a_tag() {
    static RUNS: Runs = Runs::new();

    #[stampede_cached(ttl = 100, tags = ["pages"])]
    async fn page(id: u64) -> u64 {
        load::tag(format!("author:{}", id % 10));
        RUNS.begin().number
    }

    page(1).await;
    page(2).await;
    page_cache().invalidate_tag("author:1").await;
    assert_eq!((page_entry(1).state(), page_entry(2).state()), (None, Some(Freshness::Fresh)));
    page_cache().invalidate_tag("pages").await;
    assert_eq!(page_entry(2).state(), None);
}

/// P5, where the tag is not known when it is invalidated: who calls after that gets no earlier value.
#[tokio::test(start_paused = true)]
async fn a_tag_that_is_said_after_its_invalidation_is_invalidated() {
    static SOURCE: AtomicU32 = AtomicU32::new(1);
    static READ: Gate = Gate::new();

    #[stampede_cached(ttl = 100)]
    async fn page() -> u32 {
        let read = SOURCE.load(SeqCst);
        READ.pass().await;
        load::tag("late");
        read
    }

    let before = spawn(page());
    soon(READ.arrival()).await;
    SOURCE.store(2, SeqCst);
    page_cache().invalidate_tag("late").await;
    let after = spawn(page());
    yield_now().await;
    READ.open(2);
    assert_eq!(soon(before).await.unwrap(), 1, "a caller from before is served");
    assert_eq!(soon(after).await.unwrap(), 2);
    assert_eq!(page().await, 2);
}

/// The first invalidation after the load began counts, not the last.
#[tokio::test(start_paused = true)]
async fn who_calls_between_two_invalidations_gets_no_value_from_before_the_first() {
    static SOURCE: AtomicU32 = AtomicU32::new(1);
    static READ: Gate = Gate::new();

    #[stampede_cached(ttl = 100)]
    async fn page() -> u32 {
        let read = SOURCE.load(SeqCst);
        READ.pass().await;
        load::tag("late");
        read
    }

    let before = spawn(page());
    soon(READ.arrival()).await;
    SOURCE.store(2, SeqCst);
    page_cache().invalidate_tag("late").await;
    let between = spawn(page());
    yield_now().await;
    page_cache().invalidate_tag("late").await;
    READ.open(2);
    assert_eq!(soon(before).await.unwrap(), 1);
    assert_eq!(soon(between).await.unwrap(), 2);
}

/// The number of a tag is dropped when no older flight is left: a later load is not held against it.
#[tokio::test(start_paused = true)]
async fn a_load_that_begins_after_the_invalidation_is_stored() {
    #[stampede_cached(ttl = 100)]
    async fn page() -> u32 {
        load::tag("t");
        7
    }

    page().await;
    page_cache().invalidate_tag("t").await;
    assert_eq!(page_entry().state(), None);
    page().await;
    assert_eq!(page_entry().state(), Some(Freshness::Fresh));
}

#[tokio::test(start_paused = true)]
async fn the_loader_learns_why_it_runs() {
    static REASONS: Mutex<Vec<Option<Reason>>> = Mutex::new(Vec::new());

    #[stampede_cached(ttl = 100, early = 50)]
    async fn page() {
        REASONS.lock().unwrap().push(load::reason());
    }

    page().await;
    advance(60 * SECOND).await;
    page().await;
    yield_now().await;
    CacheMode::Refresh.enter(page()).await;
    CacheMode::Bypass.enter(page()).await;
    let (miss, refresh, forced) = (Some(Reason::Miss), Some(Reason::Refresh), Some(Reason::Forced));
    assert_eq!(*REASONS.lock().unwrap(), [miss, refresh, forced, forced]);
    assert_eq!(load::reason(), None);
    load::no_store();
    load::tag("outside of a load nothing happens");
}

/// A conditional refresh: the value comes with an `ETag`, and the source says whether it has changed.
#[tokio::test(start_paused = true)]
async fn a_refresh_can_keep_what_it_has() {
    static SENT: Mutex<Vec<Option<u32>>> = Mutex::new(Vec::new());

    #[derive(Clone, Debug, PartialEq)]
    struct Page {
        etag: u32,
    }

    #[stampede_cached(ttl = 100, early = 50)]
    async fn page(id: u32) -> Result<Page, String> {
        assert_eq!(load::previous::<u8>(), None, "of another type there is none");
        let previous = load::previous::<Page>();
        SENT.lock().unwrap().push(previous.as_ref().map(|page| page.etag));
        Ok(previous.unwrap_or(Page { etag: id }))
    }

    let first = page(7).await;
    advance(60 * SECOND).await;
    assert_eq!(page(7).await, first);
    yield_now().await;
    assert_eq!(page_entry(7).state(), Some(Freshness::Fresh), "it is renewed");
    assert_eq!(page(7).await, first);
    assert_eq!(*SENT.lock().unwrap(), [None, Some(7)]);
}
