//! One annotated function, a hundred callers, one load.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stampede_runtime::stampede_cached;
use tokio::task::JoinSet;

/// Stands for a pool of connections; its clones share the count of queries.
#[derive(Debug, Clone, Default)]
struct Db {
    queries: Arc<AtomicU32>,
}

#[derive(Debug, Clone)]
struct DbError;

/// Fresh for five minutes, give or take half a minute; renewed in the background in the last one. The answer does not
/// depend on which `db` it came through, so `db` is no part of the key.
#[stampede_cached(ttl = 300, jitter = 30, early = 60, skip(db))]
async fn report(db: &Db, date: &str) -> Result<String, DbError> {
    db.queries.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(200)).await; // the expensive query
    Ok(format!("sales of {date}"))
}

#[tokio::main]
async fn main() -> Result<(), DbError> {
    let db = Db::default();
    let mut callers = JoinSet::new();
    for _ in 0..100 {
        let db = db.clone();
        callers.spawn(async move { report(&db, "2026-03-02").await });
    }
    let answers = callers.join_all().await;
    let served = answers.iter().filter(|answer| answer.is_ok()).count();
    println!("{served} callers served, {} query", db.queries.load(Ordering::Relaxed));

    // Beside `report` the attribute has put two companions: one for the entry of a key, one for the whole cache.
    let entry = report_entry("2026-03-02");
    println!("the entry is {:?} and holds {:?}", entry.state(), entry.get().await);

    entry.invalidate().await;
    report(&db, "2026-03-02").await?;
    println!("after invalidate: {} queries", db.queries.load(Ordering::Relaxed));

    let stats = report_cache().stats();
    println!("{} calls waited, {} of them joined a load; {} loads", stats.misses, stats.coalesced, stats.loads);
    Ok(())
}
