//! KEY: what tells entries apart, and what must not.

use futures::{FutureExt, future::join_all};
use stampede_runtime::stampede_cached;
use stampede_tests::{Gate, Runs, soon};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::{Hash, Hasher},
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::Duration,
};
use tokio::time::sleep;

mod m1 {
    #[stampede_runtime::stampede_cached(ttl = 60)]
    pub(super) async fn get(id: u32) -> String {
        format!("m1 {id}")
    }
}

mod m2 {
    #[stampede_runtime::stampede_cached(ttl = 60)]
    pub(super) async fn get(id: u32) -> String {
        format!("m2 {id}")
    }
}

struct A;
struct B;
struct Generic<T>(T);

impl A {
    #[stampede_cached(ttl = 60, skip(self))]
    async fn get(&self, id: u32) -> String {
        format!("A {id}")
    }
}

impl B {
    #[stampede_cached(ttl = 60, skip(self))]
    async fn get(&self, id: u32) -> String {
        format!("B {id}")
    }

    #[stampede_cached(ttl = 60, companions = false)]
    async fn associated(id: u32) -> String {
        format!("B:: {id}")
    }
}

impl A {
    #[stampede_cached(ttl = 60, companions = false)]
    async fn associated(id: u32) -> String {
        format!("A:: {id}")
    }
}

impl<T: Clone + Send + Sync + std::fmt::Debug + 'static> Generic<T> {
    #[stampede_cached(ttl = 60, skip(self), companions = false)]
    async fn get(&self, id: u32) -> String {
        format!("{} {id}", std::any::type_name::<T>())
    }
}

async fn of_one_body() -> String {
    #[stampede_cached(ttl = 60)]
    async fn get(id: u32) -> String {
        format!("one {id}")
    }
    get(1).await
}

async fn of_another_body() -> String {
    #[stampede_cached(ttl = 60)]
    async fn get(id: u32) -> String {
        format!("another {id}")
    }
    get(1).await
}

#[tokio::test(start_paused = true)]
async fn key_02_functions_of_one_name_have_entries_of_their_own() {
    for _ in 0..2 {
        assert_eq!((&*m1::get(1).await, &*m2::get(1).await), ("m1 1", "m2 1"));
        assert_eq!((&*A.get(1).await, &*B.get(1).await), ("A 1", "B 1"));
        assert_eq!((&*A::associated(1).await, &*B::associated(1).await), ("A:: 1", "B:: 1"));
        assert_eq!((&*Generic(1_u8).get(1).await, &*Generic(1_u16).get(1).await), ("u8 1", "u16 1"));
        assert_eq!((&*of_one_body().await, &*of_another_body().await), ("one 1", "another 1"));
    }
    let names = [m1::get_cache(), m2::get_cache()].map(|cache| cache.name().to_owned());
    assert!(names[0].ends_with("::keys::m1::get") && names[1].ends_with("::keys::m2::get"), "{names:?}");
}

type Options = HashMap<String, Vec<HashMap<u8, u8>>>;

fn ordered(options: &Options) -> BTreeMap<String, Vec<BTreeMap<u8, u8>>> {
    let map = |map: &HashMap<u8, u8>| map.iter().map(|(&key, &value)| (key, value)).collect();
    options.iter().map(|(name, maps)| (name.clone(), maps.iter().map(map).collect())).collect()
}

/// A `HashMap` itself is no key part: it is not `Hash` (a compile error, among the UI tests). This is the way out.
#[tokio::test(start_paused = true)]
async fn key_04_maps_in_a_stable_order_are_one_key() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, key = ordered(&options))]
    async fn f(options: Options) -> u64 {
        assert_eq!(options.len(), 20);
        RUNS.begin().number
    }

    let options = |reverse: bool| -> Options {
        let mut pairs: Vec<_> = (0..20_u8).map(|n| (n.to_string(), vec![(0..9).map(|k| (k, n)).collect()])).collect();
        if reverse {
            pairs.reverse();
        }
        pairs.into_iter().collect()
    };
    for turn in 0..100 {
        assert_eq!(f(options(turn % 2 == 0)).await, 1);
    }
    assert_eq!(RUNS.count(), 1);
}

const STRANGE: [&str; 17] = [
    "",
    " ",
    "a b",
    "a\r\nDEL x",
    "\0",
    "\0\0",
    "a\0b",
    "a",
    "{x}",
    "}{",
    "{}",
    "%00",
    "'; --",
    "\u{202e}",
    "\u{e9}",
    "e\u{301}",
    "\"",
];

#[tokio::test(start_paused = true)]
async fn key_06_strange_characters_are_told_apart() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn text(s: &str) -> String {
        RUNS.begin();
        s.to_owned()
    }
    #[stampede_cached(ttl = 60)]
    async fn bytes(b: Vec<u8>) -> Vec<u8> {
        RUNS.begin();
        b
    }
    #[stampede_cached(ttl = 60)]
    async fn character(c: char) -> char {
        RUNS.begin();
        c
    }
    let raw: [&[u8]; 6] = [&[], &[0xff], &[0x00], &[0xfe], &[0xff, 0xff], &[0xef, 0xbf, 0xbd]];
    let characters = ['\0', '\u{1}', 'e', '\u{e9}', '\u{fffd}', '\u{10ffff}'];

    for _ in 0..2 {
        for s in STRANGE {
            assert_eq!(text(s).await, s);
        }
        for b in raw {
            assert_eq!(bytes(b.to_vec()).await, b);
        }
        for c in characters {
            assert_eq!(character(c).await, c);
        }
    }
    assert_eq!(RUNS.count(), (STRANGE.len() + raw.len() + characters.len()) as u64);
    assert_eq!((text_cache().len(), bytes_cache().len(), character_cache().len()), (17, 6, 6));
}

#[tokio::test(start_paused = true)]
async fn key_08_keys_that_share_a_lock_load_at_once_and_get_their_own() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, capacity = 20_000)]
    async fn f(id: u32) -> u32 {
        let _run = RUNS.begin();
        sleep(Duration::from_secs(1)).await;
        id
    }

    let begin = tokio::time::Instant::now();
    let values = soon(join_all((0..10_000).map(f))).await;
    assert!(values.into_iter().eq(0..10_000));
    assert_eq!((RUNS.count(), RUNS.most_at_once()), (10_000, 10_000));
    assert!(begin.elapsed() < Duration::from_secs(2), "some waited for others");
}

/// All of these have one hash.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Colliding(u32);

impl Hash for Colliding {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[tokio::test(start_paused = true)]
async fn key_08_keys_of_one_hash_are_told_apart() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, tags = [format!("tag {}", key.0)])]
    async fn f(key: Colliding) -> u32 {
        let _run = RUNS.begin();
        sleep(Duration::from_secs(1)).await;
        key.0
    }

    for _ in 0..2 {
        let values = soon(join_all((0..100).map(|id| f(Colliding(id))))).await;
        assert!(values.into_iter().eq(0..100));
    }
    assert_eq!((RUNS.count(), f_cache().len()), (100, 100));
    f_entry(Colliding(7)).invalidate().await;
    assert_eq!(f_entry(Colliding(7)).get().await, None);
    assert_eq!((f_entry(Colliding(8)).get().await, f_cache().len()), (Some(8), 99));
    f_entry(Colliding(9)).insert(99).await;
    assert_eq!((f(Colliding(9)).await, f(Colliding(10)).await), (99, 10));
    f_cache().invalidate_tag("tag 50").await;
    assert_eq!((f_entry(Colliding(50)).get().await, f_entry(Colliding(51)).get().await), (None, Some(51)));
    assert_eq!(f_cache().len(), 98);
}

#[tokio::test(start_paused = true)]
async fn key_10_one_name_and_key_with_two_types_are_two_caches() {
    #[stampede_cached(ttl = 60, key = "k".to_owned(), name = "key_10")]
    async fn a() -> u32 {
        sleep(Duration::from_secs(1)).await;
        1
    }
    #[stampede_cached(ttl = 60, key = "k".to_owned(), name = "key_10")]
    async fn b() -> String {
        sleep(Duration::from_secs(1)).await;
        String::from("b")
    }

    for _ in 0..2 {
        let (numbers, texts) =
            soon(futures::future::join(join_all((0..10).map(|_| a())), join_all((0..10).map(|_| b())))).await;
        assert!(numbers.iter().all(|&number| number == 1) && texts.iter().all(|text| text == "b"));
    }
    assert_eq!((a_cache().stats().loads, b_cache().stats().loads), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn key_12_the_key_expression_is_evaluated_once_a_call() {
    static KEYS: AtomicU64 = AtomicU64::new(0);
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    #[stampede_cached(ttl = 60, early = 10, key = { KEYS.fetch_add(1, SeqCst); id })]
    async fn f(id: u32) -> u32 {
        RUNS.begin();
        GATE.pass().await;
        id
    }

    let leader = tokio::spawn(f(1));
    soon(GATE.arrival()).await;
    assert_eq!(KEYS.load(SeqCst), 1, "a miss");
    let follower = tokio::spawn(f(1));
    tokio::task::yield_now().await;
    assert_eq!(KEYS.load(SeqCst), 2, "a call that joins");
    GATE.open(2);
    soon(leader).await.expect("a value");
    soon(follower).await.expect("a value");
    f(1).await;
    assert_eq!(KEYS.load(SeqCst), 3, "a hit");
    sleep(Duration::from_secs(55)).await;
    f(1).await;
    soon(GATE.arrival()).await;
    assert_eq!((KEYS.load(SeqCst), RUNS.count()), (4, 2), "a refresh");
}

/// A part that counts its clones.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Part(u32);

static CLONES: AtomicU64 = AtomicU64::new(0);

impl Clone for Part {
    fn clone(&self) -> Self {
        CLONES.fetch_add(1, SeqCst);
        Self(self.0)
    }
}

#[tokio::test(start_paused = true)]
async fn key_12_a_hit_clones_no_part() {
    #[stampede_cached(ttl = 60)]
    async fn f(part: Part) -> u32 {
        part.0
    }

    f(Part(1)).await;
    let after_the_miss = CLONES.load(SeqCst);
    for _ in 0..10 {
        assert_eq!(f(Part(1)).await, 1);
    }
    assert_eq!(CLONES.load(SeqCst), after_the_miss);
}

#[tokio::test(start_paused = true)]
async fn key_12_a_key_that_panics_is_its_callers_alone() {
    static RUNS: Runs = Runs::new();
    static GATE: Gate = Gate::new();
    fn key(id: u32, panics: bool) -> u32 {
        assert!(!panics, "key_12: the key panics");
        id
    }
    #[stampede_cached(ttl = 60, key = key(id, panics))]
    async fn f(id: u32, panics: bool) -> u32 {
        RUNS.begin();
        GATE.pass().await;
        id
    }

    let leader = tokio::spawn(f(1, false));
    soon(GATE.arrival()).await;
    assert!(AssertUnwindSafe(f(1, true)).catch_unwind().await.is_err());
    GATE.open(1);
    assert_eq!(soon(leader).await.expect("not its panic"), 1);
    assert_eq!((f(1, false).await, RUNS.count()), (1, 1));
}

#[test]
fn key_06_the_strange_ones_differ() {
    assert_eq!(STRANGE.iter().collect::<HashSet<_>>().len(), STRANGE.len());
}
