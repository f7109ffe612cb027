//! Every shape of function: a hit, callers that share a load, a refresh in the background.

use futures::future::{BoxFuture, FutureExt as _, LocalBoxFuture, join_all};
use stampede_runtime::stampede_cached;
use stampede_tests::{Runs, until};
use std::{collections::HashMap, fmt::Display, rc::Rc, sync::Arc, time::Duration};

/// What each shape is called through: the id that is its key, and the number of the run as the answer.
type Call<'a> = &'a dyn Fn(u32) -> LocalBoxFuture<'static, u64>;

/// The same for every shape; each has `ttl = 60, early = 10` and counts its runs.
async fn check(runs: &Runs, call: Call<'_>) {
    assert_eq!(join_all((0..10).map(|_| call(1))).await, [1; 10], "ten callers share a load");
    assert_eq!(call(1).await, 1, "a hit");
    assert_eq!(call(2).await, 2, "another key");
    assert_eq!(runs.count(), 2);
    tokio::time::advance(Duration::from_secs(55)).await;
    let early = call(1).await;
    until(|| runs.count() == 3).await;
    // In the caller the refreshing one has the new answer itself.
    assert!(early == 1 || early == 3, "the early answer is {early}");
    while call(1).await != 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(runs.count(), 3);
}

async fn run(runs: &Runs) -> u64 {
    let run = runs.begin();
    tokio::task::yield_now().await;
    run.number
}

/// The same, where the body uses its argument.
async fn run_of(runs: &Runs, id: u32) -> u64 {
    assert!(id < 100);
    run(runs).await
}

/// A test of a shape: its functions, and the call.
macro_rules! shape {
    ($(#[$doc:meta])* $name:ident, $call:expr, $($items:item)*) => {
        mod $name {
            use super::*;
            static RUNS: Runs = Runs::new();
            $($items)*

            $(#[$doc])*
            #[tokio::test(start_paused = true)]
            async fn works() {
                check(&RUNS, &$call).await;
            }
        }
    };
}

shape! { free_function, |id| free(id, "x").boxed_local(),
    #[stampede_cached(ttl = 60, early = 10)]
    async fn free(id: u32, name: &'static str) -> u64 {
        assert_eq!(name, "x");
        run_of(&RUNS, id).await
    }
}

shape! { borrowed_arguments, |id| async move { borrowed(&id.to_string(), Some("x"), (&[1], 2), &Db).await }.boxed_local(),
    #[derive(Clone)]
    struct Db;

    #[stampede_cached(ttl = 60, early = 10, skip(db))]
    async fn borrowed<'a>(id: &'a str, name: Option<&str>, pair: (&[u8], u8), db: &'a Db) -> u64 {
        let Db = db;
        assert_eq!((name, pair), (Some("x"), (&[1][..], 2)), "{id}");
        run(&RUNS).await
    }
}

shape! { method, |id| async move { Service { base: 1 }.get(id).await }.boxed_local(),
    #[derive(Clone)]
    struct Service { base: u64 }

    impl Service {
        #[stampede_cached(ttl = 60, early = 10, key = (self.base, id))]
        async fn get(&self, id: u32) -> u64 {
            run_of(&RUNS, id).await * self.base
        }
    }
}

shape! { method_of_an_arc, |id| async move { Arc::new(Service).get(id).await }.boxed_local(),
    struct Service;

    impl Service {
        #[stampede_cached(ttl = 60, early = 10, skip(self))]
        async fn get(self: Arc<Self>, id: u32) -> u64 {
            self.run(id).await
        }

        async fn run(&self, _id: u32) -> u64 {
            run(&RUNS).await
        }
    }
}

shape! { method_by_value, |id| Service { id }.get().boxed_local(),
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Service { id: u32 }

    impl Service {
        #[stampede_cached(ttl = 60, early = 10)]
        async fn get(mut self) -> u64 {
            self.id += 1;
            run(&RUNS).await
        }
    }
}

shape! { associated_function, |id| Service::get(id).boxed_local(),
    struct Service;

    impl Service {
        #[stampede_cached(ttl = 60, early = 10, companions = false)]
        async fn get(id: u32) -> u64 {
            let Self = Self;
            run_of(&RUNS, id).await
        }
    }
}

shape! { trait_impl, |id| async move { Service.get(id).await }.boxed_local(),
    trait Repo { fn get(&self, id: u32) -> impl Future<Output = u64> + Send; }

    #[derive(Clone)]
    struct Service;

    impl Repo for Service {
        #[stampede_cached(ttl = 60, early = 10, skip(self), companions = false)]
        async fn get(&self, id: u32) -> u64 {
            let Self = self;
            run_of(&RUNS, id).await
        }
    }
}

shape! { under_async_trait, |id| async move { Arc::new(Service).get(&id.to_string(), 1).await }.boxed_local(),
    #[async_trait::async_trait]
    trait Repo: Send + Sync { async fn get(&self, id: &str, one: u64) -> u64; }

    #[derive(Clone)]
    struct Service;

    #[async_trait::async_trait]
    impl Repo for Service {
        #[stampede_cached(ttl = 60, early = 10, key = id, skip(self, one))]
        async fn get(&self, id: &str, one: u64) -> u64 {
            let Self = self;
            assert!(!id.is_empty(), "{id}");
            run(&RUNS).await * one
        }
    }
}

shape! { async_trait_under_instrument, |id| async move { Service.get(id).await }.boxed_local(),
    #[async_trait::async_trait]
    trait Repo: Send + Sync { async fn get(&self, id: u32) -> u64; }

    #[derive(Clone, Debug)]
    struct Service;

    #[async_trait::async_trait]
    impl Repo for Service {
        #[tracing::instrument]
        #[stampede_cached(ttl = 60, early = 10, skip(self))]
        async fn get(&self, id: u32) -> u64 {
            let _ = (self, id);
            run(&RUNS).await
        }
    }
}

shape! { under_instrument, |id| get(id).boxed_local(),
    #[tracing::instrument]
    #[stampede_cached(ttl = 60, early = 10)]
    async fn get(id: u32) -> u64 {
        run_of(&RUNS, id).await
    }
}

shape! { above_instrument, |id| get(id).boxed_local(),
    #[stampede_cached(ttl = 60, early = 10)]
    #[tracing::instrument(fields(twice = id * 2))]
    async fn get(mut id: u32) -> u64 {
        id += 1;
        run_of(&RUNS, id).await
    }
}

shape! { method_above_instrument, |id| async move { Service.get(id).await }.boxed_local(),
    #[derive(Clone, Debug)]
    struct Service;

    impl Service {
        #[stampede_cached(ttl = 60, early = 10, skip(self))]
        #[tracing::instrument(skip(self))]
        async fn get(&self, id: u32) -> u64 {
            self.run(id).await
        }

        async fn run(&self, _id: u32) -> u64 {
            run(&RUNS).await
        }
    }
}

shape! { generic, |id| get(id, "x").boxed_local(),
    #[stampede_cached(ttl = 60, early = 10)]
    async fn get<T, N>(id: T, name: N) -> u64
    where
        T: Clone + std::hash::Hash + Eq + Send + Sync + 'static,
        N: Display + Clone + std::hash::Hash + Eq + Send + Sync + 'static,
    {
        drop(id);
        assert_eq!(name.to_string(), "x");
        run(&RUNS).await
    }
}

shape! { const_generic, |id| get::<3>([id; 3]).boxed_local(),
    #[stampede_cached(ttl = 60, early = 10)]
    async fn get<const N: usize>(ids: [u32; N]) -> u64 {
        assert_eq!(ids.len(), N);
        run(&RUNS).await
    }
}

shape! { generic_impl, |id| async move { Service { of: Arc::new("x") }.get(id).await }.boxed_local(),
    struct Service<T> { of: Arc<T> }

    impl<T> Clone for Service<T> {
        fn clone(&self) -> Self {
            Self { of: Arc::clone(&self.of) }
        }
    }

    impl<T: Display + Send + Sync + 'static> Service<T> {
        #[stampede_cached(ttl = 60, early = 10, skip(self))]
        async fn get(&self, id: u32) -> u64 {
            assert_eq!(format!("{}", self.of), "x");
            run_of(&RUNS, id).await
        }
    }
}

shape! { impl_trait, |id| get(id.to_string(), || 1).boxed_local(),
    #[stampede_cached(ttl = 60, early = 10, key = id.as_ref(), skip(one))]
    async fn get(id: impl AsRef<str> + Send + 'static, one: impl Fn() -> u64 + Send + 'static) -> u64 {
        assert!(!id.as_ref().is_empty());
        let one = one();
        run(&RUNS).await * one
    }
}

shape! { patterns, |id| get((id, "x"), Wrapped { inner: 1 }, 5, 2).boxed_local(),
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Wrapped { inner: u64 }

    #[stampede_cached(ttl = 60, early = 10)]
    async fn get((_, name): (u32, &'static str), Wrapped { inner }: Wrapped, mut count: u8, _: u8) -> u64 {
        count += 1;
        assert_eq!((name, count), ("x", 6));
        run(&RUNS).await * inner
    }
}

shape! { cfg_parameters, |id| get(id, 7).boxed_local(),
    #[stampede_cached(ttl = 60, early = 10)]
    async fn get(id: u32, #[cfg(any())] gone: Gone, #[cfg(all())] #[allow(unused)] here: u8) -> u64 {
        let _ = id;
        run(&RUNS).await
    }
}

shape! { nested, |id| outer(id).boxed_local(),
    async fn outer(id: u32) -> u64 {
        #[stampede_cached(ttl = 60, early = 10)]
        async fn inner(id: u32) -> u64 {
            let _ = id;
            run(&RUNS).await
        }
        let _ = inner_cache();
        inner(id).await
    }
}

shape! { made_by_a_macro, |id| async move { assert_eq!(other(id, 0).await, 7); first(id, 0).await }.boxed_local(),
    macro_rules! cached {
        ($($name:ident $ty:ty, $ttl:expr, $skipped:ident, $body:expr;)*) => {$(
            #[stampede_cached(ttl = $ttl, early = $ttl / 6, skip($skipped))]
            async fn $name(id: $ty, $skipped: u8) -> u64 {
                let _ = (id, $skipped);
                $body
            }
        )*};
    }

    cached! {
        first u32, Duration::from_secs(59) + Duration::from_secs(1), unused, run(&RUNS).await;
        other u32, Duration::from_secs(59) + Duration::from_secs(1), unused, 7;
    }
}

shape! { in_caller, |id| get(id, Rc::new(1)).boxed_local(),
    #[stampede_cached(ttl = 60, early = 10, run = "in_caller", skip(rc))]
    async fn get(id: u32, rc: Rc<u64>) -> u64 {
        let _ = id;
        run(&RUNS).await * *rc
    }
}

shape! { in_caller_borrowing, |id| async move { get(&id, &[&"x"]).await }.boxed_local(),
    #[stampede_cached(ttl = 60, early = 10, run = "in_caller", skip(names))]
    async fn get(id: &u32, names: &[&&str]) -> u64 {
        let _ = id;
        run(&RUNS).await * names.len() as u64
    }
}

shape! { named_parts, |id| async move { get(Arc::new(Tenant { id, name: "x".into() }), "day").await }.boxed_local(),
    struct Tenant { id: u32, name: String }

    #[stampede_cached(ttl = 60, early = 10, key(tenant: u32 = who.id, name: &str = who.name, day))]
    async fn get(who: Arc<Tenant>, day: &str) -> u64 {
        assert_eq!((who.name.as_str(), day), ("x", "day"));
        let number = run(&RUNS).await;
        assert!(!get_entry(who.id, "x", "other").state().is_some_and(|_| true));
        number
    }
}

shape! { returns_a_result, |id| async move { get(id, "5").await.unwrap() }.boxed_local(),
    #[stampede_cached(ttl = 60, early = 10, skip(text))]
    async fn get(id: u32, text: &str) -> Result<u64, std::num::ParseIntError> {
        let five: u64 = text.parse()?;
        if id == 9 {
            return Ok(9);
        }
        Ok(run(&RUNS).await * five / 5)
    }
}

shape! { recursive, |id| get(id).boxed_local(),
    /// Calls itself through a boxed future, without which it has no finite type.
    #[stampede_cached(ttl = 60, early = 10)]
    async fn get(id: u32) -> u64 {
        if id > 100 {
            return again(id - 1).await;
        }
        run(&RUNS).await
    }

    fn again(id: u32) -> BoxFuture<'static, u64> {
        Box::pin(get(id))
    }
}

/// Two kinds of one function never share an entry.
#[tokio::test]
async fn instantiations_have_caches_of_their_own() {
    trait Repo: Send + Sync + 'static {
        const NAME: &str;
    }
    struct Real;
    struct Fake;
    impl Repo for Real {
        const NAME: &str = "real";
    }
    impl Repo for Fake {
        const NAME: &str = "fake";
    }

    #[stampede_cached(ttl = 60, skip(repo))]
    async fn load<R: Repo>(repo: Arc<R>, id: u32) -> String {
        drop(repo);
        format!("{}:{id}", R::NAME)
    }

    assert_eq!(load(Arc::new(Real), 1).await, "real:1");
    assert_eq!(load(Arc::new(Fake), 1).await, "fake:1");
    assert_eq!(load(Arc::new(Real), 1).await, "real:1");
}

/// The name under which a method's cache is listed tells its type.
#[tokio::test]
async fn methods_are_named_with_their_type() {
    #[derive(Clone)]
    struct Users;
    impl Users {
        #[stampede_cached(ttl = 60, skip(self))]
        async fn count(&self) -> HashMap<u32, u32> {
            let Self = self;
            HashMap::new()
        }
    }

    Users.count().await;
    assert_eq!(Users.count_cache().name(), "behaviour::shapes::Users::count");
}
