//! The mechanical half of planning: attributes sorted, patterns made plain names, values turned into tokens.

use crate::{
    args::{Args, Run},
    batch::Each,
    call::{Call, self_ident},
    duration::Time,
    errors::error,
    item::AsyncFn,
    key::Key,
    params::Input,
    plan::{Around, CompanionParam, Companions, Definition, HowSelf, Load, Param, Plan, SelfLoad},
    receiver,
    tokens::{elided, is_punct, plain},
    types::borrow,
};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Attribute, FnArg, Generics, Meta, Pat, PatIdent, Receiver, ReceiverKind, Signature, Type, WherePredicate,
    parse_quote, spanned::Spanned as _,
};

/// Attributes of the language and its tools: they only say something about the item, and stay on the function.
const INERT: &str = "allow automatically_derived cfg cfg_attr cold coverage deny deprecated diagnostic doc expect \
                     export_name forbid inline link_section must_use no_mangle optimize target_feature track_caller \
                     warn clippy rustfmt rust_analyzer";

/// What is repeated where a parameter's pattern binds: `cfg` and the lint levels.
const BINDING: &str = "allow cfg deny expect forbid warn";

fn is_one_of(attr: &Attribute, names: &str) -> bool {
    attr.path().segments.first().is_some_and(|first| names.split(' ').any(|name| first.ident == name))
}

pub(crate) fn cfgs(attrs: &[Attribute]) -> Vec<Attribute> {
    attrs.iter().filter(|attr| is_one_of(attr, "cfg")).cloned().collect()
}

/// The lints that the function allows, or expects, as attributes for what stands beside it.
pub(crate) fn allowed(attrs: &[Attribute]) -> Vec<Attribute> {
    let lists = attrs.iter().filter(|attr| is_one_of(attr, "allow expect"));
    let tokens = lists.filter_map(|attr| attr.meta.require_list().ok().map(|list| &list.tokens));
    tokens.map(|tokens| parse_quote!(#[allow(#tokens)])).collect()
}

/// The attributes below ours that act on a function: they get one around the body, for a method one beside it.
pub(crate) fn around(item: &AsyncFn) -> syn::Result<Option<Around>> {
    let attrs: Vec<_> = item.attrs.iter().filter(|attr| !is_one_of(attr, INERT)).cloned().collect();
    let Some(first) = attrs.first() else { return Ok(None) };
    if item.wrapped.boxed.is_some() {
        let rule = "an attribute below `#[stampede_cached]` gets a function of its own, for which the `impl` of a trait has no place";
        return Err(error(first, rule, "put it above `#[stampede_cached]`"));
    }
    let name = plain(&item.sig.ident);
    let attrs = attrs.into_iter().map(|attr| named_span(attr, &name)).collect();
    let receiver = item.sig.receiver().map(self_ident);
    let mut sig = item.sig.clone();
    // Where the method can't be, its name is what the user reads in the error.
    let hint = if receiver.is_some() { "_in_a_trait_impl_put_the_attribute_above" } else { "" };
    sig.ident = format_ident!("__stampede_load_{name}{hint}", span = Span::mixed_site().located_at(sig.ident.span()));
    Ok(Some(Around { attrs, sig, receiver }))
}

/// `#[instrument]` names its span after the function, which has another name here: it gets the user's.
fn named_span(attr: Attribute, name: &str) -> Attribute {
    let path = attr.path();
    if path.segments.last().is_none_or(|last| last.ident != "instrument") {
        return attr;
    }
    let meta = match &attr.meta {
        Meta::Path(path) => parse_quote!(#path(name = #name)),
        Meta::List(list) if !names_span(&list.tokens) => {
            let tokens = &list.tokens;
            parse_quote!(#path(name = #name, #tokens))
        }
        _ => return attr,
    };
    Attribute { meta, ..attr }
}

fn names_span(tokens: &TokenStream) -> bool {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is_name = |pair: &[TokenTree]| matches!(pair, [TokenTree::Ident(name), TokenTree::Punct(equals)] if name == "name" && equals.as_char() == '=');
    matches!(trees.first(), Some(TokenTree::Literal(_))) || trees.windows(2).any(is_name)
}

/// How the body gets its arguments.
pub(crate) fn load(call: &Call<'_>, item: &AsyncFn, returns: &Type, around: Option<Around>) -> Load {
    let in_caller = call.args.run.as_ref().is_some_and(|run| run.value == Run::InCaller);
    let is_moved = around.as_ref().is_some_and(|around| around.receiver.is_some());
    let (body, mentions_self) = if in_caller || is_moved || call.inputs.receiver.is_none() {
        (item.block(), is_moved && !in_caller)
    } else {
        receiver::renamed(&item.block())
    };
    let params = call.inputs.params.iter().enumerate().map(|(index, input)| {
        let ids = call.each.as_ref().filter(|each| each.index == index);
        let is_named = around.is_some() || input.is_in(&item.body);
        let lent = ids.is_none() && !in_caller && is_named && borrow(&input.ty).is_some();
        let name = &input.name;
        let is_bound = lent || ids.is_some();
        let bind = match around {
            Some(_) => is_bound.then(|| parse_quote!(#name)),
            None => binding(input, call.is_used(index), is_named, is_bound),
        };
        let is_copied = call.each.is_some() && ids.is_none() && !lent && borrow(&input.ty).is_none();
        let again = is_copied && (is_named || bind.is_some());
        param(input, bind, lent, again, ids.is_some())
    });
    let receiver = call.inputs.receiver.as_ref().filter(|_| mentions_self);
    Load {
        in_caller,
        span: item.is_async().unwrap_or_else(Span::call_site),
        returns: returns.clone(),
        receiver: receiver.map(|receiver| self_load(receiver, is_moved)),
        params: params.collect(),
        body,
        around,
    }
}

/// What a parameter binds in the load, if it is not there by being captured under its own name.
fn binding(input: &Input, used: bool, is_named: bool, is_bound: bool) -> Option<Pat> {
    let is_plain = !input.is_pattern && matches!(&input.pat, Pat::Ident(PatIdent { mutability: None, .. }));
    let is_borrowed = borrow(&input.ty).is_some();
    if matches!(input.pat, Pat::Wild(_)) || (is_borrowed && !is_named) || (is_plain && is_named && !is_bound) {
        return None;
    }
    if is_plain && !is_named && (used || plain(&input.name).starts_with('_')) {
        // In use, or meant not to be: the load owns it, for its drop's sake, under a name that no lint looks at.
        let hidden = Ident::new("__unused", Span::mixed_site());
        return Some(parse_quote!(#hidden));
    }
    Some(input.pat.clone())
}

fn param(input: &Input, bind: Option<Pat>, lent: bool, again: bool, ids: bool) -> Param {
    let attrs = input.attrs.iter().filter(|attr| is_one_of(attr, BINDING)).cloned();
    Param {
        name: input.name.clone(),
        cfg: cfgs(&input.attrs),
        attrs: attrs.collect(),
        ty: input.ty.clone(),
        bind,
        lent,
        again,
        ids,
    }
}

fn self_load(receiver: &Receiver, is_passed_on: bool) -> SelfLoad {
    let how = match &receiver.kind {
        ReceiverKind::Reference(..) => HowSelf::Cloned,
        ReceiverKind::Typed(_, ty) if borrow(ty).is_some() => HowSelf::Cloned,
        _ => HowSelf::Moved(receiver.mutability.filter(|_| !is_passed_on)),
    };
    let token = self_ident(receiver);
    SelfLoad { name: Ident::new(receiver::NAME, token.span()), token, how }
}

/// The printed signature: parameters are plain names, for their patterns bind in the load.
fn plain_signature(mut sig: Signature, load: &Load) -> Signature {
    let mut names = load.params.iter().map(|param| &param.name);
    for input in &mut sig.inputs {
        match input {
            FnArg::Receiver(receiver) if !load.in_caller && !matches!(receiver.kind, ReceiverKind::Reference(..)) => {
                receiver.mutability = None;
            }
            FnArg::Receiver(_) => {}
            FnArg::Typed(param) => {
                if let Some(name) = names.next() {
                    param.pat = parse_quote!(#name);
                }
            }
        }
    }
    sig
}

/// The builder calls for what was given.
pub(crate) fn settings(args: &Args) -> Vec<(Ident, TokenStream)> {
    let path = runtime(args);
    let private = quote!(#path::__private);
    let times = args.times().map(|arg| (arg.name.clone(), time(&private, &arg.value)));
    let numbers = [&args.capacity, &args.max_loads, &args.beta].into_iter().flatten();
    times.chain(numbers.map(|arg| (arg.name.clone(), arg.tokens.clone()))).collect()
}

fn time(private: &TokenStream, time: &Time) -> TokenStream {
    match time {
        Time::Fixed(time) if *time == std::time::Duration::MAX => quote!(#private::Duration::MAX),
        Time::Fixed(time) => {
            let (seconds, nanos) = (time.as_secs(), time.subsec_nanos());
            quote!(#private::Duration::new(#seconds, #nanos))
        }
        Time::Share(share) => quote!(#private::percent(#share)),
        Time::Expr(expr) => {
            let span = Span::mixed_site().located_at(expr.span());
            let function = quote_spanned!(span=> duration);
            quote!(#private::#function(#expr))
        }
    }
}

fn runtime(args: &Args) -> syn::Path {
    args.krate.as_ref().map_or_else(|| parse_quote!(::stampede_runtime), |arg| arg.value.clone())
}

pub(crate) fn companion_param(cfg: Vec<Attribute>, name: &Ident, ty: &Type, lifetimes: &[String]) -> CompanionParam {
    CompanionParam { cfg, name: name.clone(), ty: elided(ty.to_token_stream(), lifetimes) }
}

/// The `where` predicates that say nothing about these lifetimes.
pub(crate) fn bounds_without(generics: &Generics, lifetimes: &[String]) -> Vec<WherePredicate> {
    let predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let is_free = |predicate: &&WherePredicate| {
        let tokens = predicate.to_token_stream();
        !lifetimes.iter().any(|lifetime| mentions_lifetime(tokens.clone(), lifetime))
    };
    predicates.filter(is_free).cloned().collect()
}

fn mentions_lifetime(tokens: TokenStream, name: &str) -> bool {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    trees.iter().enumerate().any(|(at, tree)| match tree {
        TokenTree::Ident(ident) => ident == name && at > 0 && is_punct(&trees[at - 1], '\''),
        TokenTree::Group(group) => mentions_lifetime(group.stream(), name),
        _ => false,
    })
}

/// Puts the pieces together.
pub(crate) fn plan(
    args: Args,
    item: AsyncFn,
    load: Load,
    (key, each): (Key, Option<Each>),
    definition: Definition,
    companions: Option<Companions>,
) -> Plan {
    Plan {
        runtime: runtime(&args),
        attrs: item.attrs.into_iter().filter(|attr| is_one_of(attr, INERT)).collect(),
        vis: item.vis,
        sig: plain_signature(item.sig, &load),
        brace: item.brace,
        wrapped: item.wrapped,
        load,
        key,
        each,
        definition,
        scope: args.scope.map(|arg| arg.value),
        tags: args.tags.map(|arg| arg.value),
        companions,
    }
}
