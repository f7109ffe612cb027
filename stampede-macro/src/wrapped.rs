//! What attributes that were expanded before ours have put around the body.
//!
//! `#[async_trait]` makes of a method a plain `fn` that returns a pinned box of an `async` block; `#[instrument]` above
//! ours runs the body in a block within its span. The block inside is the body, and all around it stays around what we
//! make of it: so the method is still one that returns a box, and a span is one of a call, hits included.

use crate::{
    tokens::{is_punct, regrouped},
    types::argument_of,
};
use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use syn::{
    AngleBracketedGenericArguments, FnArg, GenericArgument, Pat, PathArguments, Signature, Type, TypeParamBound,
};

/// The tokens around the body.
#[derive(Default)]
pub(crate) struct Wrapped {
    /// What `#[async_trait]` has boxed.
    pub(crate) boxed: Option<Boxed>,
    /// From the outside in.
    frames: Vec<Frame>,
}

/// The block that `#[async_trait]` has made.
pub(crate) struct Boxed {
    /// What its future gives.
    pub(crate) returns: Type,
    /// The place of its `async`.
    pub(crate) span: Span,
}

/// A group, and what stands before and after it.
struct Frame {
    before: Vec<TokenTree>,
    group: Group,
    after: Vec<TokenTree>,
}

impl Wrapped {
    /// What is around the body, and the body.
    pub(crate) fn of(sig: &Signature, body: TokenStream) -> (Self, TokenStream) {
        let mut wrapped = Self::default();
        let mut inner = body;
        if let Some((boxed, frames)) = boxed(sig, &inner) {
            wrapped.boxed = Some(boxed);
            wrapped.push(frames, &mut inner);
        }
        // What a pattern binds is bound in the body, where a span around it would not see it.
        if !sig.inputs.iter().any(is_pattern) {
            if let Some(frame) = instrumented(&inner) {
                wrapped.push([frame], &mut inner);
                // With `err` or `ret` there is one more.
                let frame = inspected(&inner);
                wrapped.push(frame, &mut inner);
            }
        }
        (wrapped, inner)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    fn push(&mut self, frames: impl IntoIterator<Item = Frame>, inner: &mut TokenStream) {
        for frame in frames {
            *inner = frame.group.stream();
            self.frames.push(frame);
        }
    }

    /// The whole around another body.
    pub(crate) fn around(&self, body: TokenStream) -> TokenStream {
        self.frames.iter().rev().fold(body, |inner, Frame { before, group, after }| {
            let group = TokenTree::Group(regrouped(group, inner));
            before.iter().cloned().chain([group]).chain(after.iter().cloned()).collect()
        })
    }
}

fn is_pattern(input: &FnArg) -> bool {
    matches!(input, FnArg::Typed(param) if !matches!(*param.pat, Pat::Ident(_) | Pat::Wild(_)))
}

/// `.. Box::pin(async move { BODY })`, if that is what the function is.
fn boxed(sig: &Signature, body: &TokenStream) -> Option<(Boxed, [Frame; 2])> {
    let is_rewritten = sig.generics.lifetimes().any(|param| param.lifetime.ident == "async_trait");
    let returns = output_of(sig).filter(|_| is_rewritten)?;
    let mut before: Vec<_> = body.clone().into_iter().collect();
    let call = group(before.pop()?, Delimiter::Parenthesis)?;
    let is_pin = matches!(before.last(), Some(TokenTree::Ident(name)) if name == "pin");
    let mut keywords: Vec<_> = call.stream().into_iter().collect();
    let block = group(keywords.pop()?, Delimiter::Brace)?;
    let span = match keywords.as_slice() {
        [TokenTree::Ident(word), TokenTree::Ident(_)] if word == "async" && is_pin => word.span(),
        _ => return None,
    };
    let call = Frame { before, group: call, after: Vec::new() };
    let block = Frame { before: keywords, group: block, after: Vec::new() };
    Some((Boxed { returns, span }, [call, block]))
}

/// `.. let __tracing_instrument_future = async move { BODY }; ..`
fn instrumented(body: &TokenStream) -> Option<Frame> {
    let trees: Vec<_> = body.clone().into_iter().collect();
    let name = trees
        .iter()
        .position(|tree| matches!(tree, TokenTree::Ident(name) if name == "__tracing_instrument_future"))?;
    let block = name + 4;
    let is_assigned = is_punct(trees.get(name + 1)?, '=');
    is_assigned.then(|| frame(trees, block)).flatten()
}

/// What `err` and `ret` make of the body: `match async move { BODY }.await { .. }`, `let x = async move { BODY }.await; ..`.
fn inspected(body: &TokenStream) -> Option<Frame> {
    let trees: Vec<_> = body.clone().into_iter().collect();
    match trees.as_slice() {
        [TokenTree::Ident(word), ..] if word == "match" => frame(trees, 3),
        [TokenTree::Ident(word), TokenTree::Ident(name), ..]
            if word == "let" && (name == "x" || name == "__match_scrutinee") =>
        {
            frame(trees, 5)
        }
        _ => None,
    }
}

/// The frame of the block that follows an `async move`.
fn frame(mut trees: Vec<TokenTree>, block: usize) -> Option<Frame> {
    let is_block = matches!(trees.get(block.checked_sub(2)?..block)?, [TokenTree::Ident(a), TokenTree::Ident(b)] if a == "async" && b == "move");
    let group = group(trees.get(block)?.clone(), Delimiter::Brace).filter(|_| is_block)?;
    let after = trees.split_off(block + 1);
    trees.truncate(block);
    Some(Frame { before: trees, group, after })
}

fn group(tree: TokenTree, delimiter: Delimiter) -> Option<Group> {
    match tree {
        TokenTree::Group(group) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

/// The `T` of `Pin<Box<dyn Future<Output = T> + ..>>`.
fn output_of(sig: &Signature) -> Option<Type> {
    let syn::ReturnType::Type(_, ty) = &sig.output else { return None };
    let Type::TraitObject(object) = argument_of(argument_of(ty, "Pin")?, "Box")? else { return None };
    object.bounds.iter().find_map(|bound| {
        let TypeParamBound::Trait(bound) = bound else { return None };
        let last = bound.path.segments.last().filter(|last| last.ident == "Future")?;
        let PathArguments::AngleBracketed(AngleBracketedGenericArguments { args, .. }) = &last.arguments else {
            return None;
        };
        args.iter().find_map(|argument| match argument {
            GenericArgument::AssocType(binding) if binding.ident == "Output" => Some(binding.ty.clone()),
            _ => None,
        })
    })
}
