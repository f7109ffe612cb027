//! The template. It prints a plan and can't fail.
//!
//! *Input:*
//! ```text
//! #[stampede_cached(ttl = 300, skip(db))]
//! pub async fn report(db: &Db, date: Date) -> Result<Report, Error> { BODY }
//! ```
//! *Output*, `P` for `::stampede_runtime::__private` (the companions, and what they share, are left out):
//! ```text
//! pub async fn report(db: &Db, date: Date) -> Result<Report, Error> {
//!     let wait = {
//!         let begun = { let key = (P::Fit::<Date>(&date).stampede_part(),); P::begin(&SITE(), P::Option::None, &key) };
//!         match begun {
//!             P::Begin::Ready(answer) => return answer,
//!             P::Begin::Load(ticket) => ticket.ride(),
//!         }
//!     };
//!     let lead = match wait.await {
//!         P::Begin::Ready(answer) => return answer,
//!         P::Begin::Load(lead) => lead,
//!     };
//!     lead.run(move || {
//!         let db = P::Lent(db).stampede_own();
//!         async move {
//!             let db = P::lend(&db);
//!             if false { return P::absent::<Result<Report, Error>>(); }
//!             { BODY }
//!         }
//!     }).await
//! }
//! ```
//! With `each = ids` it is `begin_each(&SITE(), .., &ids, |id| key)`, and the load's closure takes the ids to load.

mod companions;
mod definition;
mod load;

use crate::{batch::Each, key::Printed, plan::Plan, tokens::respanned};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Type, WherePredicate, spanned::Spanned as _};

/// Prints the function and its companions.
pub(crate) fn expand(plan: &Plan) -> TokenStream {
    let printer = Printer { plan, private: private(plan) };
    let mut tokens = printer.function();
    tokens.extend(printer.beside());
    if let Some(companions) = &plan.companions {
        tokens.extend(printer.companions(companions));
    }
    tokens
}

fn private(plan: &Plan) -> TokenStream {
    let runtime = &plan.runtime;
    quote!(#runtime::__private)
}

/// A name of ours that user code can't see.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The place of a user's token, with names resolved (and lints judged) as the macro's own.
fn at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

struct Printer<'a> {
    plan: &'a Plan,
    private: TokenStream,
}

impl Printer<'_> {
    /// The annotated function: its body in the user's own braces.
    fn function(&self) -> TokenStream {
        let Plan { attrs, vis, sig, brace, wrapped, .. } = self.plan;
        let body = wrapped.around(self.body());
        let mut tokens = quote!(#(#attrs)* #vis #sig);
        brace.surround(&mut tokens, |tokens| tokens.extend(body));
        tokens
    }

    /// What is awaited has left the ticket and the key behind, so that they take no room in the call's future.
    fn body(&self) -> TokenStream {
        let private = &self.private;
        let (begun, answer, ticket, wait) = (local("__begun"), local("__answer"), local("__ticket"), local("__wait"));
        let begin = self.begin();
        // A statement of its own, so that what the tags borrow is gone before the load takes it.
        let tags = self.plan.tags.as_ref().map(|tags| quote!(let #ticket = #ticket.tags(|| #tags);));
        let load = self.load();
        let allow = allow_underscores(self.plan.load.params.iter().map(|param| &param.name));
        // A batch can lead more than once, and so takes the means to at once.
        let is_batch = self.plan.each.is_some();
        let ride = if is_batch { load.clone() } else { quote!(.ride()) };
        let lead = (!is_batch).then(|| {
            quote! {
                #allow
                let #wait = match #wait.await {
                    #private::Begin::Ready(#answer) => return #answer,
                    #private::Begin::Load(#ticket) => #ticket #load,
                };
            }
        });
        quote! {
            #allow
            let #wait = {
                let #begun = #begin;
                match #begun {
                    #private::Begin::Ready(#answer) => return #answer,
                    #private::Begin::Load(#ticket) => {
                        #tags
                        #ticket #ride
                    }
                }
            };
            #lead
            #wait.await
        }
    }

    fn begin(&self) -> TokenStream {
        let key = self.plan.key.print(&self.plan.runtime);
        let Some(each) = &self.plan.each else { return self.with_key(&quote!(begin), &key) };
        let Each { name, by_reference, id: id_type, .. } = each;
        let (private, id, definition, scope) = (&self.private, Each::place(), self.definition(), self.scope());
        let ids = if *by_reference { quote!(#name) } else { quote!(&#name) };
        let returns = &self.plan.definition.returns;
        let kind = self.kind(returns, id_type);
        let Printed { tuple, .. } = &key;
        evaluated(&key, &quote!(#private::begin_each(&#definition, #kind, #scope, #ids, |#id| #tuple)))
    }

    /// How the collection is taken apart, asked by type.
    fn kind(&self, returns: &Type, id: &Type) -> TokenStream {
        let place = at(returns.span());
        let private = respanned(&self.private, place);
        quote_spanned! {place=> {
            use #private::kinds::*;
            (&&&&&#private::Batch::<#returns, #id>::new()).stampede_kind()
        }}
    }

    /// A call of a runtime function with definition, scope and key.
    fn with_key(&self, function: &TokenStream, printed: &Printed) -> TokenStream {
        let (private, key) = (&self.private, local("__key"));
        let (definition, scope) = (self.definition(), self.scope());
        keyed(printed, &key, &quote!(#private::#function(&#definition, #scope, &#key)))
    }

    fn scope(&self) -> TokenStream {
        let private = &self.private;
        match &self.plan.scope {
            Some(scope) => quote!(#private::Option::Some(&(#scope))),
            None => quote!(#private::Option::None),
        }
    }
}

/// `then` with the key bound to a name.
fn keyed(printed: &Printed, key: &Ident, then: &TokenStream) -> TokenStream {
    let tuple = &printed.tuple;
    evaluated(printed, &quote!({ let #key = #tuple; #then }))
}

/// `then`, where the key's expressions have been evaluated, once.
fn evaluated(Printed { names, exprs, .. }: &Printed, then: &TokenStream) -> TokenStream {
    if names.is_empty() {
        return then.clone();
    }
    // A `match`, so that what the expressions borrow from lives as long as the key.
    quote!(match (#(&(#exprs),)*) { (#(#names,)*) => #then })
}

/// A parameter `_id` is used by us, not by the user. The only lint that our statements can trip: it looks at the user's
/// own token. Lints that look at ours are silent, as they are about another crate's macro.
fn allow_underscores<'a>(names: impl IntoIterator<Item = &'a Ident>) -> Option<TokenStream> {
    let any = names.into_iter().any(|name| name.to_string().starts_with('_'));
    any.then(|| quote!(#[allow(clippy::used_underscore_binding)]))
}

fn where_clause(bounds: &[WherePredicate]) -> Option<TokenStream> {
    (!bounds.is_empty()).then(|| quote!(where #(#bounds),*))
}
