//! The companions of the function: its entries, its cache, and what they share with it.

use super::{Printer, allow_underscores, at, keyed, local, where_clause};
use crate::{
    plan::{CompanionParam, Companions, Definition},
    tokens::{mentions, plain},
};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

impl Printer<'_> {
    /// What is added beside the function.
    pub(super) fn companions(&self, companions: &Companions) -> TokenStream {
        let (shared, entry, cache) = (self.shared(companions), self.entry(companions), self.cache(companions));
        quote!(#shared #entry #cache)
    }

    /// The hidden function through which the function and its companions meet at one cache.
    fn shared(&self, Companions { cfg, bounds, .. }: &Companions) -> TokenStream {
        let private = &self.private;
        let (name, outcome, define) = (self.definition_name(), self.outcome(), self.define());
        let bounds = where_clause(bounds);
        quote! {
            #(#cfg)*
            #[doc(hidden)]
            // Unused methods of one `impl` are reported together, and not at all if one of them is ours.
            #[allow(dead_code)]
            fn #name() -> impl #private::Definition<Outcome = #outcome> #bounds {
                #define
            }
        }
    }

    /// The kind of the return type, as far as a signature can say it.
    fn outcome(&self) -> TokenStream {
        let (private, value, Definition { returns, is_batch, .. }) =
            (&self.private, self.value(), &self.plan.definition);
        if !is_batch {
            return quote!(impl #private::Outcome<Return = #returns, Value = #value>);
        }
        let is_result = quote!({ #private::is_result!(#returns) });
        let element = quote!(#private::EachReturn<#returns, #is_result>);
        let error = quote!(#private::EachError<#returns, #is_result>);
        quote!(impl #private::Outcome<Return = #element, Value = #value, Error = #error>)
    }

    /// The return type without one `Result`, or that of one element, as a signature can say it.
    fn value(&self) -> TokenStream {
        let (private, Definition { returns, is_batch, .. }) = (&self.private, &self.plan.definition);
        let value = if *is_batch { quote!(EachValue) } else { quote!(Value) };
        quote!(#private::#value<#returns, { #private::is_result!(#returns) }>)
    }

    fn entry(&self, companions: &Companions) -> TokenStream {
        let (runtime, value) = (&self.plan.runtime, self.value());
        let (entry, call) =
            (local("__entry"), self.with_key(&quote!(entry), &companions.key.print(&self.plan.runtime)));
        let doc = format!(" The cache entry of {} for these arguments.", self.link(companions));
        let output = quote!(#runtime::Entry<'static, #value>);
        let tags = self.entry_tags(companions, &entry);
        let body = quote!(let #entry = #call; #tags #entry);
        self.companion("entry", &doc, companions, &companions.entry, &output, &body)
    }

    /// A value that is planted carries the tags of the attribute, as far as the companion has what they are made from.
    fn entry_tags(&self, companions: &Companions, entry: &Ident) -> Option<TokenStream> {
        let (private, tags) = (&self.private, self.plan.tags.as_ref()?);
        let tokens = quote!(#tags);
        let has = |name: &Ident| companions.entry.iter().any(|param| param.name == *name);
        let missing = |name: &Ident| mentions(&tokens, &plain(name)) && !has(name);
        if self.plan.load.params.iter().any(|param| missing(&param.name)) {
            return None;
        }
        Some(quote!(let #entry = #private::tagged(#entry, #tags);))
    }

    fn cache(&self, companions: &Companions) -> TokenStream {
        let (private, runtime) = (&self.private, &self.plan.runtime);
        let (definition, scope) = (self.definition(), self.scope());
        let doc = format!(" The cache behind {}.", self.link(companions));
        let output = quote!(#runtime::CacheHandle);
        let witness = self.witness(companions);
        let body = quote!(#private::handle(&#definition, #scope, #witness));
        self.companion("cache", &doc, companions, &companions.cache, &output, &body)
    }

    /// A closure that is never called: its type says what the key is.
    fn witness(&self, companions: &Companions) -> TokenStream {
        let (private, key) = (&self.private, local("__key"));
        let is_given = |param: &&CompanionParam| companions.cache.iter().any(|given| given.name == param.name);
        let absent = companions.entry.iter().filter(|param| !is_given(param));
        let absent =
            absent.map(|CompanionParam { cfg, name, ty }| quote!(#(#cfg)* let #name: #ty = #private::absent();));
        let witness = keyed(&companions.key.print(&self.plan.runtime), &key, &quote!(#private::witness(&#key)));
        quote!(|| { #(#absent)* #witness })
    }

    fn companion(
        &self,
        suffix: &str,
        doc: &str,
        companions: &Companions,
        params: &[CompanionParam],
        output: &TokenStream,
        body: &TokenStream,
    ) -> TokenStream {
        let Companions { cfg, allow, is_method, bounds, .. } = companions;
        let (vis, fn_name) = (&self.plan.vis, &self.plan.definition.fn_name);
        let name = format_ident!("{}_{suffix}", plain(fn_name), span = at(fn_name.span()));
        let receiver = is_method.then(|| quote!(&self,));
        let underscores = allow_underscores(companions.entry.iter().map(|param| &param.name));
        let bounds = where_clause(bounds);
        let params = params.iter().map(|CompanionParam { cfg, name, ty }| quote!(#(#cfg)* #name: #ty));
        quote! {
            #(#cfg)*
            #[doc = #doc]
            #(#allow)*
            #underscores
            #[allow(dead_code)]
            #vis fn #name(#receiver #(#params),*) -> #output #bounds {
                #body
            }
        }
    }

    fn link(&self, companions: &Companions) -> String {
        let name = plain(&self.plan.definition.fn_name);
        if companions.is_method { format!("[`Self::{name}`]") } else { format!("[`{name}`]") }
    }
}
