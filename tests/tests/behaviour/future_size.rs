//! What a call costs its caller while it waits: what is awaited is one box, the rest is gone.

use stampede_runtime::{CacheScope, stampede_cached};

#[stampede_cached(ttl = 60)]
async fn by_value(id: u64) -> u64 {
    id
}

#[stampede_cached(ttl = 60)]
async fn borrowed(name: &str, day: u32) -> Result<u64, String> {
    Ok(name.len() as u64 + u64::from(day))
}

#[derive(Clone)]
struct Service;

impl Service {
    #[stampede_cached(ttl = 60, early = 5, skip(self))]
    async fn get(&self, id: u64) -> [u64; 64] {
        let _ = self;
        [id; 64]
    }
}

#[stampede_cached(ttl = 60, tags = [format!("user:{id}")], scope = scope, skip(db))]
async fn with_everything(db: &Service, scope: &CacheScope, id: u64) -> u64 {
    let _ = db;
    id
}

#[stampede_cached(ttl = 60, each = ids, skip(db))]
async fn batch(db: &Service, ids: &[u64]) -> Vec<(u64, u64)> {
    let _ = db;
    ids.iter().map(|id| (*id, *id)).collect()
}

fn check(name: &str, call: &impl Sized) {
    let size = size_of_val(call);
    println!("{name}: {size} bytes");
    assert!(size <= 128, "a call of `{name}` takes {size} bytes");
}

#[test]
fn a_waiting_call_is_small() {
    let (scope, service) = (CacheScope::new(), Service);
    check("by_value", &by_value(1));
    check("borrowed", &borrowed("x", 1));
    check("get", &service.get(1));
    check("with_everything", &with_everything(&service, &scope, 1));
    check("batch", &batch(&service, &[1]));
}
