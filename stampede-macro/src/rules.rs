//! What the arguments say about each other: numbers that contradict, combinations that do nothing.
//!
//! Only what is certain from the tokens is refused here; the runtime's policy checks the rest at first use.

use crate::{
    args::{Arg, Args},
    duration::{Time, display},
    errors::{Errors, error},
    tokens::plain,
    types::{argument_of, bare, is_surely_plain},
};
use std::time::Duration;
use syn::Type;

/// Checks the arguments against each other and against the return type.
pub(crate) fn check(args: &Args, returns: &Type, errors: &mut Errors) {
    if args.broken {
        return;
    }
    if args.ttl.is_none() && args.policy.is_none() {
        errors.push(syn::Error::new(
            proc_macro2::Span::call_site(),
            "`ttl` is missing\nhelp: write how long an answer is fresh, `ttl = 300` (seconds), or give a `policy`",
        ));
    }
    if is_zero(args.ttl.as_ref()) {
        check_unstored(args, errors);
    } else {
        check_windows(args, errors);
    }
    check_companions_of_arguments(args, errors);
    check_timeouts(args, errors);
    check_kind(args, returns, errors);
    if args.each.is_some() {
        errors.extend(no_pairs(returns));
    }
}

/// An error if this surely is no collection of pairs.
fn no_pairs(returns: &Type) -> Option<syn::Error> {
    let returned = argument_of(returns, "Result").unwrap_or(returns);
    let is_pair = |ty: &Type| matches!(bare(ty), Type::Tuple(pair) if pair.elems.len() == 2);
    let wrong = match argument_of(returned, "Vec") {
        Some(element) => is_surely_plain(element) && !is_pair(element),
        None => is_surely_plain(returned) || argument_of(returned, "Option").is_some(),
    };
    let rule = "a function with `each` returns values by their ids";
    let help = "return a map, `HashMap<Id, Value>`, or a `Vec<(Id, Value)>`, or a `Result` of one";
    wrong.then(|| error(returned, rule, help))
}

fn fixed(arg: Option<&Arg<Time>>) -> Option<Duration> {
    match arg?.value {
        Time::Fixed(time) => Some(time),
        _ => None,
    }
}

/// Nothing written is nothing: 0.
fn is_zero(arg: Option<&Arg<Time>>) -> bool {
    match arg.map(|arg| &arg.value) {
        Some(Time::Fixed(time)) => time.is_zero(),
        Some(Time::Share(share)) => *share == 0.0,
        _ => false,
    }
}

/// A length of time, a share being one of `ttl`; only if all of it is known.
fn length(arg: Option<&Arg<Time>>, ttl: Duration) -> Option<Duration> {
    match arg?.value {
        Time::Fixed(time) => Some(time),
        Time::Share(share) => {
            Some(Duration::try_from_secs_f64(ttl.as_secs_f64() * share / 100.0).unwrap_or(Duration::MAX))
        }
        Time::Expr(_) => None,
    }
}

fn check_unstored(args: &Args, errors: &mut Errors) {
    let windows = [&args.jitter, &args.early, &args.stale, &args.stale_if_error];
    for window in windows.into_iter().flatten().filter(|window| !is_zero(Some(window))) {
        let name = plain(&window.name);
        let rule = format!("`ttl = 0` stores nothing, so `{name}` does nothing");
        errors.push(error(&window.name, rule, format!("remove `{name}`, or give a `ttl` above 0")));
    }
}

/// `jitter < ttl` and `early < ttl - jitter`: else an entry could be born expired, or be refreshed by every hit.
fn check_windows(args: &Args, errors: &mut Errors) {
    let (Some(ttl), jitter, early) = (fixed(args.ttl.as_ref()), args.jitter.as_ref(), args.early.as_ref()) else {
        return check_shares(args, errors);
    };
    let jitter_length = length(jitter, ttl);
    if let (Some(jitter), Some(length)) = (jitter, jitter_length) {
        if length >= ttl {
            let rule = format!("`jitter` must be less than `ttl` ({}), or an entry could expire at once", display(ttl));
            errors.push(error(&jitter.tokens, rule, "write less, such as `jitter = \"10%\"`"));
            return;
        }
    }
    let left = ttl.saturating_sub(jitter_length.unwrap_or_default());
    if let (Some(early), Some(length)) = (early, length(early, ttl)) {
        if length >= left {
            let (bound, left) = (if jitter_length.is_some() { "`ttl` - `jitter`" } else { "`ttl`" }, display(left));
            let rule = format!("`early` must be less than {bound} ({left}), or every hit would refresh");
            errors.push(error(&early.tokens, rule, format!("write less than {left}, such as `early = \"20%\"`")));
        }
    }
}

/// The same where `ttl` is not known, but shares of it are.
fn check_shares(args: &Args, errors: &mut Errors) {
    let share = |arg: Option<&Arg<Time>>| match arg.map(|arg| &arg.value) {
        Some(Time::Share(share)) => *share,
        _ => 0.0,
    };
    let (jitter, early) = (share(args.jitter.as_ref()), share(args.early.as_ref()));
    match (&args.jitter, &args.early) {
        (Some(arg), _) if jitter >= 100.0 => {
            let rule = "`jitter` must be less than `ttl`, or an entry could expire at once";
            errors.push(error(&arg.tokens, rule, "write less, such as `jitter = \"10%\"`"));
        }
        (_, Some(arg)) if jitter + early >= 100.0 => {
            let rule = "`early` must be less than `ttl` - `jitter`, or every hit would refresh";
            errors.push(error(&arg.tokens, rule, format!("write less than \"{}%\"", 100.0 - jitter)));
        }
        _ => {}
    }
}

/// Arguments that do nothing without another one. A `policy` may bring the other.
fn check_companions_of_arguments(args: &Args, errors: &mut Errors) {
    if args.policy.is_some() {
        return;
    }
    if let (Some(weight), None) = (&args.weight, &args.capacity) {
        let help = "add the most total weight, `capacity = 10_000`";
        errors.push(error(&weight.name, "`weight` does nothing without `capacity`", help));
    }
    let absent = |arg: &Option<Arg<Time>>| arg.is_none() || is_zero(arg.as_ref());
    if let Some(beta) = args.beta.as_ref().filter(|_| absent(&args.early)) {
        let help = "add the window in which it draws the moment, such as `early = \"20%\"`";
        errors.push(error(&beta.name, "`beta` does nothing without `early`", help));
    }
    if let Some(soft) = args.soft_timeout.as_ref().filter(|_| absent(&args.stale) && absent(&args.stale_if_error)) {
        let rule =
            "`soft_timeout` does nothing without `stale` or `stale_if_error`: there is no old value to leave with";
        errors.push(error(&soft.name, rule, "add one, such as `stale_if_error = \"1h\"`"));
    }
}

fn check_timeouts(args: &Args, errors: &mut Errors) {
    for limit in [&args.timeout, &args.lead_after].into_iter().flatten().filter(|limit| is_zero(Some(limit))) {
        let name = plain(&limit.name);
        let rule = format!("with `{name} = 0` no load could ever end");
        errors.push(error(&limit.tokens, rule, format!("write a time above 0, or leave `{name}` out")));
    }
    let (Some(soft), Some(hard)) = (fixed(args.soft_timeout.as_ref()), fixed(args.timeout.as_ref())) else { return };
    if let Some(arg) = args.soft_timeout.as_ref().filter(|_| soft >= hard && !hard.is_zero()) {
        let rule = format!("`soft_timeout` does nothing from `timeout` ({}) on", display(hard));
        errors.push(error(&arg.tokens, rule, format!("write less than {}", display(hard))));
    }
}

/// What needs a `Result` or an `Option`, where the return type surely is none.
fn check_kind(args: &Args, returns: &Type, errors: &mut Errors) {
    let is_option = argument_of(returns, "Option").is_some();
    if is_surely_plain(returns) || is_option {
        let names = [&args.outage, &args.share_err].into_iter().flatten().map(|arg| &arg.name);
        let times = [&args.err_ttl, &args.timeout].into_iter().flatten();
        for name in names.chain(times.filter(|arg| !is_zero(Some(arg))).map(|arg| &arg.name)) {
            let text = plain(name);
            let rule = format!("`{text}` is about errors, and this function returns no `Result`");
            errors.push(error(name, rule, format!("remove `{text}`, or return a `Result`")));
        }
    }
    let is_plain_result = argument_of(returns, "Result").is_some_and(|value| is_surely_plain(bare(value)));
    if let Some(none_ttl) =
        args.none_ttl.as_ref().filter(|_| args.each.is_none() && (is_surely_plain(returns) || is_plain_result))
    {
        let rule = "`none_ttl` is about `None`, and this function returns no `Option`";
        errors.push(error(&none_ttl.name, rule, "remove `none_ttl`, or return an `Option`"));
    }
}
