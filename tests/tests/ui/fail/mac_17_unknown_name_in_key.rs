//! A name in `key` that is no parameter is pointed at.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60, key = (id, idd))]
async fn keyed(id: u32) -> u32 {
    id
}

fn main() {}
