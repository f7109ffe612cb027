//! What a function must look like to be annotated: the rules of its signature.

use crate::{
    errors::{Errors, error},
    item::{AsyncFn, RULE},
    types::{argument_of, bare, borrow, exclusive, opaque},
};
use quote::ToTokens;
use syn::{FnArg, GenericParam, Receiver, ReceiverKind, ReturnType, Safety, Signature, Type};

/// Checks the signature. `false`: it is no `async fn`, and nothing more can be said.
pub(crate) fn check(item: &AsyncFn, errors: &mut Errors) -> bool {
    let sig = &item.sig;
    if item.is_async().is_none() {
        errors.push(not_async(sig));
        return false;
    }
    check_qualifiers(sig, errors);
    sig.inputs.iter().for_each(|input| check_input(input, errors));
    check_return(&item.returns(), errors);
    true
}

fn not_async(sig: &Signature) -> syn::Error {
    let is_rewritten = sig
        .generics
        .params
        .iter()
        .any(|param| matches!(param, GenericParam::Lifetime(lifetime) if lifetime.lifetime.ident == "async_trait"));
    if is_rewritten {
        let rule = "`#[async_trait]`, or what came after it, has turned this method into something else";
        let help = "move its body into an `async fn` of its own with the attribute, and call that here";
        return error(sig.fn_token, rule, help);
    }
    let help = if returns_future(&sig.output) {
        "write it as `async fn` that returns what the future gives: the future itself can't be cached"
    } else {
        "make it an `async fn`; blocking work goes into `spawn_blocking(..).await`"
    };
    error(sig.fn_token, RULE, help)
}

fn returns_future(output: &ReturnType) -> bool {
    output.to_token_stream().to_string().contains("Future")
}

fn check_qualifiers(sig: &Signature, errors: &mut Errors) {
    let help = "wrap it in an `async fn` without that, and annotate the wrapper";
    if let Some(token) = &sig.constness {
        errors.push(error(token, "a `const fn` can't be cached", help));
    }
    if let Safety::Unsafe(token) = &sig.safety {
        let rule = "an `unsafe fn` can't be cached: a hit would skip what its caller promises";
        errors.push(error(token, rule, help));
    }
    if let Some(abi) = &sig.abi {
        errors.push(error(abi, "an `extern` function can't be cached", help));
    }
    if let Some(variadic) = &sig.variadic {
        errors.push(error(variadic, "a variadic function can't be cached", help));
    }
}

fn check_input(input: &FnArg, errors: &mut Errors) {
    match input {
        FnArg::Receiver(receiver) => check_receiver(receiver, errors),
        FnArg::Typed(param) => {
            if let Some(tokens) = exclusive(&param.ty) {
                let rule = "what is read through `&mut` can't be cached: a transaction, say, may be rolled back";
                errors.push(error(tokens, rule, "take `&T` or an owned handle, such as `&PgPool`"));
            }
        }
    }
}

fn check_receiver(receiver: &Receiver, errors: &mut Errors) {
    let help = "take `&self`, and keep what changes behind a lock or in a field of atomics";
    match &receiver.kind {
        ReceiverKind::Reference(_, _, Some(_)) => {
            errors.push(error(receiver, "a method that changes `self` can't be cached: a hit would not run it", help));
        }
        ReceiverKind::Typed(_, ty) if exclusive(ty).is_some() => {
            errors.push(error(ty, "a method that changes `self` can't be cached: a hit would not run it", help));
        }
        ReceiverKind::Typed(_, ty) if argument_of(ty, "Pin").is_some() => {
            errors.push(error(ty, "a pinned receiver can't be owned by a load", "take `&self` or `self: Arc<Self>`"));
        }
        _ => {}
    }
}

fn check_return(ty: &Type, errors: &mut Errors) {
    if opaque(ty).is_some() {
        let rule = "an `impl Trait` has no name under which it could be kept";
        errors.push(error(ty, rule, "return a concrete type, or `Arc<dyn Trait + Send + Sync>`"));
    } else if let Some(tokens) = exclusive(ty).or_else(|| borrow(ty)) {
        let rule = "the answer is kept, so it can't borrow from the arguments";
        let help = match bare(ty) {
            Type::Reference(_) => "return an owned value: `String` for `&str`, `Arc<T>` for `&T`",
            _ => "return an owned value, without the lifetime",
        };
        errors.push(error(tokens, rule, help));
    } else if argument_of(ty, "Result").and_then(|inner| argument_of(inner, "Result")).is_some() {
        let rule = "a `Result` in a `Result` would be stored with its inner error as if that were an answer";
        errors.push(error(ty, rule, "return one `Result`, with an error type that holds both errors"));
    }
}
