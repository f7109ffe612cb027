//! Names that are no parameters are pointed at.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60, skip(conn))]
async fn skipped(con: u32, id: u32) -> u32 {
    con + id
}

fn main() {}
