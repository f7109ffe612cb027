//! What a load can't own or hold.

use stampede_runtime::stampede_cached;
use std::{cell::Cell, rc::Rc};

pub trait Db: Send + Sync {
    fn get(&self, id: u32) -> u32;
}

pub struct Pool;

impl Pool {
    fn get(&self, id: u32) -> u32 {
        id
    }
}

#[stampede_cached(ttl = 60, skip(db))]
pub async fn trait_object(db: &dyn Db, id: u32) -> u32 {
    db.get(id)
}

#[stampede_cached(ttl = 60, skip(db))]
pub async fn not_clone(db: &Pool, id: u32) -> u32 {
    db.get(id)
}

#[stampede_cached(ttl = 60, skip(rc))]
pub async fn not_send(rc: Rc<u32>, id: u32) -> u32 {
    *rc + id
}

#[stampede_cached(ttl = 60)]
pub async fn held_across_an_await(id: u32) -> u32 {
    let cell = Rc::new(Cell::new(id));
    std::future::ready(()).await;
    cell.get()
}

#[stampede_cached(ttl = 60, skip(db))]
pub async fn not_static<T: Clone + Send>(db: T, id: u32) -> u32 {
    drop(db);
    id
}

impl Pool {
    #[stampede_cached(ttl = 60, skip(self))]
    pub async fn method(&self, id: u32) -> u32 {
        self.get(id)
    }
}

fn main() {}
