//! Raw names, names that look like ours, items of the user's that shadow what the expansion could name.

#![deny(warnings)]

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60)]
async fn r#type(r#match: u32, __key: u32, __begun: &str, __self: u8, ticket: u8) -> u32 {
    let __wait = u32::from(ticket) + u32::from(__self);
    r#match + __key + __wait + u32::try_from(__begun.len()).unwrap_or(0)
}

trait Blanket {
    fn part(&self) -> u8 {
        1
    }
    fn own(&self) -> u8 {
        1
    }
    fn lend(&self) -> u8 {
        1
    }
}

impl<T: ?Sized> Blanket for T {}

mod elsewhere {
    use super::stampede_cached;

    #[stampede_cached(ttl = 60, key = name)]
    pub(super) async fn named(name: &str) -> Option<String> {
        Some(name.to_owned())
    }
}

fn main() {
    let _ = (1.part(), 1.own(), 1.lend());
    let _ = (r#type(1, 2, "", 3, 4), type_entry(1, 2, "", 3, 4).state(), type_cache().name());
    let _ = (elsewhere::named("x"), elsewhere::named_entry("x").state());
}
