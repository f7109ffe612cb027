//! The parameters: their names, what their patterns bind, and which of them the arguments mention.

use crate::{
    errors::{error, list, nearest},
    tokens::{mention, mentions, plain},
};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::{Attribute, Expr, FnArg, Pat, PatIdent, Receiver, Signature, Type};

/// The inputs of the function as the attribute's arguments can name them.
pub(crate) struct Inputs {
    pub(crate) receiver: Option<Receiver>,
    pub(crate) params: Vec<Input>,
}

/// One parameter that is not the receiver.
pub(crate) struct Input {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) pat: Pat,
    pub(crate) ty: Type,
    /// Its own name, or one made up for a pattern.
    pub(crate) name: Ident,
    /// What a pattern binds; empty for a plain name.
    pub(crate) bound: Vec<Ident>,
    /// Whether it is written as a pattern (`_` too).
    pub(crate) is_pattern: bool,
}

/// What `skip(name)` can mean.
pub(crate) enum Named {
    Receiver,
    Param(usize),
}

impl Inputs {
    pub(crate) fn of(sig: &Signature) -> Self {
        let params = sig.inputs.iter().enumerate().filter_map(|(index, input)| match input {
            FnArg::Typed(param) => Some(Input::of(index, &param.attrs, &param.pat, &param.ty)),
            FnArg::Receiver(_) => None,
        });
        Self { receiver: sig.receiver().cloned(), params: params.collect() }
    }

    /// What the user means by this name, or an error with the nearest one.
    pub(crate) fn resolve(&self, name: &Ident) -> syn::Result<Named> {
        let text = plain(name);
        if text == "self" && self.receiver.is_some() {
            return Ok(Named::Receiver);
        }
        if let Some(index) = self.params.iter().position(|param| param.goes_by(&text)) {
            return Ok(Named::Param(index));
        }
        if let Some(param) = self.params.iter().find(|param| param.bound.iter().any(|bound| plain(bound) == text)) {
            let rule = format!("`{text}` is only a part of a parameter, which is skipped as a whole or not at all");
            let whole = param.bound.iter().map(plain).collect::<Vec<_>>().join(", ");
            return Err(error(name, rule, format!("name the parameter, and destructure it in the body ({whole})")));
        }
        Err(self.unknown(name, &text))
    }

    fn unknown(&self, name: &Ident, text: &str) -> syn::Error {
        let names = self.names();
        let rule = format!("this function has no parameter `{text}`");
        let help = match nearest(text, names.iter().map(String::as_str)) {
            Some(near) => format!("write `{near}`"),
            None if names.is_empty() => "leave `skip` out".into(),
            None => format!("its parameters are {}", list(&names, "and")),
        };
        error(name, rule, help)
    }

    /// Every name that stands for a parameter, `self` included.
    pub(crate) fn names(&self) -> Vec<String> {
        let receiver = self.receiver.iter().map(|_| "self".to_owned());
        receiver.chain(self.params.iter().flat_map(Input::names)).collect()
    }

    /// An error if this expression, evaluated once, uses a parameter.
    pub(crate) fn check_free(&self, argument: &Ident, expr: &Expr) -> Option<syn::Error> {
        let tokens = expr.to_token_stream();
        let own = closure_names(expr);
        let mut names = self.names().into_iter().filter(|name| !own.contains(name));
        let (name, at) = names.find_map(|name| mention(&tokens, &name).map(|at| (name, at)))?;
        let rule = format!("`{argument}` is evaluated once, before the first call, so it can't use `{name}`");
        let help = match plain(argument).as_str() {
            "ttl" | "none_ttl" => "a lifetime that depends on the answer is `ttl_of = |value| ..`",
            "name" => "write a constant; `scope` and `key` can use parameters",
            _ => "write a constant, or a function that takes nothing from the call",
        };
        Some(error(at, rule, help))
    }

    /// An error if this expression, evaluated before patterns bind, uses what one binds.
    pub(crate) fn check_bound(&self, argument: &Ident, tokens: &TokenStream) -> Option<syn::Error> {
        let mut bound = self.params.iter().flat_map(|param| &param.bound);
        let at = bound.find_map(|name| mention(tokens, &plain(name)))?;
        let rule = format!("`{argument}` is evaluated before the pattern takes the parameter apart");
        Some(error(at, rule, "give the parameter a name, and destructure it in the body"))
    }
}

impl Input {
    fn of(index: usize, attrs: &[Attribute], pat: &Pat, ty: &Type) -> Self {
        let (name, is_pattern) = match pat {
            Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, .. }) => (ident.clone(), false),
            _ => (format_ident!("arg{index}", span = Span::mixed_site()), true),
        };
        let bound = if is_pattern { bindings(pat) } else { Vec::new() };
        Self { attrs: attrs.to_vec(), pat: pat.clone(), ty: ty.clone(), name, bound, is_pattern }
    }

    /// Whether the name stands for the whole parameter: its own, or the only one that its pattern binds.
    fn goes_by(&self, text: &str) -> bool {
        match self.bound.as_slice() {
            [] => !self.is_pattern && plain(&self.name) == text,
            [only] => plain(only) == text,
            _ => false,
        }
    }

    /// The names by which expressions mention it.
    pub(crate) fn names(&self) -> Vec<String> {
        if self.is_pattern { self.bound.iter().map(plain).collect() } else { vec![plain(&self.name)] }
    }

    /// Whether these tokens mention it.
    pub(crate) fn is_in(&self, tokens: &TokenStream) -> bool {
        self.names().iter().any(|name| mentions(tokens, name))
    }

    /// What to point at.
    pub(crate) fn tokens(&self) -> TokenStream {
        self.pat.to_token_stream()
    }

    /// What to call it in a message.
    pub(crate) fn spelling(&self) -> String {
        match self.bound.as_slice() {
            [] => plain(&self.name),
            [only] => plain(only),
            all => all.iter().map(plain).collect::<Vec<_>>().join(", "),
        }
    }
}

/// The names that a pattern binds.
fn bindings(pat: &Pat) -> Vec<Ident> {
    match pat {
        Pat::Ident(ident) => {
            let below = ident.subpat.iter().flat_map(|(_, pat)| bindings(pat));
            std::iter::once(ident.ident.clone()).chain(below).collect()
        }
        Pat::Paren(inner) => bindings(&inner.pat),
        Pat::Reference(inner) => bindings(&inner.pat),
        Pat::Type(inner) => bindings(&inner.pat),
        Pat::Tuple(tuple) => tuple.elems.iter().flat_map(bindings).collect(),
        Pat::TupleStruct(tuple) => tuple.elems.iter().flat_map(bindings).collect(),
        Pat::Slice(slice) => slice.elems.iter().flat_map(bindings).collect(),
        Pat::Struct(fields) => fields.fields.iter().flat_map(|field| bindings(&field.pat)).collect(),
        Pat::Or(or) => or.cases.first().map(bindings).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The identifiers in the parameters of a closure: they are its own, whatever the function's are called.
fn closure_names(expr: &Expr) -> Vec<String> {
    let Expr::Closure(closure) = crate::tokens::unparenthesised(expr) else { return Vec::new() };
    let mut names = Vec::new();
    collect(closure.inputs.to_token_stream(), &mut names);
    names
}

fn collect(tokens: TokenStream, names: &mut Vec<String>) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(ident) => names.push(plain(&ident)),
            TokenTree::Group(group) => collect(group.stream(), names),
            _ => {}
        }
    }
}
