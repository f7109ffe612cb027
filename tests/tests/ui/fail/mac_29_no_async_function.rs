//! Only an `async fn` with a body; the item is kept, so nothing else goes wrong.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60)]
fn sync(x: u32) -> u32 { x }

#[stampede_cached(ttl = 60)]
fn manual(x: u32) -> impl Future<Output = u32> { async move { x } }

#[stampede_cached(ttl = 60)]
struct S;

#[stampede_cached(ttl = 60)]
async unsafe fn not_safe(x: u32) -> u32 { x }

#[stampede_cached(ttl = 60)]
async fn unit();

#[stampede_cached(ttl = 60)]
const X: u32 = 1;

#[stampede_cached(ttl = 60)]
impl S {}

fn main() {
    let _ = (sync(1), manual(1), S, X);
}
