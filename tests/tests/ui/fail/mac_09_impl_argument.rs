//! Without `key` the `impl` argument is pointed at.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60)]
async fn up(name: impl AsRef<str> + Send + 'static) -> String {
    name.as_ref().to_uppercase()
}

fn main() {
    drop(up("a"));
}
