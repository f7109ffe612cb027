//! The annotated function: its parts as typed, the body as raw tokens.
//!
//! The body is never parsed, so a half-typed one still expands, and nothing of it is lost or re-spanned.

use crate::{errors::error, tokens::regrouped, types::returned, wrapped::Wrapped};
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use syn::{
    AttrStyle, Attribute, Signature, Token, Type, Visibility, braced,
    ext::IdentExt as _,
    parse::{Parse, ParseStream},
    token,
};

/// What a function must be to be annotated.
pub(crate) const RULE: &str = "`#[stampede_cached]` goes on an `async fn` with a body";

/// An `async fn` with a body, or nearly one.
pub(crate) struct AsyncFn {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// The user's own braces: with others, `dead_code` takes the function for the macro's.
    pub(crate) brace: token::Brace,
    /// The same as a token: with both of their places.
    pub(crate) block: Group,
    pub(crate) body: TokenStream,
    /// What other attributes have put around it.
    pub(crate) wrapped: Wrapped,
}

impl AsyncFn {
    /// The body in its braces: the user's own where possible, so that what is wrong with them is wrong once.
    pub(crate) fn block(&self) -> Group {
        if self.wrapped.is_empty() { self.block.clone() } else { regrouped(&self.block, self.body.clone()) }
    }

    /// What a call gives.
    pub(crate) fn returns(&self) -> Type {
        self.wrapped.boxed.as_ref().map_or_else(|| returned(&self.sig.output), |boxed| boxed.returns.clone())
    }

    /// The place of the user's `async`, if there is one.
    pub(crate) fn is_async(&self) -> Option<Span> {
        self.wrapped.boxed.as_ref().map(|boxed| boxed.span).or_else(|| self.sig.asyncness.map(|token| token.span))
    }
}

impl Parse for AsyncFn {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        let vis: Visibility = input.parse()?;
        expect_fn(input)?;
        let sig: Signature = input.parse()?;
        if !input.peek(token::Brace) {
            let help = match sig.receiver() {
                Some(_) => "a trait only declares it: put the attribute on the implementation",
                None => "give it a body",
            };
            return Err(error(sig.fn_token, RULE, help));
        }
        let block: Group = input.fork().parse()?;
        let content;
        let brace = braced!(content in input);
        attrs.extend(content.call(Attribute::parse_inner)?.into_iter().map(outer));
        let body = content.parse()?;
        let (wrapped, body) = Wrapped::of(&sig, body);
        Ok(Self { attrs, vis, sig, brace, block, body, wrapped })
    }
}

/// An attribute at the top of the body, as one above the function: the body will not be the function's any more.
fn outer(attr: Attribute) -> Attribute {
    Attribute { style: AttrStyle::Outer, ..attr }
}

/// An error at the keyword of anything that is no function.
fn expect_fn(input: ParseStream<'_>) -> syn::Result<()> {
    let ahead = input.fork();
    let mut first = None;
    while ahead.peek(Ident::peek_any) && !ahead.peek(Token![fn]) {
        let word = ahead.call(Ident::parse_any)?;
        if !["const", "async", "unsafe", "safe", "extern", "default"].iter().any(|known| word == known) {
            return Err(no_fn(first.unwrap_or(word)));
        }
        first.get_or_insert(word);
        ahead.parse::<Option<syn::LitStr>>()?;
    }
    if ahead.peek(Token![fn]) {
        return Ok(());
    }
    match first {
        Some(word) => Err(no_fn(word)),
        None => {
            let tree: TokenTree = ahead.parse()?;
            Err(no_fn(tree))
        }
    }
}

fn no_fn(at: impl quote::ToTokens) -> syn::Error {
    error(at, RULE, "move the attribute to the function whose answer is to be cached")
}
