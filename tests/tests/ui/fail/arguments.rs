//! The arguments of the attribute, as they are written.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttll = 60)]
async fn misspelt(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, quux = 1)]
async fn unknown(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, ttl = 30)]
async fn twice(id: u32) -> u32 { id }

#[stampede_cached(ttl)]
async fn without_a_value(id: u32) -> u32 { id }

#[stampede_cached(300)]
async fn without_a_name(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60 jitter = 5)]
async fn without_a_comma(id: u32) -> u32 { id }

#[stampede_cached(jitter = 5)]
async fn without_ttl(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, skip = id)]
async fn skip_as_a_value(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, skip(id.len))]
async fn skip_of_a_part(id: String) -> u32 { 1 }

#[stampede_cached(ttl = 60, run = "detach")]
async fn unknown_word(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, mode = "off")]
async fn unknown_mode(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, companions = 1)]
async fn no_switch(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, crate = 5)]
async fn no_path(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, key = "id")]
async fn key_as_a_string(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, key())]
async fn no_parts(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, key(id: u32))]
async fn part_without_a_value(id: u32) -> u32 { id }

#[stampede_cached(ttl = 60, key(id.len()))]
async fn part_without_a_name(id: String) -> u32 { 1 }

fn main() {}
