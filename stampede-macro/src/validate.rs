//! From what was typed to what is printed: every rule about parameters, key and companions, then the [`Plan`].
//!
//! Rules of single arguments are in `args`, of arguments together in `rules`, of the signature in `signature`.

use crate::{
    args::{Arg, Args},
    call::Call,
    duration::Time,
    errors::{Errors, error},
    item::AsyncFn,
    key::Key,
    lower,
    params::{Input, Inputs},
    plan::{Companions, Definition, Plan},
    rules, signature,
    tokens::mention,
    types::opaque,
};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{GenericParam, Type};

/// The plan, if there is nothing to complain about.
pub(crate) fn plan(args: Args, item: AsyncFn, errors: &mut Errors) -> Option<Plan> {
    if !signature::check(&item, errors) {
        return None;
    }
    let inputs = Inputs::of(&item.sig);
    let returns = item.returns();
    rules::check(&args, &returns, errors);
    check_expressions(&args, &inputs, errors);
    let call = Call::of(&args, &inputs, errors);
    if !args.broken {
        call.check(errors);
    }
    let generic = is_generic(&item);
    check_companions(&args, &item, generic, errors);
    let around = errors.take(lower::around(&item));
    if !errors.is_empty() {
        return None;
    }
    let (key, each) = (call.key(), call.each.clone());
    let wanted = !generic && item.wrapped.boxed.is_none() && args.companions.as_ref().is_none_or(|arg| arg.value);
    let companions = wanted.then(|| companions(&call, &item, &key));
    let load = lower::load(&call, &item, &returns, around.flatten());
    let definition = definition(&args, &item, returns);
    Some(lower::plan(args, item, load, (key, each), definition, companions))
}

/// Expressions evaluated once must not use parameters; those evaluated per call must not use what patterns bind.
fn check_expressions(args: &Args, inputs: &Inputs, errors: &mut Errors) {
    for (name, expr) in args.evaluated_once() {
        errors.extend(inputs.check_free(name, expr));
    }
    let key = args.key.iter().map(|arg| (&arg.name, &arg.tokens));
    let rest = [&args.scope, &args.tags].into_iter().flatten().map(|arg| (&arg.name, &arg.tokens));
    for (name, tokens) in key.chain(rest) {
        errors.extend(inputs.check_bound(name, tokens));
    }
}

/// Whether the macro can't write the companions' types.
fn is_generic(item: &AsyncFn) -> bool {
    let params = &item.sig.generics.params;
    let has_types = params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_)));
    let mut inputs = item.sig.inputs.iter();
    has_types || inputs.any(|input| matches!(input, syn::FnArg::Typed(param) if opaque(&param.ty).is_some()))
}

fn check_companions(args: &Args, item: &AsyncFn, generic: bool, errors: &mut Errors) {
    let wanted = args.companions.as_ref();
    if let Some(arg) = wanted.filter(|arg| arg.value && generic) {
        let rule = "a generic function has no companions, for they could not tell which of its caches is meant";
        errors.push(error(&arg.name, rule, "remove `companions = true`; `entry_of(call)` gives the entry of a call"));
    }
    if let Some(arg) = wanted.filter(|arg| arg.value && item.wrapped.boxed.is_some()) {
        let rule = "the `impl` of a trait has no place for companions";
        errors.push(error(&arg.name, rule, "remove `companions = true`; `entry_of(call)` gives the entry of a call"));
    }
    if wanted.is_some_and(|arg| !arg.value) || generic || item.wrapped.boxed.is_some() || item.sig.receiver().is_some()
    {
        return;
    }
    let (inputs, output) = (&item.sig.inputs, &item.sig.output);
    if mention(&quote!(#inputs #output), "Self").is_some() || args.mentions_self_type() {
        let rule =
            "an associated function without a receiver can't have companions: the macro can't know the type's name";
        errors.push(error(&item.sig.ident, rule, "add `companions = false`"));
    }
}

fn companions(call: &Call<'_>, item: &AsyncFn, key: &Key) -> Companions {
    let lifetimes = item.sig.generics.lifetimes().map(|param| param.lifetime.ident.to_string()).collect::<Vec<_>>();
    let id = call.each.as_ref().map(|each| (each.one(&call.inputs.names()), &each.id));
    let lowered = |(_, param): (usize, &Input)| {
        lower::companion_param(lower::cfgs(&param.attrs), &param.name, &param.ty, &lifetimes)
    };
    let params = call.inputs.params.iter().enumerate();
    let in_scope = params.clone().filter(|(_, param)| call.is_in_scope(param));
    let named = call.named_parts().map(|(name, ty)| lower::companion_param(Vec::new(), name, ty, &lifetimes));
    let in_entry = params.filter(|(index, param)| call.is_asked_for(*index, param)).map(lowered);
    let one = id.iter().map(|(one, ty)| lower::companion_param(Vec::new(), one, ty, &lifetimes));
    Companions {
        key: key.of_companion(id.as_ref().map(|(one, _)| one)),
        cfg: lower::cfgs(&item.attrs),
        allow: lower::allowed(&item.attrs),
        is_method: call.inputs.receiver.is_some(),
        bounds: lower::bounds_without(&item.sig.generics, &lifetimes),
        entry: named.chain(in_entry).chain(one).collect(),
        cache: in_scope.map(lowered).collect(),
    }
}

fn definition(args: &Args, item: &AsyncFn, returns: Type) -> Definition {
    let expr = |arg: &Option<Arg<syn::Expr>>| arg.as_ref().map(|arg| arg.value.clone());
    let hooks = [&args.ttl_of, &args.outage, &args.weight];
    Definition {
        name: expr(&args.name),
        fn_name: item.sig.ident.clone(),
        is_method: item.sig.receiver().is_some(),
        is_batch: args.each.is_some(),
        returns,
        policy: expr(&args.policy),
        settings: lower::settings(args),
        hooks: hooks.into_iter().flatten().map(|arg| (arg.name.clone(), arg.value.clone())).collect(),
        run: args.run.as_ref().map(|arg| arg.value).unwrap_or_default(),
        ignore_modes: args.mode.is_some(),
        share_err: expr(&args.share_err),
        timed: args.timeout.as_ref().map(|arg| arg.name.clone()),
    }
}

impl Args {
    /// The arguments that are lengths of time.
    pub(crate) fn times(&self) -> impl Iterator<Item = &Arg<Time>> {
        let all = [
            &self.ttl,
            &self.jitter,
            &self.early,
            &self.stale,
            &self.stale_if_error,
            &self.none_ttl,
            &self.err_ttl,
            &self.timeout,
            &self.soft_timeout,
            &self.backoff,
            &self.lead_after,
        ];
        all.into_iter().flatten()
    }

    /// Expressions that are evaluated once, with the argument's name.
    fn evaluated_once(&self) -> impl Iterator<Item = (&Ident, &syn::Expr)> {
        let times = self.times().filter_map(|arg| match &arg.value {
            Time::Expr(expr) => Some((&arg.name, &**expr)),
            Time::Fixed(_) | Time::Share(_) => None,
        });
        let rest = [
            &self.capacity,
            &self.max_loads,
            &self.beta,
            &self.ttl_of,
            &self.outage,
            &self.share_err,
            &self.weight,
            &self.policy,
            &self.name,
        ];
        times.chain(rest.into_iter().flatten().map(|arg| (&arg.name, &arg.value)))
    }

    /// Whether an argument uses `Self`.
    fn mentions_self_type(&self) -> bool {
        let all = [&self.scope, &self.tags, &self.ttl_of, &self.outage, &self.share_err, &self.weight];
        let tokens = all.into_iter().flatten().map(|arg| &arg.tokens);
        tokens.chain(self.key.iter().map(|arg| &arg.tokens)).any(holds_self_type)
    }
}

/// `Self` as a path's first segment counts too.
fn holds_self_type(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|tree| match tree {
        proc_macro2::TokenTree::Ident(ident) => ident == "Self",
        proc_macro2::TokenTree::Group(group) => holds_self_type(&group.stream()),
        _ => false,
    })
}
