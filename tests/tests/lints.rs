//! MAC-13: a crate that denies all that can be denied takes the attribute in every shape.
//!
//! The lints of rustc are checked by the build, those of clippy by the run of clippy over the tests.

#![deny(warnings, unused, missing_docs, unreachable_pub, unused_qualifications, unnameable_types)]
#![deny(let_underscore_drop, trivial_casts, trivial_numeric_casts, unused_lifetimes, single_use_lifetimes)]
#![deny(elided_lifetimes_in_paths, explicit_outlives_requirements, redundant_lifetimes, unused_import_braces)]
#![deny(unused_results, variant_size_differences, meta_variable_misuse, non_ascii_idents, unit_bindings)]
#![deny(missing_debug_implementations, missing_copy_implementations, macro_use_extern_crate, keyword_idents)]
#![forbid(unsafe_code)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]

use stampede_runtime::{CacheScope, SharedError, stampede_cached};
use std::{collections::HashMap, fmt, sync::Arc};

/// An error.
#[derive(Clone, Copy, Debug)]
pub struct MyErr;

impl fmt::Display for MyErr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mine")
    }
}

impl std::error::Error for MyErr {}

impl From<SharedError> for MyErr {
    fn from(_: SharedError) -> Self {
        Self
    }
}

/// A service.
#[derive(Clone, Debug)]
pub struct Service {
    base: Arc<u64>,
    scope: CacheScope,
}

/// Gives nothing.
#[stampede_cached(ttl = 60)]
pub async fn unit(_id: u32) {
    tokio::task::yield_now().await;
}

/// Gives nothing, or fails.
///
/// # Errors
///
/// Id 0.
#[stampede_cached(ttl = 60)]
pub async fn unit_or_error(id: u32) -> Result<(), MyErr> {
    tokio::task::yield_now().await;
    if id == 0 {
        return Err(MyErr);
    }
    Ok(())
}

/// Everything that can be given.
///
/// # Errors
///
/// Never.
#[stampede_cached(
    ttl = "5m",
    jitter = "10%",
    early = 30,
    stale = 60,
    stale_if_error = "1h",
    skip(service),
    none_ttl = 5,
    err_ttl = "100ms",
    ttl_of = |_| None,
    outage = |_| true,
    timeout = 5,
    soft_timeout = 1,
    capacity = 1_000,
    weight = |value| u32::from(value.is_some()),
    tags = [format!("name:{name}")],
    scope = service.scope,
    beta = 1,
    backoff = 2,
    max_loads = 5,
    lead_after = 60,
    name = "everything"
)]
pub async fn everything(service: &Service, name: &str, (a, mut b): (u32, u64)) -> Result<Option<u64>, MyErr> {
    tokio::task::yield_now().await;
    b += *service.base;
    Ok(Some(b + u64::from(a) + name.len() as u64))
}

/// A batch.
#[stampede_cached(ttl = 60, each = ids, key(base: u64 = *service.base))]
pub async fn batch(service: Service, ids: &[u32]) -> HashMap<u32, u64> {
    tokio::task::yield_now().await;
    ids.iter().map(|id| (*id, *service.base)).collect()
}

/// Generic.
#[stampede_cached(ttl = 60, skip(call))]
pub async fn generic<T, const N: usize>(ids: [T; N], call: impl Fn(T) -> u64 + Clone + Send + 'static) -> u64
where
    T: Copy + Eq + std::hash::Hash + Send + Sync + 'static,
{
    tokio::task::yield_now().await;
    ids.iter().map(|id| call(*id)).sum()
}

/// In the caller.
#[stampede_cached(ttl = 60, run = "in_caller", skip(cell))]
#[allow(clippy::future_not_send, reason = "it is what this way to run is for")]
pub async fn in_caller(cell: &std::cell::Cell<u32>, id: u32) -> u32 {
    tokio::task::yield_now().await;
    cell.get() + id
}

/// Instrumented.
#[stampede_cached(ttl = 60)]
#[tracing::instrument]
pub async fn instrumented(id: u32) -> u32 {
    tokio::task::yield_now().await;
    id
}

impl Service {
    /// A method.
    #[stampede_cached(ttl = 60, key = id, scope = self.scope)]
    pub async fn method(&self, id: u64) -> u64 {
        tokio::task::yield_now().await;
        *self.base + id
    }

    /// Of an `Arc`.
    #[stampede_cached(ttl = 60, skip(self))]
    #[must_use]
    pub async fn of_an_arc(self: Arc<Self>, id: u64) -> u64 {
        tokio::task::yield_now().await;
        *self.base + id
    }

    /// An associated function.
    #[stampede_cached(ttl = 60, companions = false)]
    pub async fn associated(id: u64) -> u64 {
        tokio::task::yield_now().await;
        id
    }

    /// Instrumented.
    #[stampede_cached(ttl = 60, skip(self))]
    #[tracing::instrument(skip_all)]
    pub async fn instrumented_method(&self, id: u64) -> u64 {
        tokio::task::yield_now().await;
        *self.base + id
    }
}

/// A trait that is made of boxes.
#[async_trait::async_trait]
pub trait Repo {
    /// A method.
    async fn get(&self, id: u64) -> u64;
}

#[async_trait::async_trait]
impl Repo for Service {
    #[stampede_cached(ttl = 60, skip(self))]
    async fn get(&self, id: u64) -> u64 {
        tokio::task::yield_now().await;
        *self.base + id
    }
}

#[tokio::test]
async fn mac_13_lints_are_silent() {
    let service = Service { base: Arc::new(1), scope: CacheScope::new() };
    unit(1).await;
    assert!(unit_or_error(0).await.is_err());
    assert_eq!(everything(&service, "x", (1, 2)).await.ok(), Some(Some(5)));
    assert_eq!(batch(service.clone(), &[1]).await.len(), 1);
    assert_eq!(generic([1_u8, 2], u64::from).await, 3);
    assert_eq!(in_caller(&std::cell::Cell::new(1), 1).await, 2);
    assert_eq!(instrumented(1).await + 1, 2);
    assert_eq!(service.method(1).await + service.instrumented_method(1).await + service.get(1).await, 6);
    assert_eq!(Arc::new(service).of_an_arc(1).await + Service::associated(1).await, 3);
}
