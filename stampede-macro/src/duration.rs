//! Lengths of time as the attribute writes them: `300`, `"1h 30m"`, `"forever"`, `"10%"`, or any expression.

use crate::{
    errors::error,
    tokens::{Number, ungrouped},
};
use std::time::Duration;
use syn::{Expr, ExprLit, ExprUnary, Lit, LitInt, LitStr, UnOp};

/// A length of time as far as the macro can know it.
#[derive(Clone)]
pub(crate) enum Time {
    Fixed(Duration),
    /// A share of `ttl`, in percent.
    Share(f64),
    Expr(Box<Expr>),
}

/// The units that a string can use, and their length in nanoseconds.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("w", 604_800_000_000_000),
];

const FORMS: &str = "write seconds (`300`), a string with a unit (`\"250ms\"`, `\"1h 30m\"`, `\"forever\"`) or an \
                     expression of type `Duration`";

/// Reads a length of time; `shares` says whether `"10%"` makes sense here.
pub(crate) fn time(expr: &Expr, shares: bool) -> syn::Result<Time> {
    let bare = ungrouped(expr);
    match bare {
        Expr::Lit(ExprLit { lit, .. }) => literal(lit, shares),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr: inner, .. }) if matches!(ungrouped(inner), Expr::Lit(_)) => {
            Err(error(bare, "a length of time can't be negative", FORMS))
        }
        _ => Ok(Time::Expr(Box::new(expr.clone()))),
    }
}

fn literal(lit: &Lit, shares: bool) -> syn::Result<Time> {
    match lit {
        Lit::Int(int) => seconds(int).map(Time::Fixed),
        Lit::Str(text) => string(text, shares),
        Lit::Float(float) => {
            let help = format!("write \"{}s\"", float.base10_digits());
            Err(error(float, "a bare number is whole seconds", help))
        }
        other => Err(error(other, "this is no length of time", FORMS)),
    }
}

fn seconds(int: &LitInt) -> syn::Result<Duration> {
    if !int.suffix().is_empty() {
        let help = format!("write {} or, with a unit, a string such as \"250ms\"", int.base10_digits());
        return Err(error(int, "a bare number is whole seconds and takes no suffix", help));
    }
    let seconds = int.number().ok_or_else(|| error(int, "this number is too large", "write \"forever\""))?;
    Ok(Duration::from_secs(seconds))
}

fn string(text: &LitStr, shares: bool) -> syn::Result<Time> {
    let value = text.value();
    let value = value.trim();
    if value == "forever" {
        return Ok(Time::Fixed(Duration::MAX));
    }
    if let Some(percent) = value.strip_suffix('%') {
        return share(text, percent.trim(), shares);
    }
    units(value).map(Time::Fixed).map_err(|(rule, help)| error(text, rule, help))
}

fn share(text: &LitStr, percent: &str, shares: bool) -> syn::Result<Time> {
    if !shares {
        let rule =
            "a share makes sense only where it is one of `ttl`: in `jitter`, `early`, `stale` and `stale_if_error`";
        return Err(error(text, rule, "write a length of time, such as \"30s\""));
    }
    match percent.parse::<f64>() {
        Ok(share) if share.is_finite() && share >= 0.0 => Ok(Time::Share(share)),
        _ => Err(error(text, "this is no share of `ttl`", "write a number and `%`, such as \"10%\"")),
    }
}

/// The sum of the numbers with units in `text`, or the rule it breaks and the help.
pub(crate) fn units(text: &str) -> Result<Duration, (String, String)> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(("this length of time is empty".into(), FORMS.into()));
    }
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let part = one(&number.replace('_', ""), unit)?;
        sum = sum.checked_add(part).ok_or_else(too_long)?;
        rest = tail.trim_start();
    }
    Ok(sum)
}

fn one(number: &str, unit: &str) -> Result<Duration, (String, String)> {
    if number.is_empty() || number.starts_with('.') || number.matches('.').count() > 1 {
        return Err(("this is no length of time".into(), FORMS.into()));
    }
    if unit.is_empty() {
        return Err((
            "a length of time in a string needs a unit".into(),
            format!("write \"{number}s\" for seconds; the units are {}", unit_names()),
        ));
    }
    let unit = if unit == "µs" || unit == "μs" { "us" } else { unit };
    let Some((_, nanos)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err((format!("`{unit}` is no unit of time"), format!("the units are {}", unit_names())));
    };
    scaled(number, *nanos).ok_or_else(too_long)
}

fn unit_names() -> String {
    crate::errors::list(UNITS.iter().map(|(name, _)| name), "and")
}

fn too_long() -> (String, String) {
    ("this length of time is too long to be told".into(), "write \"forever\"".into())
}

/// `number` times `nanos`, exactly: a fraction is cut at the nanosecond.
fn scaled(number: &str, nanos: u64) -> Option<Duration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let nanos = u128::from(nanos);
    let mut total = whole.parse::<u128>().ok()?.checked_mul(nanos)?;
    let mut scale = nanos;
    for digit in fraction.chars().map_while(|c| c.to_digit(10)) {
        total = total.checked_add(u128::from(digit) * scale / 10)?;
        scale /= 10;
    }
    let seconds = u64::try_from(total / 1_000_000_000).ok()?;
    let below = u32::try_from(total % 1_000_000_000).ok()?;
    Some(Duration::new(seconds, below))
}

/// A length of time as a person writes it.
pub(crate) fn display(time: Duration) -> String {
    if time == Duration::MAX {
        return "forever".into();
    }
    format!("{time:?}").replace(".0s", "s")
}
