//! The peers, behind the shape in which all are called: an async function of a key.

use std::{hash::Hash, sync::Arc, time::Duration};

use cached::macros::{cached, concurrent_cached};
use quick_cache::{Equivalent, sync::Cache as Quick};

/// How long everything lives: longer than any measuring.
pub(crate) const TTL: Duration = Duration::from_hours(1);

#[allow(clippy::unused_async, reason = "what is awaited is the cache")]
#[cached(ttl_secs = 3600, sync_writes = "by_key")]
pub(crate) async fn by_key(name: &str) -> Arc<u64> {
    Arc::new(name.len() as u64)
}

#[allow(clippy::unused_async, reason = "what is awaited is the cache")]
#[concurrent_cached(ttl_secs = 3600)]
pub(crate) async fn concurrent(name: &str) -> Arc<u64> {
    Arc::new(name.len() as u64)
}

/// A `moka` cache whose entries expire, as ours do.
pub(crate) fn moka<K, V>(capacity: u64) -> moka::future::Cache<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    moka::future::Cache::builder().max_capacity(capacity).time_to_live(TTL).build()
}

/// A filled `quick_cache`.
pub(crate) fn quick<K: Hash + Eq, V: Clone>(capacity: usize, entries: impl IntoIterator<Item = (K, V)>) -> Quick<K, V> {
    let cache = Quick::new(capacity);
    entries.into_iter().for_each(|(key, value)| cache.insert(key, value));
    cache
}

/// A key of two parts, as `quick_cache` finds it without an owned one.
#[derive(Hash)]
pub(crate) struct Parts<'a>(pub(crate) &'a str, pub(crate) u32);

impl Equivalent<(String, u32)> for Parts<'_> {
    fn equivalent(&self, key: &(String, u32)) -> bool {
        self.0 == key.0 && self.1 == key.1
    }
}
