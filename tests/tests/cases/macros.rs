//! MAC: what the attribute does to functions. The cases that are compile errors are in `tests/ui`.

use futures::{FutureExt as _, future::join_all};
use stampede_runtime::stampede_cached;
use stampede_tests::Runs;
use std::{
    fmt::{self, Display},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

#[derive(Debug)]
struct MyErr;

impl Display for MyErr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mine")
    }
}

impl std::error::Error for MyErr {}

impl From<stampede_runtime::SharedError> for MyErr {
    fn from(_: stampede_runtime::SharedError) -> Self {
        Self
    }
}

#[tokio::test]
async fn mac_01_bounds_reach_every_generated_function() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, key = format!("{l}\u{1}{r}"))]
    async fn glue<L, R>(l: L, r: R) -> Result<String, MyErr>
    where
        L: Display + Send + 'static,
        R: Display + Send + 'static,
    {
        let _run = RUNS.begin();
        Ok(format!("{l}-{r}"))
    }

    for _ in 0..2 {
        assert_eq!(glue(1_u8, "x").await.unwrap(), "1-x");
        assert_eq!(glue("y", 2.5_f64).await.unwrap(), "y-2.5");
    }
    assert_eq!(RUNS.count(), 2);
}

#[tokio::test]
async fn mac_03_instantiations_have_caches_of_their_own() {
    trait Repo: Send + Sync + 'static {
        fn tag(&self) -> &'static str;
    }
    struct Real;
    struct Fake;
    impl Repo for Real {
        fn tag(&self) -> &'static str {
            "real"
        }
    }
    impl Repo for Fake {
        fn tag(&self) -> &'static str {
            "fake"
        }
    }
    #[stampede_cached(ttl = 60, key = id, skip(repo))]
    async fn load<D: Repo>(repo: Arc<D>, id: u64) -> String {
        format!("{}:{id}", repo.tag())
    }

    assert_eq!(load(Arc::new(Real), 1).await, "real:1");
    assert_eq!(load(Arc::new(Fake), 1).await, "fake:1");
}

#[tokio::test]
async fn mac_05_methods_of_two_types_share_nothing() {
    #[derive(Clone)]
    struct One(u64);
    #[derive(Clone)]
    struct Two(u64);
    impl One {
        #[stampede_cached(ttl = 60, key = id, skip(self))]
        async fn get(&self, id: u64) -> u64 {
            self.0 + id
        }

        #[stampede_cached(ttl = 60, companions = false)]
        async fn assoc(id: u64) -> u64 {
            id
        }
    }
    impl Two {
        #[stampede_cached(ttl = 60, key = id, skip(self))]
        async fn get(&self, id: u64) -> u64 {
            self.0 + id
        }
    }

    assert_eq!((One(1).get(1).await, Two(2).get(1).await, One::assoc(1).await), (2, 3, 1));
    assert_eq!(One(5).get(1).await, 2, "`self` is skipped");
}

#[tokio::test]
async fn mac_07_a_borrowed_argument_is_owned_by_the_load() {
    #[derive(Clone)]
    struct Db(Arc<str>);
    #[stampede_cached(ttl = 60, early = 10, skip(db))]
    async fn row(db: &Db, id: u64) -> Result<String, MyErr> {
        tokio::task::yield_now().await;
        Ok(format!("{}{id}", db.0))
    }

    let db = Db("local".into());
    assert_eq!(row(&db, 1).await.unwrap(), "local1");
}

#[tokio::test]
async fn mac_09_impl_trait_arguments_share_an_entry() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, key = name.as_ref().to_owned())]
    async fn up(name: impl AsRef<str> + Send + 'static) -> String {
        let _run = RUNS.begin();
        name.as_ref().to_uppercase()
    }

    assert_eq!((up("a").await, up(String::from("a")).await), ("A".into(), "A".into()));
    // One cache for each type: what tells instantiations apart can't tell which of them mean the same.
    assert_eq!(RUNS.count(), 2);
    up("a").await;
    assert_eq!(RUNS.count(), 2);
}

#[tokio::test]
async fn mac_11_parameters_under_cfg() {
    #[stampede_cached(ttl = 60)]
    async fn f(a: u32, #[cfg(any())] b: u32, #[cfg(not(any()))] c: u32, #[allow(unused)] d: u32) -> u32 {
        a + c
    }

    assert_eq!(f(1, 2, 3).await, 3);
    assert_eq!(f_entry(1, 2, 3).get().await, Some(3));
}

#[tokio::test(start_paused = true)]
async fn mac_21_the_body_is_there_once() {
    #[stampede_cached(ttl = 60, early = 10)]
    async fn f(id: u32) -> u32 {
        static N: AtomicU32 = AtomicU32::new(0);
        const ONE: u32 = 1;
        struct Inner(u32);
        let closure = |n: u32| Inner(n + ONE).0;
        let _ = id;
        closure(N.fetch_add(1, SeqCst))
    }

    assert_eq!(f(1).await, 1);
    tokio::time::advance(Duration::from_secs(55)).await;
    assert_eq!(f(1).await, 1);
    while f(1).await != 2 {
        tokio::task::yield_now().await;
    }
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(f(1).await, 3);
}

#[tokio::test]
async fn mac_25_trait_methods() {
    #[async_trait::async_trait]
    trait Boxed {
        async fn f(&self) -> u32;
    }
    trait Native {
        async fn f(&self) -> u32;
    }
    static RUNS: Runs = Runs::new();
    #[derive(Clone)]
    struct S;
    #[async_trait::async_trait]
    impl Boxed for S {
        #[stampede_cached(ttl = 60, key = 0, skip(self))]
        async fn f(&self) -> u32 {
            let _run = RUNS.begin();
            1
        }
    }
    impl Native for S {
        #[stampede_cached(ttl = 60, key = 0, skip(self), companions = false)]
        async fn f(&self) -> u32 {
            let _run = RUNS.begin();
            2
        }
    }

    for _ in 0..2 {
        let object: Box<dyn Boxed> = Box::new(S);
        assert_eq!((object.f().await, Native::f(&S).await), (1, 2));
    }
    assert_eq!(RUNS.count(), 2);
}

/// Counts the spans of a name.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<&'static str>>>);

impl<S: tracing::Subscriber> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &tracing::span::Attributes<'_>, _: &tracing::span::Id, _: Context<'_, S>) {
        self.0.lock().unwrap().push(attributes.metadata().name());
    }
}

impl Spans {
    fn count(&self, name: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|found| **found == name).count()
    }
}

#[tokio::test]
async fn mac_27_attributes_stay_where_they_belong() {
    #[must_use]
    #[inline]
    #[allow(clippy::too_many_arguments)]
    #[cfg_attr(all(), doc = "d")]
    #[stampede_cached(ttl = 60)]
    #[tracing::instrument(skip_all)]
    async fn below(a: u8) -> u8 {
        a
    }

    #[tracing::instrument(skip_all, ret, err)]
    #[stampede_cached(ttl = 60)]
    async fn above(a: u8) -> Result<u8, String> {
        Ok(a)
    }

    #[derive(Clone, Debug)]
    struct Service;
    impl Service {
        #[tracing::instrument]
        #[stampede_cached(ttl = 60, skip(self))]
        async fn method_above(&self, a: u8) -> u8 {
            let Self = self;
            a
        }

        #[stampede_cached(ttl = 60, skip(self))]
        #[tracing::instrument(level = "info", ret)]
        async fn method_below(&self, a: u8) -> u8 {
            let Self = self;
            a
        }
    }

    let spans = Spans::default();
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
    for _ in 0..3 {
        assert_eq!((below(1).await, above(1).await), (1, Ok(1)));
        assert_eq!((Service.method_below(1).await, Service.method_above(1).await), (1, 1));
    }
    drop(guard);
    assert_eq!((spans.count("below"), spans.count("method_below")), (1, 1), "of the load");
    assert_eq!((spans.count("above"), spans.count("method_above")), (3, 3), "of every call");
}

mod plain {
    /// A `Result` that is none.
    pub(super) type Result = u32;
    #[stampede_runtime::stampede_cached(ttl = 60)]
    pub(super) async fn g() -> Result {
        7
    }
}

#[tokio::test]
async fn mac_31_results_are_found_by_type() {
    type Res<T> = Result<T, MyErr>;
    type Outcome = Result<u8, MyErr>;
    static RUNS: Runs = Runs::new();

    #[stampede_cached(ttl = 60)]
    async fn any(x: u32) -> anyhow::Result<String> {
        let _run = RUNS.begin();
        if x == 0 { Err(anyhow::anyhow!("none")) } else { Ok(x.to_string()) }
    }
    #[stampede_cached(ttl = 60, share_err = std::io::Error::other)]
    async fn io(x: u32) -> std::io::Result<u8> {
        let _run = RUNS.begin();
        u8::try_from(x).ok().filter(|x| *x > 0).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
    #[stampede_cached(ttl = 60)]
    async fn alias(x: u32) -> Res<u8> {
        let _run = RUNS.begin();
        if x == 0 { Err(MyErr) } else { Ok(1) }
    }
    #[stampede_cached(ttl = 60)]
    async fn whole(x: u32) -> Outcome {
        alias(x).await
    }

    for x in [0, 0, 1, 1] {
        let oks = [any(x).await.is_ok(), io(x).await.is_ok(), alias(x).await.is_ok(), whole(x).await.is_ok()];
        assert_eq!(oks, [x == 1; 4]);
    }
    // Three of them run each time for the error, `alias` once more for `whole`, and once for the answer.
    assert_eq!(RUNS.count(), 2 + 2 + 4 + 3);

    assert_eq!((plain::g().await, plain::g_entry().get().await), (7, Some(7)));
}

#[tokio::test]
async fn mac_33_bodies_that_diverge_or_coerce() {
    trait Tr: Send + Sync {
        fn n(&self) -> u32;
    }
    struct S;
    impl Tr for S {
        fn n(&self) -> u32 {
            7
        }
    }
    #[stampede_cached(ttl = 60)]
    async fn never(_x: u32) -> u32 {
        unimplemented!()
    }
    #[stampede_cached(ttl = 60)]
    async fn loops(x: u32) -> Result<u32, MyErr> {
        if x > 1 {
            return Err(MyErr);
        }
        let mut n = 0;
        loop {
            n += 1;
            if n > 3 {
                break Ok(n);
            }
        }
    }
    #[stampede_cached(ttl = 60)]
    async fn coerced(_x: u32) -> Arc<dyn Tr> {
        Arc::new(S)
    }

    assert!(std::panic::AssertUnwindSafe(never(1)).catch_unwind().await.is_err());
    assert_eq!((loops(1).await.unwrap(), loops(2).await.is_err(), coerced(1).await.n()), (4, true, 7));
}

#[tokio::test]
async fn mac_35_self_is_kept() {
    #[derive(Clone, Debug)]
    struct Svc {
        base: u64,
    }
    impl Svc {
        #[stampede_cached(ttl = 60, key = (self.base, id))]
        async fn show(&self, id: u64) -> String {
            struct In(u64);
            impl In {
                fn twice(&self) -> u64 {
                    self.0 * 2
                }
            }
            let f = |k: u64| self.base + k;
            tokio::task::yield_now().await;
            format!("{self:?} {} {}", f(id), In(id).twice()) + &Self::tag()
        }

        fn tag() -> String {
            "t".into()
        }
    }
    trait Show {
        async fn shown(&self, id: u64) -> String;
    }
    impl Show for Svc {
        #[stampede_cached(ttl = 60, key = (self.base, id), companions = false)]
        async fn shown(&self, id: u64) -> String {
            format!("{self:?}{id}")
        }
    }

    let svc = Svc { base: 5 };
    let shown = join_all([svc.show(1), svc.show(1)]).await;
    assert_eq!(shown, ["Svc { base: 5 } 6 2t"; 2]);
    assert_eq!(svc.shown(2).await, "Svc { base: 5 }2");
}
