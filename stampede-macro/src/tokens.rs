//! Small questions to tokens: what an expression mentions, what is inside invisible groups, which number a literal is.

use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use syn::{Expr, LitInt, ext::IdentExt as _};

/// A literal's value, if it fits.
pub(crate) trait Number {
    fn number(&self) -> Option<u64>;
}

impl Number for LitInt {
    fn number(&self) -> Option<u64> {
        self.base10_parse().ok()
    }
}

/// The expression without the invisible groups that `macro_rules!` puts around its arguments.
pub(crate) fn ungrouped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungrouped(&group.expr),
        _ => expr,
    }
}

/// Without parentheses either.
pub(crate) fn unparenthesised(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => unparenthesised(&group.expr),
        Expr::Paren(paren) => unparenthesised(&paren.expr),
        _ => expr,
    }
}

/// The name without `r#`.
pub(crate) fn plain(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// Where `name` is first mentioned: as an identifier that is no field, method or path segment, or as `{name` in a string.
pub(crate) fn mention(tokens: &TokenStream, name: &str) -> Option<TokenTree> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    trees.iter().enumerate().find_map(|(at, tree)| match tree {
        TokenTree::Group(group) => mention(&group.stream(), name),
        TokenTree::Ident(ident) => {
            let is_local = plain(ident) == name && !follows_path_or_dot(&trees[..at]) && !begins_path(&trees[at + 1..]);
            is_local.then(|| tree.clone())
        }
        TokenTree::Literal(literal) => captures(literal, name).then(|| tree.clone()),
        TokenTree::Punct(_) => None,
    })
}

/// Whether `name` is mentioned, see [`mention`].
pub(crate) fn mentions(tokens: &TokenStream, name: &str) -> bool {
    mention(tokens, name).is_some()
}

/// Whether a token is this punctuation.
pub(crate) fn is_punct(tree: &TokenTree, punct: char) -> bool {
    matches!(tree, TokenTree::Punct(found) if found.as_char() == punct)
}

/// Whether these tokens end in `.` or `::`, so that a field, a method or a path's segment comes next; `..` is a range.
fn follows_path_or_dot(before: &[TokenTree]) -> bool {
    match before {
        [.., a, b] if is_punct(b, '.') => !is_punct(a, '.'),
        [only] => is_punct(only, '.'),
        [.., a, b] => is_punct(a, ':') && is_punct(b, ':'),
        [] => false,
    }
}

/// Whether these tokens go on with `::`.
fn begins_path(after: &[TokenTree]) -> bool {
    matches!(after, [a, b, ..] if is_punct(a, ':') && is_punct(b, ':'))
}

/// Whether a string literal holds `{name`, as a format string that captures it does.
fn captures(literal: &Literal, name: &str) -> bool {
    let text = literal.to_string();
    let is_string = text.starts_with(['"', 'r']);
    is_string && captured(&text, name).next().is_some()
}

/// Where in `text` the name stands in each `{name}`, `{name:..}` and `{name.`: `{{` is a brace, no capture.
pub(crate) fn captured<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices('{').filter_map(move |(at, _)| {
        let braces = text[..at].bytes().rev().take_while(|byte| *byte == b'{').count();
        let rest = text[at + 1..].strip_prefix(name)?;
        let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        (braces % 2 == 0 && ends).then_some(at + 1)
    })
}

/// The type with the given lifetimes elided: `&'a T<'a>` → `&T<'_>`.
pub(crate) fn elided(tokens: TokenStream, lifetimes: &[String]) -> TokenStream {
    let mut out = Vec::new();
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Group(group) => out.push(TokenTree::Group(regrouped(&group, elided(group.stream(), lifetimes)))),
            TokenTree::Punct(quote) if quote.as_char() == '\'' => {
                let is_ours =
                    matches!(trees.peek(), Some(TokenTree::Ident(name)) if lifetimes.contains(&name.to_string()));
                if !is_ours {
                    out.push(quote.into());
                } else if let Some(name) = trees.next() {
                    let after_and = matches!(out.last(), Some(TokenTree::Punct(and)) if and.as_char() == '&');
                    if !after_and {
                        out.push(quote.into());
                        out.push(Ident::new("_", name.span()).into());
                    }
                }
            }
            other => out.push(other),
        }
    }
    out.into_iter().collect()
}

/// The same group around other tokens.
pub(crate) fn regrouped(group: &Group, stream: TokenStream) -> Group {
    let mut new = Group::new(group.delimiter(), stream);
    new.set_span(group.span());
    new
}

/// The same tokens at another place.
pub(crate) fn respanned(tokens: &TokenStream, span: Span) -> TokenStream {
    let at = |mut tree: TokenTree| {
        tree.set_span(span);
        tree
    };
    tokens.clone().into_iter().map(at).collect()
}
