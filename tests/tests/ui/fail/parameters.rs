//! Every parameter is in the key, or used by `key` or `scope`, or skipped.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60, key = id)]
async fn forgotten(id: u32, other: u32) -> u32 { id + other }

#[stampede_cached(ttl = 60, key = id, skip(id))]
async fn both(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, skip(id, id))]
async fn skipped_twice(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, skip(self))]
async fn no_self(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, skip(a))]
async fn part_of_a_pattern((a, b): (u32, u32)) -> u32 { a + b }

#[stampede_cached(ttl = 60, key = a)]
async fn key_in_a_pattern((a, b): (u32, u32)) -> u32 { a + b }

#[stampede_cached(ttl = 60, key = 1)]
async fn no_name(_: u32) -> u32 { 1 }

#[stampede_cached(ttl = 60)]
async fn float(x: f64) -> u32 { 1 }

#[stampede_cached(ttl = 60)]
async fn slice_of_references(names: &[&str]) -> usize { names.len() }

#[stampede_cached(ttl = 60)]
async fn view(name: std::borrow::Cow<'_, str>) -> usize { name.len() }

#[stampede_cached(ttl = 60)]
async fn exclusive(transaction: &mut Vec<u32>, id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, key(ib))]
async fn unknown_part(id: u32) -> u32 { id }

struct Service;

impl Service {
    #[stampede_cached(ttl = 60, key = id)]
    async fn forgotten_self(&self, id: u32) -> u32 { id }

    #[stampede_cached(ttl = 60)]
    async fn changes_itself(&mut self, id: u32) -> u32 { id }

    #[stampede_cached(ttl = 60)]
    async fn pinned(self: std::pin::Pin<&Self>, id: u32) -> u32 { id }
}

fn main() {}
