//! What can't be kept and given to many callers.

use stampede_runtime::stampede_cached;
use std::{cell::Cell, collections::HashMap};

pub struct Response {
    pub body: Vec<u8>,
}

#[derive(Debug)]
pub struct Broken;

#[derive(Clone, Debug)]
pub struct Local(std::rc::Rc<u32>);

#[stampede_cached(ttl = 60)]
pub async fn plain(id: u32) -> Response {
    Response { body: vec![id as u8] }
}

#[stampede_cached(ttl = 60)]
pub async fn option(id: u32) -> Option<Response> {
    None
}

#[stampede_cached(ttl = 60)]
pub async fn result(id: u32) -> Result<Response, String> {
    Err(id.to_string())
}

#[stampede_cached(ttl = 60)]
pub async fn boxed_closure(id: u32) -> Box<dyn Fn() -> u32 + Send + Sync> {
    Box::new(move || id)
}

#[stampede_cached(ttl = 60)]
pub async fn not_sync(id: u32) -> Cell<u32> {
    Cell::new(id)
}

#[stampede_cached(ttl = 60)]
pub async fn error(id: u32) -> Result<u32, Broken> {
    Err(Broken)
}

#[stampede_cached(ttl = 60)]
pub async fn error_of_io(id: u32) -> std::io::Result<u32> {
    Ok(id)
}

#[stampede_cached(ttl = 60)]
pub async fn error_of_one_thread(id: u32) -> Result<u32, Local> {
    Ok(id)
}

#[stampede_cached(ttl = 60, timeout = 5)]
pub async fn timeout(id: u32) -> Result<u32, String> {
    Ok(id)
}

type Alias = u32;

#[stampede_cached(ttl = 60, timeout = 5)]
pub async fn timeout_without_a_result(id: u32) -> Alias {
    id
}

#[stampede_cached(ttl = 60, each = ids)]
pub async fn no_pairs(ids: &[u32]) -> Vec<u32> {
    ids.to_vec()
}

#[stampede_cached(ttl = 60, each = ids)]
pub async fn no_collection(ids: &[u32]) -> Result<u32, String> {
    Ok(1)
}

type Rows = Vec<u32>;

#[stampede_cached(ttl = 60, each = ids, companions = false)]
pub async fn no_pairs_behind_an_alias(ids: &[u32]) -> Rows {
    ids.to_vec()
}

#[stampede_cached(ttl = 60, each = ids, skip(by_value))]
pub async fn by_value_not_clone(by_value: Response, ids: &[u32]) -> HashMap<u32, u32> {
    drop(by_value);
    HashMap::new()
}

#[stampede_cached(ttl = 60, each = ids)]
pub async fn elements_not_clone(ids: &[u32]) -> HashMap<u32, Response> {
    HashMap::new()
}

#[stampede_cached(ttl = 60, each = ids)]
pub async fn other_ids(ids: &[u32]) -> HashMap<String, u32> {
    HashMap::new()
}

#[stampede_cached(ttl = 60, each = ids)]
pub async fn error_of_a_batch(ids: &[u32]) -> Result<HashMap<u32, u32>, Broken> {
    Err(Broken)
}

fn main() {}
