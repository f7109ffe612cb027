//! All that is public is documented.

#![deny(missing_docs, warnings)]

pub use users::*;

mod users {
    use stampede_runtime::stampede_cached;

    /// Looks a user up.
    #[stampede_cached(ttl = 60)]
    pub async fn user(id: u32) -> u32 {
        id
    }
}

fn main() {
    let _ = user(1);
}
