//! Faults that users met elsewhere, each a test named after its id.

mod capacity;
mod errors;
mod expiry;
mod expiry_draws;
mod invalidation;
mod keys;
mod macros;
mod singleflight;
mod users_tests;
