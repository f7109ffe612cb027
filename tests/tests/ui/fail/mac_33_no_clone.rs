//! A closure in a box can't be given to many.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60)]
async fn c(x: u32) -> Box<dyn Fn() -> u32 + Send + Sync> {
    Box::new(move || x)
}

fn main() {}
