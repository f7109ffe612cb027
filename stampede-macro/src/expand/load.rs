//! The load: what it owns, and the future it makes.

use super::{Printer, allow_underscores, at, local};
use crate::{
    batch::Each,
    own::{lend, own},
    plan::{Around, HowSelf, Load, Param, SelfLoad},
    tokens::respanned,
};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{GenericParam, Pat, Signature, spanned::Spanned as _};

impl Printer<'_> {
    /// `.run(..)`: the ticket's call with the closure that makes the future.
    pub(super) fn load(&self) -> TokenStream {
        let load = &self.plan.load;
        let span = at(load.span);
        let (future, owned) = (self.future(span), self.owned());
        let ids = self.plan.each.as_ref().map(|_| local("__ids"));
        let call = if load.in_caller { quote_spanned!(span=> .run_in_caller) } else { quote_spanned!(span=> .run) };
        quote!(#call(move |#ids| { #owned #future }))
    }

    /// What the leading call makes its own before the future.
    fn owned(&self) -> TokenStream {
        let Load { params, receiver, .. } = &self.plan.load;
        let private = &self.private;
        let params = params.iter().filter(|param| param.lent || param.again).map(|param| {
            let Param { name, cfg, ty, .. } = param;
            let owned = if param.lent {
                own(&self.plan.runtime, &name.to_token_stream(), ty)
            } else {
                quote_spanned!(at(syn::spanned::Spanned::span(ty))=> #private::again(&#name))
            };
            let allow = allow_underscores([name]);
            quote! {
                #(#cfg)*
                #allow
                let #name = #owned;
            }
        });
        let receiver = receiver.as_ref().and_then(|SelfLoad { name, token, how }| {
            let function = match how {
                HowSelf::Cloned => quote_spanned!(at(token.span())=> own_self(#token)),
                HowSelf::Moved(_) if self.plan.each.is_some() => quote_spanned!(at(token.span())=> again(&#token)),
                HowSelf::Moved(_) => return None,
            };
            Some(quote!(let #name = #private::#function;))
        });
        quote!(#(#params)* #receiver)
    }

    /// The `async` block: arguments bound as the user's signature says, then the body.
    fn future(&self, span: Span) -> TokenStream {
        let bound = self.bound();
        let body = match &self.plan.load.around {
            Some(around) => self.around(around, &bound),
            None => self.inline(&bound),
        };
        let keywords = quote_spanned!(span=> async move);
        quote!(#keywords { #body })
    }

    fn bound(&self) -> TokenStream {
        let Load { params, receiver, .. } = &self.plan.load;
        let params = params.iter().filter_map(|param| Some(self.bind(param, param.bind.as_ref()?)));
        let receiver = receiver.as_ref().map(|SelfLoad { name, token, how }| match how {
            HowSelf::Cloned => quote!(let #name = &#name;),
            HowSelf::Moved(mutability) if self.plan.each.is_some() => quote!(let #mutability #name = #name;),
            HowSelf::Moved(mutability) => quote!(let #mutability #name = #token;),
        });
        quote!(#(#params)* #receiver)
    }

    fn bind(&self, param: &Param, pat: &Pat) -> TokenStream {
        let Param { name, attrs, ty, .. } = param;
        let value = name.to_token_stream();
        let value = match &self.plan.each {
            Some(each) if param.ids => ids_of(each),
            _ if param.lent => lend(&self.plan.runtime, &value, ty),
            _ => value,
        };
        let allow = allow_underscores([name]);
        quote! {
            #(#attrs)*
            #allow
            let #pat = #value;
        }
    }

    /// The body, after a return that never happens: it gives `?`, `return` and coercions their type.
    fn inline(&self, bound: &TokenStream) -> TokenStream {
        let Load { returns, body, .. } = &self.plan.load;
        let place = at(returns.span());
        let private = respanned(&self.private, place);
        // Where rustc says why it expects that type, it points at the type.
        let never = quote_spanned!(place=> if false { return #private::absent::<#returns>(); });
        quote! {
            #bound
            #never
            // With an attribute, the user's own braces are not taken for needless ones.
            #[cfg(all())]
            #body
        }
    }

    /// The body in a function of its own, under the attributes that belong to it.
    fn around(&self, around: &Around, bound: &TokenStream) -> TokenStream {
        let Around { sig, receiver, .. } = around;
        let name = &sig.ident;
        let generics = explicit_generics(sig);
        let arguments = self.plan.load.params.iter().map(|Param { cfg, name, .. }| quote!(#(#cfg)* #name));
        match receiver {
            Some(token) => {
                let receiver = self.plan.load.receiver.as_ref().map_or(token, |receiver| &receiver.name);
                let place = at(name.span());
                let call = quote_spanned!(place=> Self::#name #generics);
                quote!(#bound #call(#receiver, #(#arguments),*).await)
            }
            None => {
                let function = self.body_function(around);
                quote! {
                    #function
                    #bound
                    #name #generics(#(#arguments),*).await
                }
            }
        }
    }

    fn body_function(&self, Around { attrs, sig, .. }: &Around) -> TokenStream {
        let body = &self.plan.load.body;
        quote!(#(#attrs)* #sig #body)
    }

    /// The body of a method under attributes: a method too, for only there are `self` and `Self`.
    pub(super) fn beside(&self) -> Option<TokenStream> {
        let around = self.plan.load.around.as_ref().filter(|around| around.receiver.is_some())?;
        let cfg = crate::lower::cfgs(&self.plan.attrs);
        let function = self.body_function(around);
        Some(quote!(#(#cfg)* #[doc(hidden)] #function))
    }
}

/// The ids that a load is for, as the signature has them.
fn ids_of(each: &Each) -> TokenStream {
    let ids = local("__ids");
    match each {
        Each { is_slice: true, .. } => quote!(&*#ids),
        Each { by_reference: true, .. } => quote!(&#ids),
        Each { .. } => quote!(#ids),
    }
}

/// `::<T, N>`: what the caller of the function was called with, for what its arguments don't tell.
fn explicit_generics(sig: &Signature) -> Option<TokenStream> {
    let names: Vec<_> = sig
        .generics
        .params
        .iter()
        .filter_map(|param| match param {
            GenericParam::Type(param) => Some(&param.ident),
            GenericParam::Const(param) => Some(&param.ident),
            GenericParam::Lifetime(_) => None,
        })
        .collect();
    (!names.is_empty()).then(|| quote!(::<#(#names),*>))
}
