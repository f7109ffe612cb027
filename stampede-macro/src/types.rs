//! What a written type says about itself: what it borrows, whether it is a float, an `impl Trait`.
//!
//! Only what is written counts: an alias can hide anything, and then rustc finds it.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    GenericArgument, Ident, Lifetime, Path, PathArguments, ReturnType, Type, TypeParamBound, TypePath, TypeReference,
};

/// What [`walk`] meets. Arguments of `fn` and `Fn(..)` types are not visited: they borrow nothing by themselves.
#[derive(Clone, Copy)]
pub(crate) enum Met<'a> {
    Reference(&'a TypeReference),
    Lifetime(&'a Lifetime),
    Impl(&'a Type),
}

/// Visits the parts of a type, outermost first.
pub(crate) fn walk<'a>(ty: &'a Type, see: &mut dyn FnMut(Met<'a>)) {
    match ty {
        Type::Array(array) => walk(&array.elem, see),
        Type::Slice(slice) => walk(&slice.elem, see),
        Type::Group(group) => walk(&group.elem, see),
        Type::Paren(paren) => walk(&paren.elem, see),
        Type::Ptr(pointer) => walk(&pointer.elem, see),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|elem| walk(elem, see)),
        Type::Reference(reference) => {
            see(Met::Reference(reference));
            walk(&reference.elem, see);
        }
        Type::Path(path) => {
            path.qself.iter().for_each(|qself| walk(&qself.ty, see));
            walk_path(&path.path, see);
        }
        Type::TraitObject(object) => walk_bounds(&object.bounds, see),
        Type::ImplTrait(object) => {
            see(Met::Impl(ty));
            walk_bounds(&object.bounds, see);
        }
        _ => {}
    }
}

fn walk_bounds<'a>(bounds: impl IntoIterator<Item = &'a TypeParamBound>, see: &mut dyn FnMut(Met<'a>)) {
    for bound in bounds {
        match bound {
            // `for<'x>` brings lifetimes of its own.
            TypeParamBound::Trait(bound) if bound.lifetimes.is_none() => walk_path(&bound.path, see),
            TypeParamBound::Lifetime(lifetime) => see(Met::Lifetime(lifetime)),
            _ => {}
        }
    }
}

fn walk_path<'a>(path: &'a Path, see: &mut dyn FnMut(Met<'a>)) {
    for segment in &path.segments {
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else { continue };
        for argument in &arguments.args {
            match argument {
                GenericArgument::Lifetime(lifetime) => see(Met::Lifetime(lifetime)),
                GenericArgument::Type(ty) => walk(ty, see),
                GenericArgument::AssocType(binding) => walk(&binding.ty, see),
                _ => {}
            }
        }
    }
}

/// The type without parentheses and invisible groups.
pub(crate) fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        _ => ty,
    }
}

fn is_static(lifetime: &Lifetime) -> bool {
    lifetime.ident == "static"
}

/// The first thing in `ty` that borrows for less than `'static`.
pub(crate) fn borrow(ty: &Type) -> Option<TokenStream> {
    let mut found = None;
    walk(ty, &mut |met| {
        let tokens = match met {
            Met::Reference(reference) if !reference.lifetime.as_ref().is_some_and(is_static) => {
                let and = &reference.and_token;
                let lifetime = &reference.lifetime;
                quote!(#and #lifetime)
            }
            Met::Lifetime(lifetime) if !is_static(lifetime) => lifetime.to_token_stream(),
            _ => return,
        };
        found.get_or_insert(tokens);
    });
    found
}

/// The first `&mut` in `ty`.
pub(crate) fn exclusive(ty: &Type) -> Option<TokenStream> {
    let mut found = None;
    walk(ty, &mut |met| {
        if let Met::Reference(TypeReference { and_token, lifetime, mutability: Some(mutability), .. }) = met {
            found.get_or_insert_with(|| quote!(#and_token #lifetime #mutability));
        }
    });
    found
}

/// The first `impl Trait` in `ty`.
pub(crate) fn opaque(ty: &Type) -> Option<&Type> {
    let mut found = None;
    walk(ty, &mut |met| {
        if let Met::Impl(ty) = met {
            found.get_or_insert(ty);
        }
    });
    found
}

/// The first float in `ty`, where nothing in between could make it fit for a key.
pub(crate) fn float(ty: &Type) -> Option<&Ident> {
    match bare(ty) {
        Type::Array(array) => float(&array.elem),
        Type::Slice(slice) => float(&slice.elem),
        Type::Reference(reference) => float(&reference.elem),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(float),
        Type::Path(TypePath { qself: None, path, .. }) => match path.get_ident() {
            Some(name) => (name == "f32" || name == "f64").then_some(name),
            None => argument_of(ty, "Option").or_else(|| argument_of(ty, "Vec")).and_then(float),
        },
        _ => None,
    }
}

/// The `T` of a type written `name<T, ..>`.
pub(crate) fn argument_of<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(TypePath { qself: None, path, .. }) = bare(ty) else { return None };
    let last = path.segments.last().filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// Whether the type is surely no `Result`: one of the language's own, which no alias can be.
pub(crate) fn is_surely_plain(ty: &Type) -> bool {
    const PLAIN: &str = "bool char str String f32 f64 u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize";
    match bare(ty) {
        Type::Array(_) | Type::Tuple(_) | Type::Reference(_) | Type::Slice(_) => true,
        Type::Path(path) => path.path.get_ident().is_some_and(|name| PLAIN.split(' ').any(|plain| name == plain)),
        _ => false,
    }
}

/// The type a function returns, `()` written out.
pub(crate) fn returned(output: &ReturnType) -> Type {
    match output {
        ReturnType::Type(_, ty) => Type::clone(ty),
        ReturnType::Default => syn::parse_quote!(()),
    }
}
