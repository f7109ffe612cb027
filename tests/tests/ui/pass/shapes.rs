//! Every shape of function in a crate that denies warnings, by itself: nothing of it is called but in `main`.

#![deny(warnings)]
#![forbid(unsafe_code)]

use stampede_runtime::stampede_cached;
use std::{collections::HashMap, fmt::Display, future::Future, hash::Hash, pin::Pin, sync::Arc};

#[stampede_cached(ttl = 60)]
async fn free(id: u32) -> u32 {
    id
}

#[stampede_cached(ttl = 60, early = 5, skip(db))]
async fn borrowed<'a>(db: &'a Db, name: &'a str, path: &std::path::Path, some: Option<&[u8]>, pair: (&str, u8)) -> usize {
    let _ = db;
    name.len() + path.as_os_str().len() + some.map_or(0, <[u8]>::len) + pair.0.len()
}

#[stampede_cached(ttl = 60)]
async fn patterns((a, _): (u32, u32), Db { n }: Db, mut count: u32, _: u8) -> u32 {
    count += a;
    count + n
}

#[stampede_cached(ttl = 60)]
async fn under_cfg(a: u32, #[cfg(any())] gone: Gone, #[allow(unused_variables)] unused: u32) -> u32 {
    a
}

#[stampede_cached(ttl = 60)]
async fn generic<T, const N: usize>(ids: [T; N]) -> usize
where
    T: Clone + Eq + Hash + Send + Sync + 'static,
{
    ids.len()
}

#[stampede_cached(ttl = 60, key = name.to_string())]
async fn impl_trait(name: impl Display + Clone + Send + 'static) -> String {
    name.to_string()
}

#[stampede_cached(ttl = 60)]
async fn question_mark(text: &str) -> Result<Option<u32>, std::num::ParseIntError> {
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(text.parse()?))
}

#[stampede_cached(ttl = 60, run = "in_caller", skip(rc))]
async fn in_caller(rc: &std::rc::Rc<u32>, id: &str) -> usize {
    std::future::ready(()).await;
    **rc as usize + id.len()
}

#[stampede_cached(ttl = 60, run = "cancellable", mode = "ignore", name = "other", companions = false)]
async fn rare(id: u32) -> u32 {
    id
}

#[stampede_cached(ttl = 60, each = ids, skip(db))]
async fn batch(db: &Db, ids: &[u32]) -> Result<HashMap<u32, u32>, String> {
    Ok(ids.iter().map(|id| (*id, db.n)).collect())
}

#[stampede_cached(ttl = 60, key(tenant: u32 = db.n, day))]
async fn named_parts(db: Arc<Db>, day: &str) -> usize {
    db.n as usize + day.len()
}

fn recursive(id: u32) -> Pin<Box<dyn Future<Output = u32> + Send>> {
    #[stampede_cached(ttl = 60)]
    async fn step(id: u32) -> u32 {
        if id == 0 { 0 } else { recursive(id - 1).await }
    }
    Box::pin(step(id))
}

macro_rules! made {
    ($($name:ident: $ty:ty = $ttl:literal),+) => {$(
        #[stampede_cached(ttl = $ttl)]
        async fn $name(id: $ty) -> $ty {
            id
        }
    )+};
}

made!(first: u8 = 5, second: u16 = 6);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Db {
    n: u32,
}

impl Db {
    #[stampede_cached(ttl = 60)]
    async fn method(&self, id: u32) -> u32 {
        self.n + id
    }

    #[stampede_cached(ttl = 60, skip(self))]
    async fn of_an_arc(self: Arc<Self>, id: u32) -> u32 {
        self.n + id
    }

    #[stampede_cached(ttl = 60)]
    async fn by_value(mut self) -> u32 {
        self.n += 1;
        self.n
    }

    #[stampede_cached(ttl = 60, companions = false)]
    async fn associated(n: u32) -> Self {
        Self { n }
    }

    #[stampede_cached(ttl = 60, skip(self))]
    #[tracing::instrument(skip(self))]
    async fn instrumented(&self, id: u32) -> u32 {
        self.n + id
    }

    #[tracing::instrument(skip(self), ret)]
    #[stampede_cached(ttl = 60, skip(self))]
    async fn under_instrument(&self, id: u32) -> u32 {
        self.n + id
    }
}

trait Native {
    async fn native(&self, id: u32) -> u32;
}

impl Native for Db {
    #[stampede_cached(ttl = 60, companions = false)]
    async fn native(&self, id: u32) -> u32 {
        self.n + id
    }
}

#[async_trait::async_trait]
trait Boxed {
    async fn boxed(&self, id: &str) -> usize;
}

#[async_trait::async_trait]
impl Boxed for Db {
    #[tracing::instrument]
    #[stampede_cached(ttl = 60)]
    async fn boxed(&self, id: &str) -> usize {
        self.n as usize + id.len()
    }
}

fn main() {
    let db = Arc::new(Db { n: 1 });
    drop((free(1), borrowed(&db, "", "".as_ref(), None, ("", 1)), patterns((1, 2), Db { n: 1 }, 1, 1), under_cfg(1, 2)));
    drop((generic([1]), impl_trait(1), question_mark("1"), in_caller(&std::rc::Rc::new(1), ""), rare(1)));
    drop((batch(&db, &[1]), named_parts(Arc::clone(&db), ""), recursive(1), first(1), second(2)));
    drop((db.method(1), Arc::clone(&db).of_an_arc(1), Db { n: 1 }.by_value(), Db::associated(1), db.instrumented(1)));
    drop((db.under_instrument(1), db.native(1), db.boxed("")));
}
