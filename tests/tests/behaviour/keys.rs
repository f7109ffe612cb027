//! Keys: looked up borrowed, kept owned; what is one entry and what is not.

use futures::FutureExt;
use stampede_runtime::{CacheScope, stampede_cached};
use stampede_tests::Runs;
use std::{
    borrow::ToOwned,
    fmt::Debug,
    hash::Hash,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::Duration,
};

/// A call that needs no load.
fn hit<F: Future>(call: F) -> F::Output {
    call.now_or_never().expect("a hit")
}

#[tokio::test(start_paused = true)]
async fn text_is_found_by_whoever_holds_it() {
    #[stampede_cached(ttl = 60)]
    async fn f(name: &str, owned: &String, number: u32) -> String {
        format!("{name} {owned} {number}")
    }

    assert_eq!(f("a", &String::from("b"), 1).await, "a b 1");
    let (name, owned) = (String::from("xa"), String::from("b"));
    assert_eq!(hit(f(&name[1..], &owned, 1)), "a b 1");
    assert_eq!(f_entry("a", &owned, 1).get().await.as_deref(), Some("a b 1"));
    for other in [f("A", &owned, 1), f("a", &name, 1), f("a", &owned, 2), f("", &owned, 1)] {
        assert!(other.now_or_never().is_none(), "a hit on another's entry");
    }
}

#[tokio::test(start_paused = true)]
async fn slices_arrays_and_paths_are_found_borrowed() {
    #[stampede_cached(ttl = 60)]
    async fn f(numbers: &[u32], names: &[String], raw: &[u8; 2], path: &Path) -> String {
        format!("{numbers:?} {names:?} {raw:?} {}", path.display())
    }

    let names = vec![String::from("a"), String::from("b")];
    let answer = r#"[1, 2] ["a", "b"] [3, 4] /tmp/x"#;
    assert_eq!(f(&[1, 2], &names, &[3, 4], Path::new("/tmp/x")).await, answer);
    let (numbers, path) = (vec![1, 2], PathBuf::from("/tmp").join("x"));
    assert_eq!(hit(f(&numbers, &names.clone(), &[3, 4], &path)), answer);
    for other in [
        f(&[1], &names, &[3, 4], &path),
        f(&[1, 2, 0], &names, &[3, 4], &path),
        f(&[1, 2], &names[..1], &[3, 4], &path),
        f(&[1, 2], &names, &[4, 3], &path),
        f(&[1, 2], &names, &[3, 4], Path::new("/tmp/y")),
    ] {
        assert!(other.now_or_never().is_none(), "a hit on another's entry");
    }
}

type Call<'a> = (Option<&'a str>, (u32, Option<&'a [u8]>));

#[tokio::test(start_paused = true)]
async fn options_and_tuples_of_references_are_found_borrowed() {
    #[stampede_cached(ttl = 60)]
    async fn f(name: Option<&str>, pair: (u32, Option<&[u8]>)) -> String {
        format!("{name:?} {pair:?}")
    }

    let calls: [Call<'_>; 6] = [
        (None, (1, None)),
        (Some(""), (1, None)),
        (Some("b"), (1, None)),
        (Some("b"), (1, Some(&[]))),
        (Some("b"), (1, Some(&[1, 2]))),
        (Some("b"), (2, Some(&[1, 2]))),
    ];
    for (name, pair) in calls {
        assert!(f_entry(name, pair).state().is_none(), "a hit on another's entry");
        assert_eq!(f(name, pair).await, format!("{name:?} {pair:?}"));
    }
    let (name, bytes) = (String::from("b"), vec![1, 2]);
    assert_eq!(hit(f(Some(&name), (2, Some(&bytes)))), r#"Some("b") (2, Some([1, 2]))"#);
    assert_eq!(f_cache().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn parts_stay_apart() {
    #[stampede_cached(ttl = 60)]
    async fn f(one: &str, two: &str) -> String {
        format!("{one}|{two}")
    }

    let calls = [("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("a|", "bc"), ("a", "|bc"), ("a\0", "bc")];
    for (one, two) in calls {
        assert_eq!(f(one, two).await, format!("{one}|{two}"));
    }
    assert_eq!(f_cache().len(), 7);
}

#[tokio::test(start_paused = true)]
async fn more_parts_than_a_tuple_has() {
    #[stampede_cached(ttl = 60)]
    #[expect(clippy::too_many_arguments, reason = "that is the point")]
    async fn f(
        p01: u8,
        p02: u8,
        p03: u8,
        p04: u8,
        p05: u8,
        p06: u8,
        p07: u8,
        p08: u8,
        p09: u8,
        p10: u8,
        p11: u8,
        p12: u8,
        p13: &str,
        p14: u8,
    ) -> String {
        format!("{p01}{p02}{p03}{p04}{p05}{p06}{p07}{p08}{p09}{p10}{p11}{p12}{p13}{p14}")
    }

    assert_eq!(f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, "m", 14).await, "123456789101112m14");
    assert_eq!(hit(f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, &String::from("m"), 14)), "123456789101112m14");
    assert_eq!(f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, "m", 15).await, "123456789101112m15");
}

#[tokio::test(start_paused = true)]
async fn generic_functions_have_a_cache_per_type() {
    #[stampede_cached(ttl = 60)]
    async fn by_type<T>(part: T) -> String
    where
        T: Hash + Eq + Clone + Debug + Send + Sync + 'static,
    {
        format!("{} {part:?}", std::any::type_name::<T>())
    }
    #[stampede_cached(ttl = 60)]
    async fn by_type_alone<T: Default + Debug + Send + 'static>() -> String {
        format!("{:?}", T::default())
    }
    #[stampede_cached(ttl = 60)]
    async fn by_const<const N: usize>(id: u32) -> usize {
        N + id as usize
    }
    #[stampede_cached(ttl = 60, key = part.to_string())]
    async fn by_impl(part: impl ToString + Send + 'static) -> String {
        std::any::type_name_of_val(&part).to_owned()
    }

    for _ in 0..2 {
        assert_eq!(
            (&*by_type(1_u8).await, &*by_type(1_u16).await, &*by_type('1').await),
            ("u8 1", "u16 1", "char '1'")
        );
        assert_eq!((&*by_type_alone::<u8>().await, &*by_type_alone::<bool>().await), ("0", "false"));
        assert_eq!((by_const::<1>(1).await, by_const::<2>(1).await), (2, 3));
        assert_eq!((&*by_impl(1_u8).await, &*by_impl(1_u16).await), ("u8", "u16"));
    }
    assert_eq!(hit(by_type(1_u16)), "u16 1");
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Account(u32);

#[derive(Clone)]
struct Repo {
    id: u32,
    caches: CacheScope,
}

static REPO_RUNS: Runs = Runs::new();

impl Account {
    #[stampede_cached(ttl = 60)]
    async fn balance(&self, day: u32) -> u32 {
        self.0 * 100 + day
    }
}

impl Repo {
    #[stampede_cached(ttl = 60, key = (self.id, user))]
    async fn by_id(&self, user: u32) -> u32 {
        self.id * 100 + user
    }

    #[stampede_cached(ttl = 60, scope = self.caches)]
    async fn by_scope(&self, user: u32) -> u32 {
        self.id * 100 + user
    }

    #[stampede_cached(ttl = 60, skip(self))]
    async fn shared(&self, user: u32) -> u64 {
        REPO_RUNS.begin().number * 100 + u64::from(user)
    }
}

#[tokio::test(start_paused = true)]
async fn two_instances_are_told_apart_unless_said_otherwise() {
    let (one, two) = (Repo { id: 1, caches: CacheScope::new() }, Repo { id: 2, caches: CacheScope::new() });
    for _ in 0..2 {
        assert_eq!((Account(1).balance(7).await, Account(2).balance(7).await), (107, 207));
        assert_eq!((one.by_id(7).await, two.by_id(7).await), (107, 207));
        assert_eq!((one.by_scope(7).await, two.by_scope(7).await), (107, 207));
        assert_eq!((one.shared(7).await, two.shared(7).await), (107, 107));
    }
    assert_eq!((one.by_id_cache().len(), one.by_scope_cache().len(), two.by_scope_cache().len()), (2, 1, 1));
    two.by_scope_entry(7).invalidate().await;
    one.by_id_entry(7).invalidate().await;
    assert_eq!((hit(one.by_scope(7)), hit(two.by_id(7)), hit(Account(1).balance(7))), (107, 207, 107));
}

#[tokio::test(start_paused = true)]
async fn a_key_of_nothing_is_one_entry() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, key = (), skip(name))]
    async fn f(name: &str) -> String {
        RUNS.begin();
        name.to_owned()
    }

    assert_eq!((f("a").await, hit(f("b")), RUNS.count()), ("a".into(), "a".into(), 1));
    f_entry().insert("c".into()).await;
    assert_eq!((hit(f("b")), f_cache().len()), ("c".into(), 1));
}

#[tokio::test(start_paused = true)]
async fn what_is_skipped_does_not_count() {
    #[stampede_cached(ttl = 60, skip(verbose))]
    async fn f(id: u32, verbose: bool) -> String {
        format!("{id} {verbose}")
    }

    assert_eq!(f(1, true).await, "1 true");
    assert_eq!(hit(f(1, false)), "1 true");
    assert_eq!(f(2, false).await, "2 false");
    f_entry(1).invalidate().await;
    assert_eq!(f(1, false).await, "1 false");
}

#[tokio::test(start_paused = true)]
async fn key_expressions_are_evaluated_once_by_calls_and_companions() {
    static KEYS: AtomicU64 = AtomicU64::new(0);
    fn lower(name: &str) -> String {
        KEYS.fetch_add(1, SeqCst);
        name.to_lowercase()
    }
    #[stampede_cached(ttl = 60, key = (lower(name), &*page.to_string(), limit))]
    async fn f(name: &str, page: u32, limit: Option<u32>) -> String {
        format!("{name} {page} {limit:?}")
    }

    assert_eq!(f("Ann", 1, None).await, "Ann 1 None");
    assert_eq!(KEYS.load(SeqCst), 1);
    assert_eq!(hit(f("ANN", 1, None)), "Ann 1 None");
    assert_eq!(KEYS.load(SeqCst), 2);
    let entry = f_entry("anN", 1, None);
    assert_eq!(entry.get().await.as_deref(), Some("Ann 1 None"));
    entry.insert("planted".into()).await;
    assert_eq!(KEYS.load(SeqCst), 3);
    assert_eq!(hit(f("aNN", 1, None)), "planted");
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(f("Ann", 1, None).await, "Ann 1 None");
    assert_eq!(KEYS.load(SeqCst), 5);
}
