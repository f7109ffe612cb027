//! Where there is no place for companions.

use stampede_runtime::stampede_cached;

#[derive(Clone)]
struct Service;

trait Repo {
    async fn get(&self, id: u32) -> u32;
}

impl Service {
    #[stampede_cached(ttl = 60)]
    async fn new(id: u32) -> Self { Self }

    #[stampede_cached(ttl = 60)]
    async fn associated(id: u32) -> u32 { id }
}

impl Repo for Service {
    #[stampede_cached(ttl = 60, skip(self))]
    async fn get(&self, id: u32) -> u32 { id }
}

#[stampede_cached(ttl = 60, companions = true)]
async fn generic<T: Clone + Send + Sync + Eq + std::hash::Hash + 'static>(id: T) -> u32 { 1 }

fn main() {}
