//! Which parts make the key, and how each is borrowed from the arguments.
//!
//! A part whose type is written in the signature is taken apart by that type; for a part that is an expression the
//! runtime's `Peeled` finds out by type.

use crate::{
    batch::Each,
    errors::error,
    tokens::{respanned, unparenthesised},
    types::{argument_of, bare, borrow, float, opaque},
};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Expr, Path, Type, spanned::Spanned as _};

/// The most parts that one tuple of the runtime can have.
const WIDEST: usize = 12;

/// The key of a call.
pub(crate) struct Key {
    pub(crate) parts: Vec<Part>,
}

/// One part of a key.
#[derive(Clone)]
pub(crate) enum Part {
    /// A parameter, by its written type.
    Param { cfg: Vec<Attribute>, name: Ident, ty: Type },
    /// The receiver, as what it leads to.
    Receiver(Ident),
    /// An expression.
    Expr(Expr),
    /// An expression with a name and a type.
    Named { name: Ident, ty: Type, expr: Box<Expr> },
    /// One id of a batch.
    Id(Type),
    /// Parts in parentheses.
    Tuple(Vec<Self>),
}

/// The printed key: expressions to evaluate first, in order, and the tuple over their names.
pub(crate) struct Printed {
    pub(crate) names: Vec<Ident>,
    pub(crate) exprs: Vec<Expr>,
    pub(crate) tuple: TokenStream,
}

impl Key {
    /// The parts of a `key = ..` expression; `part_of` knows the parameters.
    pub(crate) fn of_expr(expr: &Expr, part_of: &dyn Fn(&Ident) -> Option<Part>) -> Self {
        match unparenthesised(expr) {
            Expr::Tuple(tuple) => Self { parts: tuple.elems.iter().map(|elem| Part::of_expr(elem, part_of)).collect() },
            single => Self { parts: vec![Part::of_expr(single, part_of)] },
        }
    }

    /// The key as a companion makes it, of parameters of its own: named parts, and `id` for one of a batch.
    pub(crate) fn of_companion(&self, id: Option<&Ident>) -> Self {
        Self { parts: self.parts.iter().map(|part| part.of_companion(id)).collect() }
    }

    /// Prints the parts.
    pub(crate) fn print(&self, runtime: &Path) -> Printed {
        let mut printer = Printer { runtime, names: Vec::new(), exprs: Vec::new() };
        let tuple = printer.tuple(&self.parts);
        Printed { names: printer.names, exprs: printer.exprs, tuple }
    }
}

impl Part {
    fn of_companion(&self, id: Option<&Ident>) -> Self {
        let param = |name: &Ident, ty: &Type| Self::Param { cfg: Vec::new(), name: name.clone(), ty: ty.clone() };
        match (self, id) {
            (Self::Named { name, ty, .. }, _) => param(name, ty),
            (Self::Id(ty), Some(id)) => param(id, ty),
            (Self::Tuple(parts), _) => Self::Tuple(parts.iter().map(|part| part.of_companion(id)).collect()),
            (other, _) => other.clone(),
        }
    }

    fn of_expr(expr: &Expr, part_of: &dyn Fn(&Ident) -> Option<Self>) -> Self {
        match unparenthesised(expr) {
            Expr::Tuple(tuple) if !tuple.elems.is_empty() => {
                Self::Tuple(tuple.elems.iter().map(|elem| Self::of_expr(elem, part_of)).collect())
            }
            Expr::Path(path) if path.attrs.is_empty() && path.qself.is_none() => {
                path.path.get_ident().and_then(part_of).unwrap_or_else(|| Self::Expr(expr.clone()))
            }
            other => Self::Expr(other.clone()),
        }
    }
}

/// What keeps a parameter of this type from being a part as it is.
pub(crate) fn unfit(name: &str, ty: &Type) -> Option<syn::Error> {
    if let Some(float) = float(ty) {
        let rule = format!("`{float}` is neither `Hash` nor `Eq`, so it can't be part of a cache key");
        return Some(error(float, rule, format!("give its bits in the key: `key = ({name}.to_bits(), ..)`")));
    }
    let leaf = borrowing_leaf(ty)?;
    let rule = "only `&T`, and tuples and `Option`s of `&T`, are looked up borrowed";
    let help = format!("give an owned part in the key (`key = ({name}.to_owned(), ..)`), or list it in `skip({name})`");
    Some(error(leaf, rule, help))
}

/// What borrows below the references, tuples and `Option`s that can be taken apart.
pub(crate) fn borrowing_leaf(ty: &Type) -> Option<TokenStream> {
    match bare(ty) {
        Type::Reference(reference) => borrowing_leaf(&reference.elem),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(borrowing_leaf),
        other => match argument_of(other, "Option") {
            Some(inner) => borrowing_leaf(inner),
            None => borrow(other),
        },
    }
}

struct Printer<'a> {
    runtime: &'a Path,
    names: Vec<Ident>,
    exprs: Vec<Expr>,
}

impl Printer<'_> {
    fn tuple(&mut self, parts: &[Part]) -> TokenStream {
        let printed: Vec<_> = parts.iter().map(|part| self.part(part)).collect();
        nested(&printed)
    }

    fn part(&mut self, part: &Part) -> TokenStream {
        match part {
            Part::Param { cfg, name, ty } => {
                let part = self.typed(&name.to_token_stream(), ty);
                quote!(#(#cfg)* #part)
            }
            Part::Receiver(token) => self.receiver(token),
            Part::Tuple(parts) => self.tuple(parts),
            Part::Expr(expr) => {
                let name = self.evaluated(expr);
                let runtime = respanned(&self.runtime.to_token_stream(), expr.span());
                quote_spanned! {Span::mixed_site().located_at(expr.span())=> {
                    use #runtime::__private::peels::*;
                    (&&&&#runtime::__private::Peeled(&*#name)).stampede_part()
                }}
            }
            Part::Named { ty, expr, .. } => {
                let name = self.evaluated(expr);
                self.typed(&quote!((*#name)), ty)
            }
            Part::Id(ty) => {
                let id = Each::place();
                self.typed(&quote!((*#id)), ty)
            }
        }
    }

    /// *Input:* `name: Option<&str>`, *output:* `Option::map(Option::as_ref(&name), |v| Part::<str>(&**v))`.
    fn typed(&self, place: &TokenStream, ty: &Type) -> TokenStream {
        let runtime = self.runtime;
        match bare(ty) {
            Type::Reference(reference) => self.typed(&quote!((*#place)), &reference.elem),
            Type::Tuple(tuple) if borrow(ty).is_some() => {
                let parts = tuple.elems.iter().enumerate().map(|(index, elem)| {
                    let index = syn::Index::from(index);
                    self.typed(&quote!(#place.#index), elem)
                });
                nested(&parts.collect::<Vec<_>>())
            }
            other => match argument_of(other, "Option").filter(|inner| borrow(inner).is_some()) {
                Some(inner) => {
                    let value = Ident::new("__value", Span::mixed_site());
                    let part = self.typed(&quote!((*#value)), inner);
                    let option = quote!(#runtime::__private::Option);
                    quote!(#option::map(#option::as_ref(&#place), |#value| #part))
                }
                None => self.leaf(place, other),
            },
        }
    }

    fn leaf(&self, place: &TokenStream, ty: &Type) -> TokenStream {
        let span = Span::mixed_site().located_at(ty.span());
        let written = if opaque(ty).is_some() { quote_spanned!(span=> _) } else { ty.to_token_stream() };
        self.leaf_of(&quote_spanned!(span=> &#place), &written, span)
    }

    /// Whatever the receiver is, the part is the value: a reference coerced to `&Self` says so.
    fn receiver(&self, token: &Ident) -> TokenStream {
        let span = Span::mixed_site().located_at(token.span());
        self.leaf_of(&quote_spanned!(span=> &#token), &quote_spanned!(span=> Self), span)
    }

    /// The turbofish is the user's type, so that "can't be part of a key" stands under it.
    fn leaf_of(&self, reference: &TokenStream, ty: &TokenStream, span: Span) -> TokenStream {
        let runtime = respanned(&self.runtime.to_token_stream(), span);
        quote_spanned! {span=> {
            use #runtime::__private::fits::*;
            (&&#runtime::__private::Fit::<#ty>(#reference)).stampede_part()
        }}
    }

    /// The name of a reference to what this expression gives, evaluated once a call.
    fn evaluated(&mut self, expr: &Expr) -> Ident {
        let name = format_ident!("__part{}", self.names.len(), span = Span::mixed_site());
        self.names.push(name.clone());
        self.exprs.push(expr.clone());
        name
    }
}

/// A tuple of parts; of more parts than a tuple can have, a tuple of tuples.
fn nested(parts: &[TokenStream]) -> TokenStream {
    if parts.len() <= WIDEST {
        return quote!((#(#parts,)*));
    }
    let tuples: Vec<_> = parts.chunks(WIDEST).map(|chunk| quote!((#(#chunk,)*))).collect();
    nested(&tuples)
}
