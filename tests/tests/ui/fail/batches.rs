//! `each`: the parameter, and what the function returns.

use stampede_runtime::stampede_cached;
use std::collections::HashMap;

type Map = HashMap<u32, u32>;

#[stampede_cached(ttl = 60, each = idz)]
async fn misspelt(ids: &[u32]) -> Map { Map::new() }

#[stampede_cached(ttl = 60, each = id)]
async fn no_slice(id: u32) -> Map { Map::new() }

#[stampede_cached(ttl = 60, each = "ids")]
async fn no_name(ids: &[u32]) -> Map { Map::new() }

#[stampede_cached(ttl = 60, each = ids, skip(ids))]
async fn skipped(ids: &[u32]) -> Map { Map::new() }

#[stampede_cached(ttl = 60, each = ids, key = ids)]
async fn keyed(ids: &[u32]) -> Map { Map::new() }

#[stampede_cached(ttl = 60, each = ids, key = ())]
async fn forgotten(lang: &str, ids: &[u32]) -> Map { Map::new() }

#[stampede_cached(ttl = 60, each = ids)]
async fn borrowed_ids(ids: &[&str]) -> Map { Map::new() }

#[stampede_cached(ttl = 60, each = ids)]
async fn float_ids(ids: &[f64]) -> Map { Map::new() }

#[stampede_cached(ttl = 60, each = ids)]
async fn one_value(ids: &[u32]) -> u32 { 1 }

#[stampede_cached(ttl = 60, each = ids)]
async fn values_alone(ids: &[u32]) -> Result<Vec<String>, String> { Ok(Vec::new()) }

fn main() {}
