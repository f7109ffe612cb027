//! Arguments that contradict each other, or do nothing.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60, jitter = 60)]
async fn jitter_of_all(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, early = 300)]
async fn early_before_it_is_stored(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, jitter = "50%", early = "30s")]
async fn early_within_jitter(id: u32) -> u32 { id }

#[stampede_cached(ttl = 0, early = 5)]
async fn nothing_is_stored(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, timeout = 0)]
async fn no_time_to_load(id: u32) -> Result<u32, std::fmt::Error> { Ok(id) }

#[stampede_cached(ttl = 60, timeout = 5, soft_timeout = 5, stale = 1)]
async fn soft_after_hard(id: u32) -> Result<u32, std::fmt::Error> { Ok(id) }

#[stampede_cached(ttl = 60, weight = |_| 1)]
async fn weight_without_capacity(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, beta = 1.0)]
async fn beta_without_early(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, soft_timeout = 1)]
async fn soft_timeout_without_old_values(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, none_ttl = 1)]
async fn none_ttl_without_option(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, err_ttl = 1)]
async fn err_ttl_without_result(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, timeout = 1)]
async fn timeout_without_result(id: u32) -> Option<u32> { Some(id) }

#[stampede_cached(ttl = u64::from(id))]
async fn ttl_of_a_parameter(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, name = id)]
async fn name_of_a_parameter(id: &'static str) -> u32 { 1 }

#[stampede_cached(ttl = 60, ttl_of = |_: &String| None)]
async fn ttl_of_another_type(id: u32) -> u32 { id }

fn main() {}
