//! The parts that are functions of text or tokens.

use super::tokens;
use crate::{
    duration::{display, units},
    errors::{list, nearest},
    receiver::rename,
    tokens::{elided, mentions},
};
use std::time::Duration;

#[test]
fn units_add_up() {
    for (text, expected) in [
        ("250ms", Duration::from_millis(250)),
        ("1h 30m", Duration::from_secs(5400)),
        ("1h30m", Duration::from_secs(5400)),
        ("1.5s", Duration::from_millis(1500)),
        ("0.1 s", Duration::from_millis(100)),
        ("1_000us", Duration::from_millis(1)),
        ("7 ns", Duration::from_nanos(7)),
        ("2µs", Duration::from_micros(2)),
        ("1.5d", Duration::from_secs(129_600)),
        ("2w", Duration::from_secs(1_209_600)),
        ("0.0000000019s", Duration::from_nanos(1)),
    ] {
        assert_eq!(units(text), Ok(expected), "{text}");
    }
    for text in ["", "5", "5 parsecs", "m", "1..5s", ".5s", "-1s", "1s,", "99999999999999999999999999999999999999999s"]
    {
        assert!(units(text).is_err(), "{text}");
    }
}

#[test]
fn times_are_displayed_as_written() {
    assert_eq!(display(Duration::from_secs(60)), "60s");
    assert_eq!(display(Duration::from_millis(1500)), "1.5s");
    assert_eq!(display(Duration::MAX), "forever");
}

#[test]
fn near_names_are_found() {
    let known = || ["ttl", "ttl_of", "skip", "stale", "stale_if_error"];
    for (given, expected) in [
        ("tl", Some("ttl")),
        ("tlt", Some("ttl")),
        ("skpi", Some("skip")),
        ("stale_on_error", Some("stale_if_error")),
        ("quux", None),
        ("a", None),
    ] {
        assert_eq!(nearest(given, known()), expected, "{given}");
    }
    assert_eq!(list(["a", "b", "c"], "and"), "`a`, `b` and `c`");
    assert_eq!(list(["a"], "and"), "`a`");
}

#[test]
fn mentions_are_of_locals() {
    for (text, expected) in [
        ("id", true),
        ("r#id", true),
        ("id.len()", true),
        ("(a, [id])", true),
        ("0..id", true),
        ("format!(\"{id}\")", true),
        ("format!(\"{id:?}\")", true),
        ("x.id", false),
        ("x.id()", false),
        ("m::id", false),
        ("id::new()", false),
        ("format!(\"{{id}}\")", false),
        ("format!(\"{ident}\")", false),
        ("identity", false),
    ] {
        assert_eq!(mentions(&tokens(text), "id"), expected, "{text}");
    }
}

#[test]
fn the_receiver_is_renamed() {
    for (text, expected) in [
        ("self.a + self::b()", "__self.a + self::b()"),
        ("use self::x; use a::{self, b}; self", "use self::x; use a::{self, b}; __self"),
        (
            "struct S; impl S { fn f(&self) -> u8 { self.0 } } self.f()",
            "struct S; impl S { fn f(&self) -> u8 { self.0 } } __self.f()",
        ),
        (
            "fn g<const N: usize>(self) -> A<{ N }> { self } self",
            "fn g<const N: usize>(self) -> A<{ N }> { self } __self",
        ),
        ("let f: fn(u8) -> u8 = self.f;", "let f: fn(u8) -> u8 = __self.f;"),
        ("pub(self) struct X; self", "pub(self) struct X; __self"),
        ("|x| async move { self.x[self.y] }", "|x| async move { __self.x[__self.y] }"),
        ("format!(\"{self} {self:?} {{self}} {selfish}\")", "format!(\"{__self} {__self:?} {{self}} {selfish}\")"),
        ("format!(r#\"{self}\"#)", "format!(r#\"{__self}\"#)"),
        ("println!(\"{}\", \"{self}\")", "println!(\"{}\", \"{self}\")"),
        ("write!(f, \"{self}\")", "write!(f, \"{__self}\")"),
        ("assert_eq!(\"a\", \"{self}\", \"{self}\")", "assert_eq!(\"a\", \"{self}\", \"{__self}\")"),
        ("tracing::info!(a = \"{self}\", \"{self}\")", "tracing::info!(a = \"{self}\", \"{__self}\")"),
        ("html!(\"{self}\")", "html!(\"{self}\")"),
        ("let s = \"{self}\";", "let s = \"{self}\";"),
    ] {
        let (renamed, _) = rename(tokens(text));
        assert_eq!(renamed.to_string(), tokens(expected).to_string());
    }
    assert!(!rename(tokens("self::x(); fn f(&self) {}")).1);
}

#[test]
fn lifetimes_are_elided() {
    let ours = ["a".to_owned()];
    let out = elided(tokens("&'a str, (View<'a>, &'b u8, &'static u8)"), &ours);
    let expected = "&str,(View<'_>,&'bu8,&'staticu8)";
    assert_eq!(out.to_string().replace(' ', ""), expected);
}
