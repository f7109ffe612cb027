//! Lengths of time and numbers, each by itself.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = -5)]
async fn negative(id: u32) -> u32 { id }

#[stampede_cached(ttl = 1.5)]
async fn fraction(id: u32) -> u32 { id }

#[stampede_cached(ttl = true)]
async fn no_time(id: u32) -> u32 { id }

#[stampede_cached(ttl = "60")]
async fn no_unit(id: u32) -> u32 { id }

#[stampede_cached(ttl = "5 parsecs")]
async fn unknown_unit(id: u32) -> u32 { id }

#[stampede_cached(ttl = "10%")]
async fn share_of_itself(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, early = "x%")]
async fn no_share(id: u32) -> u32 { id }

#[stampede_cached(ttl = 99999999999999999999)]
async fn too_large(id: u32) -> u32 { id }

#[stampede_cached(ttl = "forever".to_owned())]
async fn no_duration(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, capacity = 0)]
async fn no_room(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, capacity = "many")]
async fn no_number(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, max_loads = 0)]
async fn no_loads(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, early = 5, beta = 0)]
async fn no_beta(id: u32) -> u32 { id }

fn main() {}
