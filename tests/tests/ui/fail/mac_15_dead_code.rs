//! What is never called is still reported.

#![deny(dead_code)]

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60)]
async fn never_called(id: u32) -> u32 {
    id
}

#[derive(Clone)]
struct Service;

impl Service {
    #[stampede_cached(ttl = 60, skip(self))]
    async fn method_never_called(&self, id: u32) -> u32 {
        id
    }
}

fn main() {
    let Service = Service;
}
