//! `#[stampede_cached(..)]` as it was typed: each argument once, with the tokens to point at.
//!
//! What one argument can say about itself is checked here; what two of them say about each other in `validate`.

use crate::{
    duration::{Time, time},
    errors::{Errors, error, list, nearest},
    keyarg::{KeyArg, key},
    tokens::{Number, plain, ungrouped},
};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Expr, ExprLit, ExprUnary, Lit, LitBool, Path, Token, UnOp,
    ext::IdentExt as _,
    parenthesized,
    parse::{ParseStream, Parser as _},
    token,
};

/// One argument.
pub(crate) struct Arg<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
    /// What the user wrote as the value.
    pub(crate) tokens: TokenStream,
}

/// The three ways to run a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Run {
    #[default]
    Detached,
    Cancellable,
    InCaller,
}

/// All arguments that were given.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) ttl: Option<Arg<Time>>,
    pub(crate) jitter: Option<Arg<Time>>,
    pub(crate) early: Option<Arg<Time>>,
    pub(crate) stale: Option<Arg<Time>>,
    pub(crate) stale_if_error: Option<Arg<Time>>,
    pub(crate) none_ttl: Option<Arg<Time>>,
    pub(crate) err_ttl: Option<Arg<Time>>,
    pub(crate) timeout: Option<Arg<Time>>,
    pub(crate) soft_timeout: Option<Arg<Time>>,
    pub(crate) backoff: Option<Arg<Time>>,
    pub(crate) lead_after: Option<Arg<Time>>,
    pub(crate) capacity: Option<Arg<Expr>>,
    pub(crate) max_loads: Option<Arg<Expr>>,
    pub(crate) beta: Option<Arg<Expr>>,
    pub(crate) ttl_of: Option<Arg<Expr>>,
    pub(crate) outage: Option<Arg<Expr>>,
    pub(crate) share_err: Option<Arg<Expr>>,
    pub(crate) weight: Option<Arg<Expr>>,
    pub(crate) tags: Option<Arg<Expr>>,
    pub(crate) scope: Option<Arg<Expr>>,
    pub(crate) policy: Option<Arg<Expr>>,
    pub(crate) name: Option<Arg<Expr>>,
    pub(crate) key: Option<Arg<KeyArg>>,
    pub(crate) each: Option<Arg<Ident>>,
    pub(crate) skip: Option<Arg<Vec<Ident>>>,
    pub(crate) run: Option<Arg<Run>>,
    pub(crate) mode: Option<Arg<()>>,
    pub(crate) companions: Option<Arg<bool>>,
    pub(crate) krate: Option<Arg<Path>>,
    /// Some argument could not be read, so nothing can be said about what is missing.
    pub(crate) broken: bool,
}

/// Every argument there is, as the manual lists them.
const KNOWN: &str = "ttl jitter early stale stale_if_error skip key each none_ttl err_ttl ttl_of outage share_err timeout \
                     soft_timeout capacity weight tags scope policy beta backoff max_loads lead_after run mode name \
                     companions crate";

/// Reads all arguments, past those that can't be read.
pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Args {
    let mut args = Args::default();
    let all = |input: ParseStream<'_>| {
        while !input.is_empty() {
            if let Err(error) = args.argument(input).and_then(|()| comma(input)) {
                errors.push(error);
                args.broken = true;
                skip_past_comma(input)?;
            }
        }
        Ok(())
    };
    if let Err(error) = all.parse2(tokens) {
        errors.push(error);
    }
    args
}

fn comma(input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() || input.parse::<Option<Token![,]>>()?.is_some() {
        return Ok(());
    }
    let tree: TokenTree = input.fork().parse()?;
    Err(error(tree, "arguments are separated by commas", "put a comma before this"))
}

fn skip_past_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() {
        if input.parse::<Option<Token![,]>>()?.is_some() {
            return Ok(());
        }
        input.parse::<TokenTree>()?;
    }
    Ok(())
}

impl Args {
    fn argument(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let name = argument_name(input)?;
        match plain(&name).as_str() {
            "ttl" => set(&mut self.ttl, timed(name, input, false)?),
            "jitter" => set(&mut self.jitter, timed(name, input, true)?),
            "early" => set(&mut self.early, timed(name, input, true)?),
            "stale" => set(&mut self.stale, timed(name, input, true)?),
            "stale_if_error" => set(&mut self.stale_if_error, timed(name, input, true)?),
            "none_ttl" => set(&mut self.none_ttl, timed(name, input, false)?),
            "err_ttl" => set(&mut self.err_ttl, timed(name, input, false)?),
            "timeout" => set(&mut self.timeout, timed(name, input, false)?),
            "soft_timeout" => set(&mut self.soft_timeout, timed(name, input, false)?),
            "backoff" => set(&mut self.backoff, timed(name, input, false)?),
            "lead_after" => set(&mut self.lead_after, timed(name, input, false)?),
            "capacity" => set(&mut self.capacity, counted(name, input)?),
            "max_loads" => set(&mut self.max_loads, counted(name, input)?),
            "beta" => set(&mut self.beta, factor(name, input)?),
            "ttl_of" => set(&mut self.ttl_of, value(name, input)?),
            "outage" => set(&mut self.outage, value(name, input)?),
            "share_err" => set(&mut self.share_err, value(name, input)?),
            "weight" => set(&mut self.weight, value(name, input)?),
            "tags" => set(&mut self.tags, value(name, input)?),
            "scope" => set(&mut self.scope, value(name, input)?),
            "policy" => set(&mut self.policy, value(name, input)?),
            "name" => set(&mut self.name, value(name, input)?),
            "key" => set(&mut self.key, key(name, input)?),
            "skip" => set(&mut self.skip, names(name, input)?),
            "run" => set(&mut self.run, run(name, input)?),
            "mode" => set(&mut self.mode, mode(name, input)?),
            "companions" => set(&mut self.companions, switch(name, input)?),
            "crate" => set(&mut self.krate, path(name, input)?),
            "each" => set(&mut self.each, one_name(name, input)?),
            "store" => Err(later(&name, "records in a store come in a later release", "leave `store` out")),
            _ => Err(unknown(&name)),
        }
    }
}

fn argument_name(input: ParseStream<'_>) -> syn::Result<Ident> {
    if input.peek(Ident::peek_any) {
        return input.call(Ident::parse_any);
    }
    let tree: TokenTree = input.fork().parse()?;
    Err(error(tree, "an argument begins with its name", "write `name = value`, such as `ttl = 300`"))
}

/// The only place where an argument is stored: the second of a name is an error.
fn set<T>(slot: &mut Option<Arg<T>>, arg: Arg<T>) -> syn::Result<()> {
    if slot.is_some() {
        let rule = format!("`{}` is given twice", plain(&arg.name));
        return Err(error(&arg.name, rule, "keep one of the two"));
    }
    *slot = Some(arg);
    Ok(())
}

fn unknown(name: &Ident) -> syn::Error {
    let text = plain(name);
    let all = list(KNOWN.split(' '), "and");
    match nearest(&text, KNOWN.split(' ')) {
        Some(known) => {
            error(name, format!("there is no argument `{text}`"), format!("write `{known}`; the arguments are {all}"))
        }
        None => error(name, format!("there is no argument `{text}`"), format!("the arguments are {all}")),
    }
}

fn later(name: &Ident, rule: &str, help: &str) -> syn::Error {
    error(name, rule, help)
}

/// The value after `=`.
pub(crate) fn value(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<Expr>> {
    equals(&name, input)?;
    let value: Expr = input.parse()?;
    let tokens = value.to_token_stream();
    Ok(Arg { name, value, tokens })
}

fn equals(name: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    let text = plain(name);
    if input.parse::<Option<Token![=]>>()?.is_some() && !input.is_empty() && !input.peek(Token![,]) {
        return Ok(());
    }
    let help = format!("write `{text} = ..`");
    Err(error(name, format!("`{text}` takes a value"), help))
}

fn timed(name: Ident, input: ParseStream<'_>, shares: bool) -> syn::Result<Arg<Time>> {
    let Arg { name, value, tokens } = value(name, input)?;
    Ok(Arg { value: time(&value, shares)?, name, tokens })
}

fn counted(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<Expr>> {
    let arg = value(name, input)?;
    let text = plain(&arg.name);
    match ungrouped(&arg.value) {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => match int.number() {
            Some(0) if text == "capacity" => {
                Err(error(int, "a cache of capacity 0 stores nothing", "to only coalesce calls, write `ttl = 0`"))
            }
            Some(0) => Err(error(int, "with no load at a time nothing is ever loaded", "write 1 or more")),
            Some(_) => Ok(arg),
            None => Err(error(int, "this number is too large", "write one that fits 64 bits")),
        },
        Expr::Lit(_) => Err(error(&arg.value, format!("`{text}` takes a whole number"), "write one, such as 1_000")),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. }) => {
            Err(error(&arg.value, format!("`{text}` can't be negative"), "write a whole number, such as 1_000"))
        }
        _ => Ok(arg),
    }
}

/// `beta`: a number above 0; `1` is as good as `1.0`.
fn factor(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<Expr>> {
    let arg = value(name, input)?;
    let number = match ungrouped(&arg.value) {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => int.base10_parse::<f64>(),
        Expr::Lit(ExprLit { lit: Lit::Float(float), .. }) => float.base10_parse::<f64>(),
        Expr::Lit(_) | Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. }) => Ok(0.0),
        _ => return Ok(arg),
    };
    match number {
        Ok(number) if number.is_finite() && number > 0.0 => {
            let mut literal = proc_macro2::Literal::f64_suffixed(number);
            literal.set_span(syn::spanned::Spanned::span(&arg.value));
            Ok(Arg { tokens: quote!(#literal), ..arg })
        }
        _ => Err(error(&arg.value, "`beta` is a number above 0", "write `beta = 1.0`, or more to refresh earlier")),
    }
}

/// `each`: the name of a parameter.
fn one_name(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<Ident>> {
    let Arg { name, value, tokens } = value(name, input)?;
    match ungrouped(&value) {
        Expr::Path(path) => path.path.get_ident().cloned(),
        _ => None,
    }
    .map(|value| Arg { name, value, tokens: tokens.clone() })
    .ok_or_else(|| error(tokens, "`each` names the parameter that has the ids", "write `each = ids`"))
}

fn names(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<Vec<Ident>>> {
    if !input.peek(token::Paren) {
        let text = plain(&name);
        return Err(error(&name, format!("`{text}` takes a list of parameters"), format!("write `{text}(db)`")));
    }
    let content;
    parenthesized!(content in input);
    let tokens = content.fork().parse()?;
    let value = list_of_names(&content);
    // What is left in the parentheses would be an error of its own.
    content.parse::<TokenStream>()?;
    Ok(Arg { name, value: value?, tokens })
}

fn list_of_names(input: ParseStream<'_>) -> syn::Result<Vec<Ident>> {
    let mut names = Vec::new();
    while !input.is_empty() {
        if !input.peek(Ident::peek_any) {
            let tree: TokenTree = input.parse()?;
            return Err(error(tree, "`skip` lists parameters by name", "write `skip(db, config)`"));
        }
        names.push(input.call(Ident::parse_any)?);
        if !input.is_empty() && input.parse::<Option<Token![,]>>()?.is_none() {
            let tree: TokenTree = input.parse()?;
            return Err(error(tree, "`skip` lists parameters by name", "to key on a part, use `key = (..)`"));
        }
    }
    Ok(names)
}

/// A value that is one of a few words in a string.
fn word<T: Copy>(name: Ident, input: ParseStream<'_>, words: &[(&str, T)]) -> syn::Result<Arg<T>> {
    let Arg { name, value, tokens } = value(name, input)?;
    let all = || list(words.iter().map(|(word, _)| format!("\"{word}\"")), "or");
    let rule = || format!("`{}` is one of a few words", plain(&name));
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = ungrouped(&value) else {
        return Err(error(&value, rule(), format!("write {}", all())));
    };
    let given = text.value();
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == given) {
        return Ok(Arg { value: *value, name, tokens });
    }
    let help = match nearest(&given, words.iter().map(|(word, _)| *word)) {
        Some(word) if words.len() > 1 => format!("write `\"{word}\"`; the words are {}", all()),
        _ => format!("write {}", all()),
    };
    Err(error(text, rule(), help))
}

fn run(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<Run>> {
    word(name, input, &[("detached", Run::Detached), ("cancellable", Run::Cancellable), ("in_caller", Run::InCaller)])
}

fn mode(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<()>> {
    word(name, input, &[("ignore", ())])
}

fn switch(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<bool>> {
    let Arg { name, value, tokens } = value(name, input)?;
    match ungrouped(&value) {
        Expr::Lit(ExprLit { lit: Lit::Bool(LitBool { value, .. }), .. }) => Ok(Arg { value: *value, name, tokens }),
        _ => Err(error(&value, "`companions` is `true` or `false`", "write `companions = false`")),
    }
}

/// `crate`: a path, or for those used to serde's way a string with a path.
fn path(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<Path>> {
    equals(&name, input)?;
    let ahead = input.fork();
    let parsed = if input.peek(syn::LitStr) {
        input.parse::<syn::LitStr>()?.parse_with(Path::parse_mod_style)
    } else {
        input.call(Path::parse_mod_style)
    };
    match parsed {
        Ok(value) => Ok(Arg { name, tokens: value.to_token_stream(), value }),
        Err(_) => {
            let tree: TokenTree = ahead.parse()?;
            Err(error(tree, "`crate` is the path of the runtime", "write `crate = facade::stampede_runtime`"))
        }
    }
}
