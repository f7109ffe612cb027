//! What a company's own crate does: it gives its users the cache, and they depend on nothing else.

pub use stampede_runtime::{self as product, stampede_cached};
