//! The static site of the function, and what its cache is configured with at first use.

use super::{Printer, at, local};
use crate::{
    args::Run,
    plan::Definition,
    tokens::{plain, respanned},
};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;

impl Printer<'_> {
    /// The definition of the cache: a static site and what it is configured with at first use.
    pub(super) fn definition(&self) -> TokenStream {
        let Some(companions) = &self.plan.companions else { return self.define() };
        let name = self.definition_name();
        // One place for all references: if the name can't be found, rustc says so once.
        let place = at(self.plan.definition.fn_name.span());
        if companions.is_method { quote_spanned!(place=> Self::#name()) } else { quote_spanned!(place=> #name()) }
    }

    /// The hidden function that companions share. Where it can't be, its name is what the user reads in the error: in
    /// an `impl` a function without receiver finds no name beside it, and a trait's `impl` takes no other methods.
    pub(super) fn definition_name(&self) -> Ident {
        let Definition { fn_name, is_method, .. } = &self.plan.definition;
        let (name, place) = (plain(fn_name), at(fn_name.span()));
        if *is_method {
            format_ident!("__stampede_{name}_in_a_trait_impl_add_companions_false", span = place)
        } else {
            format_ident!("__stampede_{name}_in_an_impl_add_companions_false", span = place)
        }
    }

    pub(super) fn define(&self) -> TokenStream {
        let (private, site) = (&self.private, local("__STAMPEDE_SITE"));
        let Definition { name, fn_name, .. } = &self.plan.definition;
        let fn_name = plain(fn_name);
        let name = match name {
            Some(name) => name.to_token_stream(),
            None => quote!(::core::concat!(::core::module_path!(), "::", #fn_name)),
        };
        let config = self.config();
        quote! {{
            static #site: #private::Site = #private::Site::new(#name);
            #private::define(&#site, || #config)
        }}
    }

    fn config(&self) -> TokenStream {
        let (private, definition) = (&self.private, &self.plan.definition);
        let (how, policy) = (self.how(), self.policy());
        // With a name of its own the method's type is no part of it.
        let method = (definition.is_method && definition.name.is_none()).then(|| quote!(.method_of::<Self>()));
        let names = definition.hooks.iter().map(|(name, _)| name);
        let hooks = definition.hooks.iter().map(|(_, hook)| hook);
        quote! {{
            use #private::probe::*;
            #private::Config::new(#how, #policy) #method #(.#names(#hooks))*
        }}
    }

    /// What the return type means, asked by type. The whole call stands at that type, and not only its name: else an
    /// error in the runtime's macro would be reported at the attribute.
    fn how(&self) -> TokenStream {
        let Definition { returns, share_err, timed, is_batch, .. } = &self.plan.definition;
        let place = returns.span();
        let private = respanned(&self.private, place);
        let timed = timed.as_ref().map(|name| quote_spanned!(name.span()=> .timed()));
        match (share_err, is_batch) {
            (Some(share), false) => quote_spanned!(place=> #private::share_with_answer!(#returns, #share)),
            (Some(share), true) => quote_spanned!(place=> #private::share_each_with!(#returns, #share)),
            (None, false) => quote_spanned!(place=> #private::how!(#returns) #timed),
            (None, true) => quote_spanned!(place=> #private::how_each!(#returns) #timed),
        }
    }

    fn policy(&self) -> TokenStream {
        let (private, definition) = (&self.private, &self.plan.definition);
        let builder = match &definition.policy {
            Some(policy) => quote!(#private::PolicyBuilder::from(#policy)),
            None => quote!(#private::PolicyBuilder::new()),
        };
        let names = definition.settings.iter().map(|(name, _)| name);
        let values = definition.settings.iter().map(|(_, value)| value);
        let run = match definition.run {
            Run::Detached => None,
            Run::Cancellable => Some(quote!(.run(#private::Run::Cancellable))),
            Run::InCaller => Some(quote!(.run(#private::Run::InCaller))),
        };
        let mode = definition.ignore_modes.then(|| quote!(.ignore_modes()));
        quote!(#builder #(.#names(#values))* #run #mode)
    }
}
