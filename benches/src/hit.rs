//! Hits: 1024 entries, one thread.

use std::sync::Arc;

use stampede_runtime::stampede_cached;
use tokio::runtime::Runtime;

use crate::child::{Figures, figure, say};
use crate::peers::{self, Parts};
use crate::table::{Bound, Row};
use crate::timing::{Contestant, by_round, calls, in_turns, ratio, single_threaded};

const ENTRIES: u64 = 1_024;
const ROUNDS: usize = 61;
/// In some layouts of memory everything takes twice as long.
const CHILDREN: usize = 7;

#[stampede_cached(ttl = 3600, jitter = 300, early = 600)]
async fn by_number(id: u64) -> Arc<u64> {
    Arc::new(id)
}

#[stampede_cached(ttl = 3600, jitter = 300, early = 600)]
async fn by_text(name: &str) -> Arc<u64> {
    Arc::new(name.len() as u64)
}

#[stampede_cached(ttl = 3600, jitter = 300, early = 600)]
async fn by_parts(name: &str, part: u32) -> Arc<u64> {
    Arc::new(name.len() as u64 + u64::from(part))
}

#[stampede_cached(ttl = 3600, jitter = 300, early = 600)]
async fn text_by_number(id: u64) -> String {
    text(id)
}

/// The nearest to no expiry that the attribute has.
#[stampede_cached(ttl = "forever")]
async fn for_ever(id: u64) -> Arc<u64> {
    Arc::new(id)
}

/// The keys of each shape.
#[derive(Debug)]
pub(crate) struct Keys {
    numbers: Vec<u64>,
    texts: Vec<String>,
    parts: Vec<(String, u32)>,
}

impl Keys {
    pub(crate) fn new() -> Self {
        let mut numbers: Vec<u64> = (0..ENTRIES).collect();
        fastrand::Rng::with_seed(1).shuffle(&mut numbers);
        let texts: Vec<String> = numbers.iter().map(|number| key(*number)).collect();
        let parts = texts.iter().cloned().zip(7..).collect();
        Self { numbers, texts, parts }
    }

    /// The annotated function for keys of this shape.
    pub(crate) fn ours<'a>(&'a self, runtime: &'a Runtime, shape: &str) -> Contestant<'a> {
        match shape {
            "str" => calls(runtime, &self.texts, |name| by_text(name)),
            "(str, u32)" => calls(runtime, &self.parts, |(name, part)| by_parts(name, *part)),
            "String value" => calls(runtime, &self.numbers, |id| text_by_number(*id)),
            "forever" => calls(runtime, &self.numbers, |id| for_ever(*id)),
            _ => calls(runtime, &self.numbers, |id| by_number(*id)),
        }
    }
}

/// A key of 24 bytes.
fn key(number: u64) -> String {
    format!("customer/{number:015}")
}

/// A value of 32 bytes.
pub(crate) fn text(number: u64) -> String {
    format!("{number:032}")
}

pub(crate) fn measure() {
    let runtime = &single_threaded();
    let keys = &Keys::new();
    beside_quick_cache(runtime, keys);
    beside_expiring_caches(runtime, keys);
    let [with, without] = in_turns(ROUNDS, ["u64", "forever"].map(|shape| keys.ours(runtime, shape)));
    say("windows", by_round(&with, &without, |with, without| with - without));
}

fn beside_quick_cache(runtime: &Runtime, keys: &Keys) {
    let arcs = peers::quick(2_048, keys.numbers.iter().map(|id| (*id, Arc::new(*id))));
    let by_text = peers::quick(2_048, keys.texts.iter().map(|name| (name.clone(), Arc::new(24))));
    let by_parts = peers::quick(2_048, keys.parts.iter().map(|parts| (parts.clone(), Arc::new(24))));
    let texts = peers::quick(2_048, keys.numbers.iter().map(|id| (*id, text(*id))));
    let quick: [(&str, Contestant); 4] = [
        ("u64", calls(runtime, &keys.numbers, async |id| arcs.get(id).expect("a hit"))),
        ("str", calls(runtime, &keys.texts, async |name| by_text.get(name.as_str()).expect("a hit"))),
        (
            "(str, u32)",
            calls(runtime, &keys.parts, async |parts| by_parts.get(&Parts(&parts.0, parts.1)).expect("a hit")),
        ),
        ("String value", calls(runtime, &keys.numbers, async |id| texts.get(id).expect("a hit"))),
    ];
    for (shape, quick) in quick {
        let [ours, quick] = in_turns(ROUNDS, [keys.ours(runtime, shape), quick]);
        say(shape, ratio(&ours, &quick));
    }
}

fn beside_expiring_caches(runtime: &Runtime, keys: &Keys) {
    let moka = peers::moka::<String, Arc<u64>>(2_048);
    let [ours, by_key, moka, concurrent] = in_turns(
        ROUNDS,
        [
            keys.ours(runtime, "str"),
            calls(runtime, &keys.texts, |name| peers::by_key(name)),
            calls(runtime, &keys.texts, |name| moka.get_with_by_ref(name.as_str(), async { Arc::new(24) })),
            calls(runtime, &keys.texts, |name| peers::concurrent(name)),
        ],
    );
    say("by_key", ratio(&by_key, &ours));
    say("moka", ratio(&moka, &ours));
    say("concurrent", ratio(&concurrent, &ours));
}

pub(crate) fn rows() -> Vec<Row> {
    let figures = Figures::of("hit", CHILDREN);
    let beside_quick = [("u64", 1.5), ("str", 1.3), ("(str, u32)", 1.25), ("String value", 1.25)];
    let beside_quick = beside_quick.map(|(shape, most)| {
        Row::goal(2, format!("hit ÷ `quick_cache` get: {shape}"), figure(&figures, shape), Bound::AtMost(most))
    });
    let peers = [
        ("by_key", "`cached` by_key", 7.0),
        ("moka", "`moka` get_with_by_ref, ttl", 7.0),
        ("concurrent", "`concurrent_cached`, ttl", 2.5),
    ];
    let beside_peers = peers.map(|(name, peer, least)| {
        Row::goal(3, format!("{peer} ÷ hit: str"), figure(&figures, name), Bound::AtLeast(least))
    });
    let windows =
        Row::goal(4, "ttl + jitter + early − hit without expiry", figure(&figures, "windows"), Bound::AtMost(6.0));
    beside_quick.into_iter().chain(beside_peers).chain([windows.in_unit("ns")]).collect()
}
