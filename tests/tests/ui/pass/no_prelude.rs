//! Without the prelude, and with names of the prelude that mean something else.

#![no_implicit_prelude]
#![deny(warnings, missing_docs, unsafe_code, unused_qualifications, unreachable_pub)]

/// Names that mean something else here.
mod shadowed {
    #[derive(::core::clone::Clone, ::core::cmp::PartialEq, ::core::cmp::Eq, ::core::hash::Hash)]
    pub(crate) struct Option;
    pub(crate) struct Result;
    pub(crate) struct Box;
    pub(crate) struct Some;
    pub(crate) mod std {}
    pub(crate) mod core {}
    pub(crate) mod stampede_runtime {}
}
#[allow(unused_imports)]
use shadowed::*;

#[::stampede_runtime::stampede_cached(ttl = 60, jitter = "10%", early = 5, stale = 10, capacity = 5, tags = ["x"])]
async fn plain(id: u32, name: &str, option: Option) -> ::std::string::String {
    let (Option, _, _, _) = (option, Result, Box, Some);
    ::std::format!("{name}{id}")
}

#[::stampede_runtime::stampede_cached(ttl = 60, each = ids, err_ttl = 5)]
async fn batch(ids: &[u32]) -> ::core::result::Result<::std::vec::Vec<(u32, u32)>, ::std::string::String> {
    let _ = ids;
    ::core::result::Result::Ok(::std::vec::Vec::new())
}

fn main() {
    ::core::mem::drop((plain(1, "", Option), batch(&[1])));
}
