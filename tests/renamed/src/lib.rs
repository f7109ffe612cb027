//! MAC-19: the runtime under another name, and through a crate that re-exports it.

use cachelib::stampede_cached;

/// Under the name that the dependency has here.
#[stampede_cached(ttl = 60, early = 5, skip(by), crate = cachelib)]
pub async fn renamed(x: u32, by: &u32) -> Option<u32> {
    Some(x * by)
}

/// Through a crate that this one depends on.
#[facade::stampede_cached(ttl = 60, crate = facade::product)]
pub async fn through_a_facade(x: u32) -> u32 {
    x
}

/// The same, in a string.
#[facade::stampede_cached(ttl = 60, each = ids, crate = "facade::product")]
pub async fn batch(ids: &[u32]) -> Vec<(u32, u32)> {
    ids.iter().map(|id| (*id, *id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn mac_19_the_runtime_by_another_name() {
        assert_eq!((renamed(2, &2).await, through_a_facade(1).await, batch(&[1]).await), (Some(4), 1, vec![(1, 1)]));
        assert_eq!((renamed_entry(2).get().await, renamed_cache().len()), (Some(Some(4)), 1));
        assert_eq!((through_a_facade_entry(1).get().await, batch_entry(1).get().await), (Some(1), Some(Some(1))));
    }
}
