//! `each`: every element of a batch is an entry of its own, and one run of the body loads what is missing.

use futures::future::join_all;
use stampede_runtime::{CacheScope, SharedError, stampede_cached};
use stampede_tests::{Gate, Runs, soon, until};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Mutex,
    time::Duration,
};

/// What the loaders were asked for, in the order of the asking.
#[derive(Clone, Default)]
struct Db(std::sync::Arc<Mutex<Vec<Vec<u32>>>>);

impl Db {
    fn note(&self, ids: &[u32]) {
        self.0.lock().unwrap().push(ids.to_vec());
    }

    fn asked(&self) -> Vec<Vec<u32>> {
        self.0.lock().unwrap().clone()
    }

    fn how_often(&self) -> HashMap<u32, u32> {
        let mut counts = HashMap::new();
        self.asked().into_iter().flatten().for_each(|id| *counts.entry(id).or_default() += 1);
        counts
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Down;

/// Every id but the multiples of 100.
#[stampede_cached(ttl = 60, early = 10, stale_if_error = 60, none_ttl = 20, each = ids, skip(db), scope = scope)]
async fn users(db: &Db, scope: &CacheScope, lang: &str, ids: &[u32]) -> Result<HashMap<u32, String>, Down> {
    db.note(ids);
    tokio::task::yield_now().await;
    if ids.contains(&13) {
        return Err(Down);
    }
    Ok(ids.iter().filter(|id| *id % 100 != 0).map(|id| (*id, format!("{lang}{id}"))).collect())
}

fn sorted<V: Clone>(found: &HashMap<u32, V>) -> BTreeMap<u32, V> {
    found.iter().map(|(id, value)| (*id, value.clone())).collect()
}

#[tokio::test(start_paused = true)]
async fn only_what_is_missing_is_loaded() {
    let (db, scope) = (Db::default(), CacheScope::new());
    let found = users(&db, &scope, "de", &[1, 2, 2, 1]).await.unwrap();
    assert_eq!(sorted(&found), BTreeMap::from([(1, "de1".into()), (2, "de2".into())]));
    users(&db, &scope, "de", &[2, 3]).await.unwrap();
    users(&db, &scope, "en", &[2]).await.unwrap();
    users(&db, &scope, "de", &[3, 2, 1]).await.unwrap();
    assert_eq!(users(&db, &scope, "de", &[]).await, Ok(HashMap::new()));
    assert_eq!(db.asked(), [vec![1, 2], vec![3], vec![2]]);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_returned_is_kept_as_none() {
    let (db, scope) = (Db::default(), CacheScope::new());
    for _ in 0..2 {
        assert_eq!(users(&db, &scope, "", &[100, 1]).await.unwrap().len(), 1);
    }
    assert_eq!(users_entry(&scope, "", 100).get().await, Some(None));
    assert_eq!(users_entry(&scope, "", 1).get().await, Some(Some("1".into())));
    tokio::time::advance(Duration::from_secs(21)).await;
    users(&db, &scope, "", &[100, 1]).await.unwrap();
    assert_eq!(db.asked(), [vec![100, 1], vec![100]], "`none_ttl` is over, `ttl` is not");
}

#[tokio::test(start_paused = true)]
async fn entries_are_changed_one_by_one() {
    let (db, scope) = (Db::default(), CacheScope::new());
    users(&db, &scope, "", &[1, 2]).await.unwrap();
    users_entry(&scope, "", 1).invalidate().await;
    users_entry(&scope, "", 2).insert(Some("two".into())).await;
    assert_eq!(users(&db, &scope, "", &[1, 2]).await.unwrap()[&2], "two");
    assert_eq!(db.asked(), [vec![1, 2], vec![1]]);
    assert_eq!(users_cache(&scope).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failing_batch_fails_whole_and_is_not_kept() {
    let (db, scope) = (Db::default(), CacheScope::new());
    users(&db, &scope, "", &[1]).await.unwrap();
    let calls = (0..5).map(|_| users(&db, &scope, "", &[1, 12, 13]));
    assert!(join_all(calls).await.into_iter().all(|answer| answer == Err(Down)));
    assert_eq!(db.asked(), [vec![1], vec![12, 13]], "one load for all, and one error");
    users(&db, &scope, "", &[1, 12]).await.unwrap();
    assert_eq!(db.asked()[2..], [vec![12]]);
}

#[tokio::test(start_paused = true)]
async fn early_elements_are_refreshed_in_one_background_batch() {
    let (db, scope) = (Db::default(), CacheScope::new());
    users(&db, &scope, "", &[1, 2, 3]).await.unwrap();
    tokio::time::advance(Duration::from_secs(30)).await;
    users(&db, &scope, "", &[4]).await.unwrap();
    tokio::time::advance(Duration::from_secs(25)).await;
    assert_eq!(users(&db, &scope, "", &[1, 2, 3, 4]).await.unwrap().len(), 4);
    until(|| db.asked().len() > 2).await;
    assert_eq!(db.asked(), [vec![1, 2, 3], vec![4], vec![1, 2, 3]], "4 is fresh yet");
}

static HELD: Gate = Gate::new();

#[stampede_cached(ttl = 60, each = ids, skip(runs, held), max_loads = 5)]
async fn gated(runs: &'static Runs, held: bool, ids: Vec<u32>) -> Vec<(u32, u64)> {
    let run = runs.begin();
    if held {
        HELD.pass().await;
    }
    ids.into_iter().map(|id| (id, run.number)).collect()
}

#[tokio::test]
async fn ids_on_their_way_elsewhere_are_joined() {
    static RUNS: Runs = Runs::new();
    let first = tokio::spawn(gated(&RUNS, true, vec![1, 2]));
    HELD.arrival().await;
    let second = tokio::spawn(gated(&RUNS, false, vec![2, 3]));
    until(|| RUNS.count() == 2).await;
    assert!(!second.is_finished(), "2 is on its way with the first");
    HELD.open(1);
    assert_eq!(soon(first).await.unwrap(), [(1, 1), (2, 1)]);
    assert_eq!(soon(second).await.unwrap(), [(2, 1), (3, 2)]);
}

#[stampede_cached(ttl = 600, each = ids, skip(db))]
#[allow(clippy::ptr_arg, reason = "it is one of the forms that are served")]
async fn numbers(db: &Db, ids: &Vec<u32>) -> HashMap<u32, u32> {
    db.note(ids);
    tokio::task::yield_now().await;
    ids.iter().map(|id| (*id, id + 1)).collect()
}

/// 100 batches at once, each of 1,000 of 10,000 ids.
#[tokio::test(flavor = "multi_thread")]
async fn overlapping_batches_load_each_id_once() {
    let db = Db::default();
    let batches = (0..100_u32).map(|batch| {
        let db = db.clone();
        // Steps that share no divisor with 10,000, so that each batch crosses all others.
        let ids: Vec<u32> = (0..1_000).map(|n| (batch * 97 + n * (2 * batch + 3)) % 10_000).collect();
        tokio::spawn(async move {
            let found = numbers(&db, &ids).await;
            let wanted: HashSet<u32> = ids.into_iter().collect();
            assert_eq!(found.len(), wanted.len());
            assert!(found.into_iter().all(|(id, number)| wanted.contains(&id) && number == id + 1));
        })
    });
    for batch in join_all(batches.collect::<Vec<_>>()).await {
        batch.unwrap();
    }
    let counts = db.how_often();
    assert!(counts.values().all(|count| *count == 1), "an id was loaded twice");
    assert!(counts.len() > 9_000, "{}", counts.len());
}

struct Opaque;

#[stampede_cached(ttl = 60, each = ids, share_err = |_| Opaque)]
async fn shared_error(ids: &[u32]) -> Result<Vec<(u32, u32)>, Opaque> {
    let _ = ids;
    Err(Opaque)
}

#[stampede_cached(ttl = 60, each = ids, timeout = 5)]
async fn too_slow(ids: &[u32]) -> Result<Vec<(u32, u32)>, SharedError> {
    let _ = ids;
    std::future::pending().await
}

#[stampede_cached(ttl = 60, each = ids, run = "in_caller", skip(factor))]
async fn in_caller(factor: &std::cell::Cell<u32>, ids: &[u32]) -> BTreeMap<u32, u32> {
    tokio::task::yield_now().await;
    ids.iter().map(|id| (*id, id * factor.get())).collect()
}

#[tokio::test(start_paused = true)]
async fn batches_take_the_other_arguments_too() {
    assert!(shared_error(&[1]).await.is_err());
    assert!(too_slow(&[1]).await.unwrap_err().is_timeout());
    assert_eq!(in_caller(&std::cell::Cell::new(2), &[1, 2]).await, BTreeMap::from([(1, 2), (2, 4)]));
}

#[derive(Clone)]
struct Shop {
    tax: u32,
}

impl Shop {
    #[stampede_cached(ttl = 60, each = ids, key(tax: u32 = self.tax), tags = ["prices"])]
    #[tracing::instrument(skip_all)]
    async fn prices(&self, ids: &[u32]) -> Vec<(u32, u32)> {
        ids.iter().map(|id| (*id, id * self.tax)).collect()
    }
}

#[tokio::test]
async fn methods_batch_too() {
    let shop = Shop { tax: 3 };
    assert_eq!(shop.prices(&[2, 1, 2]).await, [(2, 6), (1, 3)], "in the order of the asking");
    assert_eq!(shop.prices_entry(3, 2).get().await, Some(Some(6)));
    shop.prices_cache().invalidate_tag("prices").await;
    assert_eq!(shop.prices_cache().len(), 0);
}
