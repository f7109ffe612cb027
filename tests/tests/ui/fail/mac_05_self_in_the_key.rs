//! A receiver that can't be part of the key is pointed at.

use stampede_runtime::stampede_cached;

#[derive(Clone)]
struct Svc {
    base: u64,
}

impl Svc {
    #[stampede_cached(ttl = 60)]
    async fn get(&self, id: u64) -> u64 {
        self.base + id
    }
}

fn main() {}
