//! `Cache::builder`: the runtime without the attribute.

use futures::{FutureExt, future::join_all};
use stampede_runtime::{Cache, CacheBuilder, Extent, Freshness, Policy, Run, SharedError, caches};
use stampede_tests::{Gate, Runs, soon, until};
use std::{convert::Infallible, error::Error, future::ready, io, sync::Arc, time::Duration};
use tokio::time::advance;

const MINUTE: Duration = Duration::from_secs(60);

fn named(name: &str) -> CacheBuilder<String, u64> {
    Cache::builder(name).ttl(MINUTE)
}

fn ok(value: u64) -> impl Future<Output = Result<u64, Infallible>> {
    ready(Ok(value))
}

#[tokio::test(start_paused = true)]
async fn keys_are_given_borrowed() {
    let texts = named("borrowed texts").build().expect("a policy");
    let owned = String::from("a");
    assert_eq!(texts.get_or_load("a", || ok(1)).await.expect("a value"), 1);
    assert_eq!(texts.get_or_load(&*owned, || ok(2)).await.expect("a value"), 1);
    assert_eq!(texts.get_or_load("b", || ok(3)).await.expect("a value"), 3);
    assert_eq!(texts.entry("a").get().await, Some(1));

    let lists = Cache::<Vec<u32>, u64>::builder("borrowed lists").ttl(MINUTE).build().expect("a policy");
    let owned = Vec::from([1, 2, 3]);
    assert_eq!(lists.get_or_load(&[1, 2, 3][..], || ok(1)).await.expect("a value"), 1);
    assert_eq!(lists.get_or_load(&owned[..], || ok(2)).await.expect("a value"), 1);
    assert_eq!(lists.get_or_load(&owned[1..], || ok(3)).await.expect("a value"), 3);
    assert_eq!(lists.handle().len(), 2);

    let pairs = Cache::<(u32, String), u64>::builder("owned pairs").ttl(MINUTE).build().expect("a policy");
    assert_eq!(pairs.get_or_load(&(1, String::from("a")), || ok(1)).await.expect("a value"), 1);
    assert_eq!(pairs.entry(&(1, String::from("a"))).get().await, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_callers_share_one_load() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    let cache = named("shared").build().expect("a policy");
    let call = |cache: Cache<String, u64>| async move {
        let load = || async {
            let run = RUNS.begin();
            GATE.pass().await;
            Ok::<_, Infallible>(run.number)
        };
        cache.get_or_load("a", load).await.expect("a value")
    };

    let calls: Vec<_> = (0..1_000).map(|_| tokio::spawn(call(cache.clone()))).collect();
    let handle = cache.handle();
    until(|| handle.stats().misses == 1_000).await;
    GATE.open(1);
    assert!(soon(join_all(calls)).await.into_iter().all(|value| value.is_ok_and(|value| value == 1)));
    assert_eq!((RUNS.count(), handle.stats().loads, handle.stats().in_flight), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn errors_are_shared_whatever_their_type() {
    static RUNS: Runs = Runs::new();
    let cache = named("errors").build().expect("a policy");
    let call = || {
        cache.get_or_load("a", || async {
            RUNS.begin();
            tokio::task::yield_now().await;
            Err(io::Error::other("disk on fire"))
        })
    };

    for error in soon(join_all((0..100).map(|_| call()))).await {
        let error: SharedError = error.expect_err("an error");
        assert_eq!(error.to_string(), "disk on fire");
        assert!(
            error.downcast_ref::<io::Error>().is_some() && error.source().is_some_and(<dyn Error>::is::<io::Error>)
        );
    }
    assert_eq!((RUNS.count(), cache.handle().stats().errors), (1, 1));
    // An error that is shared already stays as it is.
    let shared = SharedError::new(io::Error::other("first"));
    let error = cache.get_or_load("b", || async { Err(shared) }).await.expect_err("an error");
    assert!(error.source().is_some_and(<dyn Error>::is::<io::Error>));
}

#[tokio::test(start_paused = true)]
async fn callbacks_decide_over_lifetime_and_outage() {
    let builder = named("callbacks").ttl_of(|&value| (value == 5).then_some(Duration::ZERO));
    let cache = builder.stale(MINUTE).outage(|error| error.to_string() == "down").build().expect("a policy");
    let failing = |message| cache.get_or_load("a", move || async move { Err(io::Error::other(message)) });

    assert_eq!(cache.get_or_load("five", || ok(5)).await.expect("a value"), 5);
    assert_eq!(cache.entry("five").state(), None);
    assert_eq!(cache.get_or_load("a", || ok(1)).await.expect("a value"), 1);
    advance(MINUTE).await;
    assert_eq!(failing("down").await.expect("the old value"), 1);
    tokio::task::yield_now().await;
    assert_eq!(cache.entry("a").get().await, Some(1), "an outage: the old value is kept");
    advance(Duration::from_secs(5)).await;
    assert_eq!(failing("gone").await.expect("the old value, while it refreshes"), 1);
    tokio::task::yield_now().await;
    assert_eq!(cache.entry("a").state(), None, "no outage: the old value is gone");
}

#[tokio::test(start_paused = true)]
async fn an_entry_can_be_planted_and_taken_away() {
    let cache = named("entries").stale(MINUTE).build().expect("a policy");
    let entry = cache.entry("a");
    assert_eq!((entry.get().await, entry.state()), (None, None));
    entry.insert(1).await;
    assert_eq!((entry.get().await, entry.state()), (Some(1), Some(Freshness::Fresh)));
    assert_eq!(cache.get_or_load("a", || ok(2)).await.expect("a value"), 1);
    entry.expire().await;
    assert_eq!((entry.get().await, entry.state()), (Some(1), Some(Freshness::Stale)));
    entry.invalidate_if(|&value| value == 2).await;
    assert_eq!(entry.get().await, Some(1));
    entry.invalidate_if(|&value| value == 1).await;
    assert_eq!(entry.get().await, None);
}

#[test]
fn a_policy_that_does_not_hold_together_names_its_field() {
    type Change = fn(CacheBuilder<String, u64>) -> CacheBuilder<String, u64>;
    let cases: [(&str, Change); 12] = [
        ("jitter", |cache| cache.jitter(MINUTE)),
        ("jitter", |cache| cache.jitter(Extent::percent(f64::NAN))),
        ("early", |cache| cache.early(MINUTE)),
        ("stale", |cache| cache.stale(Extent::percent(-1.0))),
        ("stale_if_error", |cache| cache.stale_if_error(Extent::percent(f64::INFINITY))),
        ("timeout", |cache| cache.timeout(Duration::ZERO)),
        ("soft_timeout", |cache| cache.soft_timeout(Duration::from_secs(1))),
        ("capacity", |cache| cache.capacity(0)),
        ("capacity", |cache| cache.weight(|_| 1)),
        ("max_loads", |cache| cache.max_loads(0)),
        ("lead_after", |cache| cache.lead_after(Duration::ZERO)),
        ("beta", |cache| cache.early(Duration::from_secs(1)).beta(0.0)),
    ];
    for (field, change) in cases {
        let error = change(named("bad")).build().expect_err(field);
        assert_eq!(error.field(), field);
        assert!(error.to_string().contains(&format!("`{field}`")), "{error}");
    }
    let error = Cache::<String, u64>::builder("bad").build().expect_err("no ttl");
    assert_eq!(error.field(), "ttl");
}

#[test]
fn a_policy_is_taken_over_and_what_follows_overrides_it() {
    let policy = Policy::builder().ttl(MINUTE).early(Duration::from_secs(5)).capacity(7).run(Run::InCaller).build();
    let cache = named("policy").policy(policy.expect("a policy")).capacity(8).build().expect("a policy");
    let handle = cache.handle();
    let policy = handle.policy();
    assert_eq!((policy.ttl(), policy.early(), policy.capacity()), (MINUTE, Duration::from_secs(5), 8));
    assert_eq!((policy.run(), handle.name()), (Run::InCaller, "policy"));
}

#[test]
fn it_works_without_a_runtime() {
    let cache = named("no runtime").build().expect("a policy");
    for _ in 0..2 {
        let value = futures::executor::block_on(cache.get_or_load("a", || ok(1)));
        assert_eq!(value.expect("a value"), 1);
    }
    assert_eq!(cache.handle().stats().loads, 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_load_is_its_callers() {
    let cache = named("panics").build().expect("a policy");
    let call = |cache: Cache<String, u64>| async move {
        let load = || async { if true { panic!("builder: the load panics") } else { ok(1).await } };
        cache.get_or_load("a", load).await
    };

    for _ in 0..2 {
        let panic = tokio::spawn(call(cache.clone())).await.expect_err("a panic").into_panic();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"builder: the load panics"));
    }
    assert_eq!(cache.get_or_load("a", || ok(1)).await.expect("a value"), 1);
}

#[tokio::test(start_paused = true)]
async fn caches_lists_it_as_long_as_it_lives() {
    let cache = named("listed while it lives").build().expect("a policy");
    cache.entry("a").insert(1).await;
    let listed = caches().get("listed while it lives").cloned().expect("it is listed");
    assert_eq!(listed.len(), 1);
    listed.clear().await;
    assert_eq!(cache.entry("a").get().now_or_never().flatten(), None);
    drop((cache, listed));
    // Another test may look at all caches right now.
    until(|| caches().get("listed while it lives").is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn values_are_let_go_with_the_last_handle() {
    let cache = Cache::<String, Arc<u64>>::builder("let go").ttl(MINUTE).build().expect("a policy");
    let value = Arc::new(1);
    cache.entry("a").insert(Arc::clone(&value)).await;
    let (clone, weak) = (cache.clone(), Arc::downgrade(&value));
    drop((cache, value));
    assert_eq!(clone.entry("a").get().await.as_deref(), Some(&1));
    drop(clone);
    until(|| weak.strong_count() == 0).await;
}
