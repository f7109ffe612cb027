//! P8: a hit allocates nothing, whatever its key looks like.

use allocation_counter::measure;
use futures::FutureExt;
use stampede_runtime::{Cache, CacheMode, CacheScope, stampede_cached};
use std::{convert::Infallible, fmt::Debug, hash::Hash, path::Path, sync::Arc, time::Duration};

/// The allocations of a hundred hits on this thread.
async fn of_hits<F: Future>(call: impl Fn() -> F) -> u64 {
    call().await;
    // What a thread allocates once.
    call().now_or_never().expect("a hit");
    let hits = || (0..100).for_each(|_| drop(call().now_or_never().expect("a hit")));
    measure(hits).count_total
}

#[tokio::test]
async fn the_counting_counts() {
    assert_eq!(of_hits(|| async { drop(Box::new(1)) }).await, 100);
}

#[tokio::test]
async fn a_hit_with_text_and_a_number() {
    #[stampede_cached(ttl = 3600)]
    async fn f(name: &str, id: u32) -> u64 {
        name.len() as u64 + u64::from(id)
    }
    assert_eq!(of_hits(|| f("some name or other", 7)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_hit_on_a_paused_clock() {
    #[stampede_cached(ttl = 3600)]
    async fn f(name: &str, id: u32) -> u64 {
        name.len() as u64 + u64::from(id)
    }
    assert_eq!(of_hits(|| f("some name or other", 7)).await, 0);
}

#[tokio::test]
async fn a_hit_with_borrowed_parts() {
    #[stampede_cached(ttl = 3600)]
    async fn optional(name: Option<&str>) -> bool {
        name.is_some()
    }
    #[stampede_cached(ttl = 3600)]
    async fn slices(bytes: &[u8], names: &[String]) -> usize {
        bytes.len() + names.len()
    }
    #[stampede_cached(ttl = 3600)]
    async fn path(path: &Path) -> bool {
        path.is_absolute()
    }
    #[stampede_cached(ttl = 3600)]
    async fn tuple(pair: (u32, &str)) -> u32 {
        pair.0
    }

    let names = [String::from("a"), String::from("b")];
    assert_eq!(of_hits(|| optional(Some("some name or other"))).await, 0);
    assert_eq!(of_hits(|| optional(None)).await, 0);
    assert_eq!(of_hits(|| slices(&[1, 2, 3], &names)).await, 0);
    assert_eq!(of_hits(|| path(Path::new("/some/path/or/other"))).await, 0);
    assert_eq!(of_hits(|| tuple((1, "some name or other"))).await, 0);
}

#[tokio::test]
async fn a_hit_with_a_key_expression() {
    struct Tenant {
        id: u32,
        name: String,
    }
    #[stampede_cached(ttl = 3600, key = (tenant.id, tenant.name.as_str(), day))]
    async fn f(tenant: &'static Tenant, day: u32) -> u32 {
        tenant.id + day
    }
    #[stampede_cached(ttl = 3600, key = ())]
    async fn one() -> u32 {
        1
    }

    let tenant: &'static Tenant = Box::leak(Box::new(Tenant { id: 1, name: String::from("some name or other") }));
    assert_eq!(tenant.name.len(), 18);
    assert_eq!(of_hits(|| f(tenant, 7)).await, 0);
    assert_eq!(of_hits(one).await, 0);
}

#[tokio::test]
async fn a_hit_of_a_generic_function() {
    #[stampede_cached(ttl = 3600)]
    async fn f<T, const N: usize>(part: T, array: [u8; N]) -> usize
    where
        T: Hash + Eq + Clone + Debug + Send + Sync + 'static,
    {
        format!("{part:?}").len() + array.len()
    }

    assert_eq!(of_hits(|| f(7_u64, [1, 2, 3])).await, 0);
    // The second instantiation, which is not found in the site itself.
    assert_eq!(of_hits(|| f('x', [1, 2])).await, 0);
}

#[derive(Clone)]
struct Service {
    caches: CacheScope,
    prefix: Arc<str>,
}

impl Service {
    #[stampede_cached(ttl = 3600, key = (&*self.prefix, id))]
    async fn keyed(&self, id: u32) -> usize {
        self.prefix.len() + id as usize
    }

    #[stampede_cached(ttl = 3600, scope = self.caches)]
    async fn scoped(&self, id: u32) -> usize {
        self.prefix.len() + id as usize
    }
}

#[tokio::test]
async fn a_hit_of_a_method() {
    let service = Service { caches: CacheScope::new(), prefix: "some prefix or other".into() };
    assert_eq!(of_hits(|| service.keyed(1)).await, 0);
    assert_eq!(of_hits(|| service.scoped(1)).await, 0);
}

#[tokio::test]
async fn a_hit_in_a_scope_or_a_mode() {
    #[stampede_cached(ttl = 3600)]
    async fn f(name: &str) -> usize {
        name.len()
    }

    let scope = CacheScope::new();
    assert_eq!(of_hits(|| scope.enter(f("some name or other"))).await, 0);
    let mode = CacheMode::MaxAge(Duration::from_secs(3600));
    assert_eq!(of_hits(|| mode.enter(f("some name or other"))).await, 0);
    let _guard = scope.guard();
    assert_eq!(of_hits(|| f("some name or other")).await, 0);
}

#[tokio::test]
async fn a_hit_of_each_way_to_run_and_kind_of_answer() {
    #[stampede_cached(ttl = 3600, run = "cancellable", early = 60, jitter = 60, stale = 60, max_loads = 1)]
    async fn cancellable(name: &str) -> Result<Arc<str>, Arc<str>> {
        Ok(name.into())
    }
    #[stampede_cached(ttl = 3600, run = "in_caller", tags = [String::from("a tag of some length")])]
    async fn in_caller(name: &str) -> Option<Arc<str>> {
        Some(name.into())
    }
    #[stampede_cached(ttl = 3600, err_ttl = 3600)]
    async fn failing(name: &str) -> Result<(), Arc<str>> {
        Err(name.into())
    }

    assert_eq!(of_hits(|| cancellable("some name or other")).await, 0);
    assert_eq!(of_hits(|| in_caller("some name or other")).await, 0);
    assert_eq!(of_hits(|| failing("some name or other")).await, 0);
}

#[tokio::test]
async fn a_hit_of_a_cache_by_hand() {
    let cache: Cache<String, u64> =
        Cache::builder("by hand").ttl(Duration::from_secs(3600)).build().expect("a policy that holds together");
    let call = || cache.get_or_load("some name or other", || async { Ok::<_, Infallible>(1) });
    assert_eq!(of_hits(call).await, 0);
}
