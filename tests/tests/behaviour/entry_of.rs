//! `entry_of`: the entry of any call, where no companion can be named.

use stampede_runtime::{CacheScope, Freshness, entry_of, stampede_cached};
use stampede_tests::Runs;
use std::{future::Future, hash::Hash, pin::Pin, sync::Arc};

type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

trait Repo: Send + Sync {
    fn user(&self, id: u32) -> Answer<'_, String>;
}

#[derive(Clone)]
struct Db;

impl Db {
    #[stampede_cached(ttl = 60, skip(self), companions = false)]
    async fn load(&self, id: u32) -> String {
        format!("user {id}")
    }
}

impl Repo for Db {
    fn user(&self, id: u32) -> Answer<'_, String> {
        Box::pin(self.load(id))
    }
}

#[tokio::test]
async fn through_a_trait_object() {
    let repo: Arc<dyn Repo> = Arc::new(Db);
    let entry = entry_of::<String>(repo.user(7)).unwrap();
    assert_eq!(entry.state(), None, "nothing was loaded");
    entry.insert(String::from("planted")).await;
    assert_eq!(repo.user(7).await, "planted");
    assert_eq!(repo.user(8).await, "user 8");
    entry.invalidate().await;
    assert_eq!(repo.user(7).await, "user 7");
}

#[tokio::test]
async fn of_generic_functions_and_impl_trait_arguments() {
    static RUNS: Runs = Runs::new();

    #[stampede_cached(ttl = 60)]
    async fn generic<T: ToString + Hash + Eq + Clone + Send + Sync + 'static>(value: T) -> String {
        let _run = RUNS.begin();
        value.to_string()
    }

    #[stampede_cached(ttl = 60, key = name.as_ref().to_owned())]
    async fn named(name: impl AsRef<str> + Clone + Send + Sync + 'static) -> Result<usize, String> {
        let _run = RUNS.begin();
        Ok(name.as_ref().len())
    }

    assert!(entry_of::<String>(generic(7_u8)).unwrap().get().await.is_none());
    generic(7_u8).await;
    assert_eq!(entry_of::<String>(generic(7_u8)).unwrap().get().await.as_deref(), Some("7"));
    assert_eq!(entry_of::<String>(generic(7_u16)).unwrap().state(), None, "another set of types");
    assert_eq!(named("four").await, Ok(4));
    assert_eq!(entry_of::<usize>(named("four")).unwrap().state(), Some(Freshness::Fresh));
    assert_eq!(RUNS.count(), 2, "capturing runs nothing");
}

#[tokio::test]
async fn none_where_no_cached_call_is_reached_or_it_holds_another_type() {
    #[stampede_cached(ttl = 60)]
    async fn number() -> u32 {
        1
    }

    assert!(entry_of::<u32>(async { 1 }).is_none());
    assert!(entry_of::<String>(number()).is_none());
    let later = async {
        tokio::task::yield_now().await;
        number().await
    };
    assert!(entry_of::<u32>(later).is_none(), "the call is polled once");
}

#[tokio::test]
async fn in_the_scope_that_applies() {
    #[stampede_cached(ttl = 60)]
    async fn number() -> u32 {
        1
    }

    let scope = CacheScope::new();
    number().await;
    assert_eq!(entry_of::<u32>(scope.enter(number())).unwrap().state(), None);
    assert_eq!(entry_of::<u32>(number()).unwrap().state(), Some(Freshness::Fresh));
}
