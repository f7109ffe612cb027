//! The attribute `#[stampede_cached]`.
