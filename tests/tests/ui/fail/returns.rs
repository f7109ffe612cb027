//! What a function can't return, as far as it can be read off the signature.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60)]
async fn reference(id: &str) -> &str { id }

#[stampede_cached(ttl = 60)]
async fn borrowing<'a>(id: &'a str) -> std::borrow::Cow<'a, str> { id.into() }

#[stampede_cached(ttl = 60)]
async fn opaque(id: u32) -> impl Clone { id }

#[stampede_cached(ttl = 60)]
async fn two_results(id: u32) -> Result<Result<u32, String>, String> { Ok(Ok(id)) }

fn main() {}
