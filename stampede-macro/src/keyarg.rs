//! `key` as it was typed: an expression, or named parts.

use crate::{
    args::{Arg, value},
    errors::error,
    tokens::{plain, ungrouped},
};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Expr, ExprLit, Lit, Token, Type,
    ext::IdentExt as _,
    parenthesized,
    parse::{Parse, ParseStream},
    token,
};

/// What identifies an entry.
pub(crate) enum KeyArg {
    /// `key = (tenant.id, date)`.
    Expr(Box<Expr>),
    /// `key(tenant_id: u64 = tenant.id, date)`.
    Named(Vec<Named>),
}

/// One named part.
pub(crate) struct Named {
    pub(crate) name: Ident,
    /// Without it the part is the parameter of that name.
    pub(crate) value: Option<(Type, Expr)>,
}

/// Reads what comes after `key`.
pub(crate) fn key(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<KeyArg>> {
    if input.peek(token::Paren) {
        return named(name, input);
    }
    let Arg { name, value, tokens } = value(name, input)?;
    if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = ungrouped(&value) {
        let rule = "a string literal as `key` would be one entry for all calls";
        let help = "write an expression over the parameters, `key = (tenant.id, date)`, or `key = ()` for one entry";
        return Err(error(text, rule, help));
    }
    Ok(Arg { name, value: KeyArg::Expr(Box::new(value)), tokens })
}

fn named(name: Ident, input: ParseStream<'_>) -> syn::Result<Arg<KeyArg>> {
    let content;
    parenthesized!(content in input);
    let parts = parts(&content);
    // What is left in the parentheses would be an error of its own.
    content.parse::<TokenStream>()?;
    let parts = parts?;
    if parts.is_empty() {
        return Err(error(
            &name,
            "`key()` has no parts",
            "name some, `key(tenant_id: u64 = tenant.id)`, or write `key = ()` for one entry",
        ));
    }
    let tokens = parts.iter().map(|part| match &part.value {
        Some((_, expr)) => expr.to_token_stream(),
        None => part.name.to_token_stream(),
    });
    // Apart, so that none is taken for the next one's field.
    let tokens = tokens.flat_map(|part| [part, quote::quote!(,)]).collect();
    Ok(Arg { name, value: KeyArg::Named(parts), tokens })
}

fn parts(input: ParseStream<'_>) -> syn::Result<Vec<Named>> {
    let mut parts: Vec<Named> = Vec::new();
    while !input.is_empty() {
        let part: Named = input.parse()?;
        if parts.iter().any(|other| plain(&other.name) == plain(&part.name)) {
            return Err(error(
                &part.name,
                format!("`key` has two parts `{}`", plain(&part.name)),
                "give each a name of its own",
            ));
        }
        parts.push(part);
        if !input.is_empty() && input.parse::<Option<Token![,]>>()?.is_none() {
            let tree: TokenTree = input.parse()?;
            return Err(error(tree, RULE, HELP));
        }
    }
    Ok(parts)
}

const RULE: &str = "a named key part is a parameter, or `name: Type = expression`";
const HELP: &str = "write `key(tenant_id: u64 = tenant.id, date)`; without names, `key = (tenant.id, date)`";

impl Parse for Named {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(Ident::peek_any) {
            let tree: TokenTree = input.parse()?;
            return Err(error(tree, RULE, HELP));
        }
        let name = input.call(Ident::parse_any)?;
        if input.is_empty() || input.peek(Token![,]) {
            return Ok(Self { name, value: None });
        }
        if input.parse::<Option<Token![:]>>()?.is_none() {
            let tree: TokenTree = input.parse()?;
            return Err(error(tree, RULE, HELP));
        }
        let ty: Type = input.parse()?;
        if input.parse::<Option<Token![=]>>()?.is_none() {
            return Err(error(&name, format!("the key part `{}` has no value", plain(&name)), HELP));
        }
        Ok(Self { name, value: Some((ty, input.parse()?)) })
    }
}
