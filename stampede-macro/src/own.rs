//! How a borrowed argument gets into a load: owned by the call that leads, lent to the body under its written type.
//!
//! `&T` becomes `T`'s owned form, `Option`s and tuples of references are taken apart; what owns itself is moved.

use crate::{
    tokens::respanned,
    types::{argument_of, bare, borrow},
};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Path, Type, TypeTuple, spanned::Spanned as _};

/// What in this type keeps it from being owned by a load.
pub(crate) fn unownable(ty: &Type) -> Option<TokenStream> {
    match bare(ty) {
        Type::Reference(reference) => borrow(&reference.elem),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(unownable),
        other => match argument_of(other, "Option").map(bare) {
            Some(inner) if is_lent_whole(inner) => unownable(inner),
            _ => borrow(other),
        },
    }
}

/// Whether an `Option` of it can be lent from a borrowed one: nothing in it has to be moved out.
fn is_lent_whole(ty: &Type) -> bool {
    matches!(ty, Type::Reference(_)) || argument_of(ty, "Option").map(bare).is_some_and(is_lent_whole)
}

/// *Input:* `name: Option<&str>`, *output:* `Option::map(name, |value| own(value))`.
pub(crate) fn own(runtime: &Path, value: &TokenStream, ty: &Type) -> TokenStream {
    if borrow(ty).is_none() {
        return value.clone();
    }
    match bare(ty) {
        Type::Reference(reference) => {
            let span = Span::mixed_site().located_at(reference.elem.span());
            let runtime = respanned(&runtime.to_token_stream(), span);
            quote_spanned! {span=> {
                use #runtime::__private::owns::*;
                (&&#runtime::__private::Lent(#value)).stampede_own()
            }}
        }
        Type::Tuple(tuple) => {
            let names: Vec<_> = element_names(tuple);
            let owned = names.iter().zip(&tuple.elems).map(|(name, elem)| own(runtime, &quote!(#name), elem));
            let owned: Vec<_> = owned.collect();
            quote!(match #value { (#(#names,)*) => (#(#owned,)*) })
        }
        other => {
            let inner = argument_of(other, "Option").unwrap_or(other);
            let name = Ident::new("__value", Span::mixed_site());
            let owned = own(runtime, &quote!(#name), inner);
            quote!(#runtime::__private::Option::map(#value, |#name| #owned))
        }
    }
}

/// *Input:* `name: Option<&str>`, *output:* `Option::map(Option::as_ref(&name), |value| lend(&*value))`.
pub(crate) fn lend(runtime: &Path, place: &TokenStream, ty: &Type) -> TokenStream {
    if borrow(ty).is_none() {
        return place.clone();
    }
    match bare(ty) {
        Type::Reference(_) => quote!(#runtime::__private::lend(&#place)),
        Type::Tuple(tuple) => {
            let lent = tuple.elems.iter().enumerate().map(|(index, elem)| {
                let index = syn::Index::from(index);
                lend(runtime, &quote!(#place.#index), elem)
            });
            let lent: Vec<_> = lent.collect();
            quote!((#(#lent,)*))
        }
        other => {
            let inner = argument_of(other, "Option").unwrap_or(other);
            let name = Ident::new("__value", Span::mixed_site());
            let lent = lend(runtime, &quote!((*#name)), inner);
            let option = quote!(#runtime::__private::Option);
            quote!(#option::map(#option::as_ref(&#place), |#name| #lent))
        }
    }
}

fn element_names(tuple: &TypeTuple) -> Vec<Ident> {
    (0..tuple.elems.len()).map(|index| format_ident!("__element{index}", span = Span::mixed_site())).collect()
}
