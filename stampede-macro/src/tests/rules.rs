//! Each rule: one error, at the user's token, with what to write instead.

use super::{error, errors};

/// Wrong use, the text that the error points at, and something it says.
type Wrong<'a> = (&'a str, &'a str, &'a str, &'a str);

#[track_caller]
fn check(all: &[Wrong<'_>]) {
    for &(args, item, at, says) in all {
        let said = error(args, item);
        assert_eq!(said.at, at, "#[stampede_cached({args})] {item}: {}", said.message);
        assert!(said.message.contains(says), "#[stampede_cached({args})] {item}: {}", said.message);
        assert!(said.message.contains("\nhelp: "), "no help: {}", said.message);
    }
}

const PLAIN: &str = "async fn f(id: u32) -> u32 { id }";
const RESULT: &str = "async fn f(id: u32) -> Result<u32, E> { Ok(id) }";

#[test]
fn arguments_are_known_and_given_once() {
    check(&[
        ("ttll = 60", PLAIN, "ttll", "write `ttl`; the arguments are `ttl`, `jitter`"),
        ("ttl = 60, tll_of = f", PLAIN, "tll_of", "write `ttl_of`"),
        ("ttl = 60, quux = 1", PLAIN, "quux", "help: the arguments are"),
        ("ttl = 60, ttl = 30", PLAIN, "ttl", "given twice"),
        ("ttl = 60, skip(), skip()", PLAIN, "skip", "given twice"),
        ("ttl", PLAIN, "ttl", "write `ttl = ..`"),
        ("ttl(60)", PLAIN, "ttl", "write `ttl = ..`"),
        ("ttl = ", PLAIN, "ttl", "write `ttl = ..`"),
        ("300", PLAIN, "300", "`ttl = 300`"),
        ("ttl = 60 jitter = 5", PLAIN, "jitter", "comma"),
        ("ttl = 60, skip = id", PLAIN, "skip", "`skip(db)`"),
        ("ttl = 60, skip(id.0)", PLAIN, ".", "`key = (..)`"),
        ("ttl = 60, crate = 5", PLAIN, "5", "path of the runtime"),
        ("ttl = 60, run = \"detach\"", PLAIN, "\"detach\"", "write `\"detached\"`; the words are"),
        ("ttl = 60, run = x", PLAIN, "x", "\"in_caller\""),
        ("ttl = 60, mode = \"off\"", PLAIN, "\"off\"", "\"ignore\""),
        ("ttl = 60, companions = 1", PLAIN, "1", "`companions = false`"),
    ]);
}

#[test]
fn later_releases_bring_some() {
    check(&[("ttl = 60, store(name = \"x\")", PLAIN, "store", "later release")]);
}

#[test]
fn key_parts_can_have_names() {
    check(&[
        ("ttl = 60, key()", PLAIN, "key", "`key = ()`"),
        ("ttl = 60, key(id: u32)", PLAIN, "id", "has no value"),
        ("ttl = 60, key(id = id)", PLAIN, "=", "`name: Type = expression`"),
        ("ttl = 60, key(id.x)", PLAIN, ".", "without names"),
        ("ttl = 60, key(\"id\")", PLAIN, "\"id\"", "without names"),
        ("ttl = 60, key(id, id: u8 = 1)", PLAIN, "id", "two parts `id`"),
        ("ttl = 60, key(ib)", PLAIN, "ib", "write `id`, or give the part a type"),
        ("ttl = 60, key(x: u8 = 1)", PLAIN, "id", "add `skip(id)`"),
    ]);
    for (args, item) in [
        ("ttl = 60, key(id)", PLAIN),
        ("ttl = 60, key(tenant: u64 = t.id, day)", "async fn f(t: Tenant, day: &str) -> u32 { 1 }"),
        ("ttl = 60, key(self, id)", "async fn f(&self, id: u32) -> u32 { 1 }"),
    ] {
        assert!(errors(args, item).is_empty(), "#[stampede_cached({args})] {item}");
    }
}

#[test]
fn batches_have_a_slice_of_ids() {
    let batch = "async fn f(db: &Db, ids: &[u32]) -> Vec<(u32, u8)> { x }";
    check(&[
        ("ttl = 60, each = ids", "async fn f(id: u8) -> Map { x }", "ids", "write `id`"),
        ("ttl = 60, each = id", "async fn f(id: u32) -> Map { x }", "u32", "`&[Id]`"),
        ("ttl = 60, each = ids", "async fn f(ids: &[u8]) -> Result<Vec<u8>, E> { x }", "Vec<u8>", "`Vec<(Id, Value)>`"),
        ("ttl = 60, each = \"ids\"", batch, "\"ids\"", "write `each = ids`"),
        ("ttl = 60, each = ids, skip(db, ids)", batch, "ids", "remove it from `skip`"),
        ("ttl = 60, each = ids, key = ids, skip(db)", batch, "ids", "leave it out of `key`"),
        ("ttl = 60, each = ids, key = ()", batch, "db", "add `skip(db)`"),
        ("ttl = 60, each = ids", "async fn f(ids: &[&str]) -> Vec<(String, u8)> { x }", "&", "`&[String]`"),
        ("ttl = 60, each = ids", "async fn f(ids: &[f64]) -> Vec<(u8, u8)> { x }", "f64", "`&[u64]`"),
        (
            "ttl = 60, each = ids",
            "async fn f((ids, _): (Vec<u8>, u8)) -> Vec<(u8, u8)> { x }",
            "ids",
            "give the parameter a name",
        ),
        ("ttl = 60, each = self", "async fn f(&self) -> Vec<(u8, u8)> { x }", "self", "`each = ids`"),
    ]);
    for item in [
        batch,
        "async fn f(db: Db, mut ids: Vec<u32>) -> Vec<(u32, u8)> { x }",
        "async fn f(db: Db, ids: &Vec<u32>) -> Map { x }",
    ] {
        assert!(errors("ttl = 60, each = ids, skip(db), none_ttl = 5", item).is_empty(), "{item}");
    }
}

#[test]
fn lengths_of_time_can_be_read() {
    check(&[
        ("ttl = -5", PLAIN, "-5", "negative"),
        ("ttl = 1.5", PLAIN, "1.5", "write \"1.5s\""),
        ("ttl = 5u8", PLAIN, "5u8", "no suffix"),
        ("ttl = true", PLAIN, "true", "no length of time"),
        ("ttl = \"60\"", PLAIN, "\"60\"", "write \"60s\""),
        ("ttl = \"5 parsecs\"", PLAIN, "\"5 parsecs\"", "`parsecs` is no unit of time"),
        ("ttl = \"10%\"", PLAIN, "\"10%\"", "a share makes sense only"),
        ("ttl = 60, early = \"x%\"", PLAIN, "\"x%\"", "no share of `ttl`"),
        ("ttl = \"\"", PLAIN, "\"\"", "empty"),
        ("ttl = \"m\"", PLAIN, "\"m\"", "no length of time"),
        ("ttl = 99999999999999999999", PLAIN, "99999999999999999999", "too large"),
        ("ttl = \"999999999999999999w\"", PLAIN, "\"999999999999999999w\"", "too long"),
    ]);
}

#[test]
fn numbers_hold_together() {
    check(&[
        ("jitter = 3", PLAIN, "", "`ttl` is missing"),
        ("ttl = 60, jitter = 60", PLAIN, "60", "`jitter` must be less than `ttl` (60s)"),
        ("ttl = 60, jitter = \"100%\"", PLAIN, "\"100%\"", "`jitter` must be less"),
        ("ttl = 60, early = 60", PLAIN, "60", "`early` must be less than `ttl` (60s)"),
        ("ttl = 60, early = 90", PLAIN, "90", "`early` must be less"),
        ("ttl = 60, jitter = 30, early = 40", PLAIN, "40", "less than `ttl` - `jitter` (30s)"),
        ("ttl = 60, jitter = \"50%\", early = \"30s\"", PLAIN, "\"30s\"", "less than `ttl` - `jitter` (30s)"),
        ("ttl = t(), jitter = \"60%\", early = \"40%\"", PLAIN, "\"40%\"", "less than `ttl` - `jitter`"),
        ("ttl = 0, early = 5", PLAIN, "early", "`ttl = 0` stores nothing"),
        ("ttl = 60, timeout = 0", RESULT, "0", "no load could ever end"),
        ("ttl = 60, lead_after = \"0s\"", PLAIN, "\"0s\"", "no load could ever end"),
        ("ttl = 60, timeout = 5, soft_timeout = 5, stale = 1", RESULT, "5", "from `timeout` (5s) on"),
        ("ttl = 60, capacity = 0", PLAIN, "0", "`ttl = 0`"),
        ("ttl = 60, capacity = -1", PLAIN, "-1", "can't be negative"),
        ("ttl = 60, capacity = 1.0", PLAIN, "1.0", "whole number"),
        ("ttl = 60, max_loads = 0", PLAIN, "0", "nothing is ever loaded"),
        ("ttl = 60, early = 5, beta = 0", PLAIN, "0", "above 0"),
    ]);
}

#[test]
fn nothing_is_said_in_vain() {
    check(&[
        ("ttl = 60, weight = |_| 1", PLAIN, "weight", "`capacity = 10_000`"),
        ("ttl = 60, beta = 1.0", PLAIN, "beta", "`early"),
        ("ttl = 60, beta = 1.0, early = 0", PLAIN, "beta", "`early"),
        ("ttl = 60, soft_timeout = 1", PLAIN, "soft_timeout", "`stale_if_error = \"1h\"`"),
        ("ttl = 60, none_ttl = 1", PLAIN, "none_ttl", "returns no `Option`"),
        ("ttl = 60, none_ttl = 1", RESULT, "none_ttl", "returns no `Option`"),
        ("ttl = 60, err_ttl = 1", PLAIN, "err_ttl", "returns no `Result`"),
        ("ttl = 60, outage = |_| true", PLAIN, "outage", "returns no `Result`"),
        ("ttl = 60, timeout = 5", PLAIN, "timeout", "returns no `Result`"),
    ]);
    // A policy may bring the other half, an alias may be anything.
    for (args, item) in [
        ("policy = P, beta = 1, weight = w, soft_timeout = 5", PLAIN),
        ("ttl = 60, none_ttl = 1, err_ttl = 1, timeout = 5", "async fn f() -> Outcome { x }"),
        ("ttl = 60, none_ttl = 1", "async fn f() -> Result<Row, E> { x }"),
    ] {
        assert!(errors(args, item).is_empty(), "#[stampede_cached({args})] {item}");
    }
}

#[test]
fn expressions_evaluated_once_see_no_parameter() {
    check(&[
        ("ttl = id", PLAIN, "id", "`ttl_of = |value| ..`"),
        ("ttl = 60, capacity = id.len()", PLAIN, "id", "evaluated once"),
        ("ttl = self.ttl, skip(self)", "async fn f(&self) -> u32 { 1 }", "self", "evaluated once"),
        ("ttl = 60, name = id", PLAIN, "id", "`scope` and `key`"),
    ]);
    // A path, a field and a closure's own parameter are no parameters of the function.
    let args = "ttl = config::id(), jitter = CONFIG.id, ttl_of = |id| None, early = self::id()";
    assert!(errors(args, PLAIN).is_empty());
}

#[test]
fn every_parameter_is_accounted_for() {
    let two = "async fn f(id: u32, other: u32) -> u32 { id }";
    let method = "async fn f(&self, id: u32) -> u32 { id }";
    let pattern = "async fn f((a, b): (u32, u32)) -> u32 { a }";
    check(&[
        ("ttl = 60, skip(oter)", two, "oter", "write `other`"),
        ("ttl = 60, skip(zzz)", two, "zzz", "its parameters are `id` and `other`"),
        ("ttl = 60, skip(self)", PLAIN, "self", "no parameter `self`"),
        ("ttl = 60, skip(id, id)", PLAIN, "id", "skipped twice"),
        ("ttl = 60, key = id, skip(id, other)", two, "id", "`key` uses it"),
        ("ttl = 60, key = id", two, "other", "add `other` to `key`, or add `skip(other)`"),
        ("ttl = 60, key = x.other", "async fn f(x: X, other: u32) -> u32 { 1 }", "other", "add `other` to `key`"),
        ("ttl = 60, key = id", method, "self", "add `skip(self)`"),
        ("ttl = 60, key = (self.n, id), skip(self)", method, "self", "`key` uses it"),
        ("ttl = 60, key = \"id\"", PLAIN, "\"id\"", "`key = ()`"),
        ("ttl = 60, key = a", pattern, "a", "before the pattern"),
        ("ttl = 60, skip(a)", pattern, "a", "skipped as a whole"),
        ("ttl = 60, key = 1", "async fn f(_: u32) -> u32 { 1 }", "_", "give it a name"),
    ]);
    for (args, item) in [
        ("ttl = 60, key = ()", "async fn f() -> u32 { 1 }"),
        ("ttl = 60, key = format!(\"{id}-{other:?}\")", two),
        ("ttl = 60, key = other, scope = scope_of(id)", two),
        ("ttl = 60, scope = self.caches", method),
        ("ttl = 60, skip(db)", "async fn f(State(db): State<Db>) -> u32 { 1 }"),
    ] {
        assert!(errors(args, item).is_empty(), "#[stampede_cached({args})] {item}");
    }
}

#[test]
fn parts_can_be_keys() {
    check(&[
        ("ttl = 60", "async fn f(x: f64) -> u32 { 1 }", "f64", "`key = (x.to_bits(), ..)`"),
        ("ttl = 60", "async fn f(x: Option<f32>) -> u32 { 1 }", "f32", "x.to_bits()"),
        ("ttl = 60, key = (x, id)", "async fn f(x: (f64, u8), id: u8) -> u32 { 1 }", "f64", "x.to_bits()"),
        ("ttl = 60", "async fn f(x: &[&str]) -> u32 { 1 }", "&", "`&[String]`"),
        ("ttl = 60", "async fn f(x: Cow<'_, str>) -> u32 { 1 }", "'_", "owned type"),
        ("ttl = 60, skip(x)", "async fn f<'a>(x: View<'a>) -> u32 { 1 }", "'a", "run = \"in_caller\""),
        ("ttl = 60, run = \"in_caller\"", "async fn f(x: &[&str]) -> u32 { 1 }", "&", "owned part in the key"),
    ]);
    for item in [
        "async fn f(x: &str, y: Option<&str>, z: (u8, &[u8]), s: &'static str) -> u32 { 1 }",
        "async fn f(x: Money<f64>, call: fn(&str) -> u32, then: Box<dyn Fn(&str)>) -> u32 { 1 }",
        "async fn f(names: Vec<&'static str>, x: &'static [&'static str]) -> u32 { 1 }",
    ] {
        assert!(errors("ttl = 60", item).is_empty(), "{item}");
    }
    assert!(errors("ttl = 60, skip(x), run = \"in_caller\"", "async fn f(x: &[&str]) -> u32 { 1 }").is_empty());
}

#[test]
fn only_async_functions_with_a_body() {
    check(&[
        ("ttl = 60", "fn f() -> u32 { 1 }", "fn", "spawn_blocking"),
        ("ttl = 60", "fn f() -> impl Future<Output = u32> { g() }", "fn", "write it as `async fn`"),
        ("ttl = 60", "pub struct S;", "struct", "goes on an `async fn`"),
        ("ttl = 60", "const X: u32 = 1;", "const", "goes on an `async fn`"),
        ("ttl = 60", "async fn f();", "fn", "give it a body"),
        ("ttl = 60", "async fn f(&self) -> u32;", "fn", "put the attribute on the implementation"),
        ("ttl = 60", "const async fn f() -> u32 { 1 }", "const", "wrap it"),
        ("ttl = 60", "async unsafe fn f() -> u32 { 1 }", "unsafe", "wrap it"),
        ("ttl = 60", "async extern \"C\" fn f() -> u32 { 1 }", "extern \"C\"", "wrap it"),
        (
            "ttl = 60",
            "fn f<'a, 'async_trait>(&'a self) -> Pin<Box<dyn Future<Output = u32> + Send + 'async_trait>> { x }",
            "fn",
            "into an `async fn` of its own",
        ),
    ]);
}

#[test]
fn signatures_can_be_cached() {
    check(&[
        ("ttl = 60", "async fn f(x: &mut T) -> u32 { 1 }", "&mut", "rolled back"),
        ("ttl = 60", "async fn f(&mut self) -> u32 { 1 }", "&mut self", "changes `self`"),
        ("ttl = 60", "async fn f(self: Pin<&Self>) -> u32 { 1 }", "Pin<&Self>", "pinned"),
        ("ttl = 60", "async fn f(id: &str) -> &str { id }", "&", "`String` for `&str`"),
        ("ttl = 60", "async fn f<'a>(id: &'a str) -> Cow<'a, str> { x }", "'a", "without the lifetime"),
        ("ttl = 60", "async fn f() -> impl Clone { 1 }", "impl Clone", "`Arc<dyn Trait"),
        ("ttl = 60", "async fn f() -> Result<Result<u8, A>, B> { x }", "Result<Result<u8, A>, B>", "one `Result`"),
        ("ttl = 60", "async fn f() -> Self { x }", "f", "`companions = false`"),
        ("ttl = 60, companions = true", "async fn f<T>(t: T) -> u8 { x }", "companions", "remove `companions = true`"),
        (
            "ttl = 60",
            "#[instrument] fn f<'async_trait>(&self) -> Pin<Box<dyn Future<Output = u32> + 'async_trait>> { Box::pin(async move { 1 }) }",
            "#[instrument]",
            "put it above",
        ),
    ]);
    for item in [
        "async fn f() -> &'static str { x }",
        "async fn f() -> Result<Arc<dyn Fn(&str) -> &str>, E> { x }",
        "#[doc = \"x\"] #[must_use] #[cfg_attr(x, y)] #[clippy::msrv = \"1\"] async fn f(&self) -> u8 { x }",
    ] {
        assert!(errors("ttl = 60", item).is_empty(), "{item}");
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let said = errors("ttl = 60, jitter = 90, bogus, skip(x)", "async fn f(y: f64, z: &mut u8) -> &str { 1 }");
    let at: Vec<_> = said.iter().map(|said| said.at.as_str()).collect();
    assert_eq!(at, ["bogus", "&mut", "&", "x"]);
}

#[test]
fn the_item_survives_an_error() {
    let out = crate::cached(super::tokens("ttll = 60"), &super::tokens(PLAIN)).to_string();
    assert!(out.contains("async fn f (id : u32) -> u32 { id }"), "{out}");
    assert!(out.contains("compile_error"), "{out}");
}
