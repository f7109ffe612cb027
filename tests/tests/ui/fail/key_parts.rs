//! What can't be part of a key, and is found by type.

use stampede_runtime::stampede_cached;
use std::{collections::HashMap, sync::Arc};

pub struct Pool;

#[derive(Clone)]
pub struct Filter {
    pub text: String,
    pub limit: f64,
}

pub type Number = f64;

#[stampede_cached(ttl = 60)]
pub async fn by_reference(db: &Pool, id: u32) -> u32 {
    id
}

#[stampede_cached(ttl = 60)]
pub async fn shared(db: Arc<Pool>, id: u32) -> u32 {
    id
}

#[stampede_cached(ttl = 60)]
pub async fn by_value(filter: Filter) -> u32 {
    1
}

#[stampede_cached(ttl = 60)]
pub async fn in_an_option(filter: Option<&Filter>) -> u32 {
    1
}

#[stampede_cached(ttl = 60)]
pub async fn behind_an_alias(x: Number) -> u32 {
    1
}

#[stampede_cached(ttl = 60)]
pub async fn map(tags: HashMap<String, String>) -> usize {
    tags.len()
}

#[stampede_cached(ttl = 60, key = (filter.limit, filter.text))]
pub async fn expression(filter: Filter) -> u32 {
    1
}

#[stampede_cached(ttl = 60, key(limit: f64 = filter.limit))]
pub async fn named(filter: Filter) -> u32 {
    1
}

#[stampede_cached(ttl = 60, key(limit: u64 = filter.text))]
pub async fn mistyped(filter: Filter) -> u32 {
    1
}

#[stampede_cached(ttl = 60)]
pub async fn generic<T: Clone + Send + 'static>(id: T) -> u32 {
    1
}

impl Pool {
    #[stampede_cached(ttl = 60)]
    pub async fn method(&self, id: u32) -> u32 {
        id
    }
}

fn main() {}
