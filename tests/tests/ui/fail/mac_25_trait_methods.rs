//! A method without a body, an attribute that has no place, and a box that was made by hand.

use stampede_runtime::stampede_cached;

#[async_trait::async_trait]
trait Declared {
    #[stampede_cached(ttl = 60)]
    async fn f(&self) -> u32;
}

#[derive(Clone, Debug)]
struct S;

#[async_trait::async_trait]
trait Boxed {
    async fn f(&self) -> u32;
    async fn g(&self) -> u32;
}

#[async_trait::async_trait]
impl Boxed for S {
    #[stampede_cached(ttl = 60, skip(self))]
    #[tracing::instrument]
    async fn f(&self) -> u32 {
        1
    }

    #[stampede_cached(ttl = 60, skip(self), companions = true)]
    async fn g(&self) -> u32 {
        1
    }
}

#[stampede_cached(ttl = 60)]
fn by_hand(id: u32) -> std::pin::Pin<Box<dyn Future<Output = u32> + Send>> {
    Box::pin(async move { id })
}

trait Native {
    async fn f(&self) -> u32;
}

impl Native for S {
    #[stampede_cached(ttl = 60, skip(self), companions = false)]
    #[tracing::instrument]
    async fn f(&self) -> u32 {
        1
    }
}

fn main() {}
