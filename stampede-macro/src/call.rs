//! What tells one call from another: which parameters are in the key, and whether all are accounted for.

use crate::{
    args::{Args, Run},
    batch::Each,
    errors::{Errors, error, nearest},
    key::{Key, Part, unfit},
    keyarg::{KeyArg, Named},
    lower,
    own::unownable,
    params::{self, Input, Inputs},
    tokens::{mention, mentions, plain, unparenthesised},
};
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::Type;

/// What a call is keyed by.
pub(crate) struct Call<'a> {
    pub(crate) args: &'a Args,
    pub(crate) inputs: &'a Inputs,
    /// The ids of a batch.
    pub(crate) each: Option<Each>,
    /// Where in `skip` each parameter is listed.
    skipped: Vec<Option<&'a Ident>>,
    skipped_self: Option<&'a Ident>,
}

impl<'a> Call<'a> {
    pub(crate) fn of(args: &'a Args, inputs: &'a Inputs, errors: &mut Errors) -> Self {
        let each = args.each.as_ref().and_then(|arg| errors.take(Each::of(arg, inputs)));
        let mut call = Self { args, inputs, each, skipped: vec![None; inputs.params.len()], skipped_self: None };
        for name in args.skip.iter().flat_map(|skip| &skip.value) {
            let slot = match errors.take(inputs.resolve(name)) {
                Some(params::Named::Receiver) => &mut call.skipped_self,
                Some(params::Named::Param(index)) => &mut call.skipped[index],
                None => continue,
            };
            if slot.replace(name).is_some() {
                errors.push(error(name, format!("`{}` is skipped twice", plain(name)), "keep one of the two"));
            }
        }
        call
    }

    /// Whether a call is told from another by this parameter as a whole.
    fn is_part(&self, index: usize) -> bool {
        let is_out = self.skipped[index].is_some() || self.is_each(index) || self.is_the_scope(index);
        self.args.key.is_none() && !is_out
    }

    /// Whether the parameter is the scope itself, as in `scope = scope`, which no key could hold.
    fn is_the_scope(&self, index: usize) -> bool {
        let scope = self.args.scope.as_ref().map(|scope| unparenthesised(&scope.value));
        let Some(syn::Expr::Path(path)) = scope else { return false };
        path.path.is_ident(&self.inputs.params[index].name)
    }

    fn is_each(&self, index: usize) -> bool {
        self.each.as_ref().is_some_and(|each| each.index == index)
    }

    /// The same for the receiver; one that gives the scope needs no place in the key.
    fn is_self_part(&self) -> bool {
        let is_in_scope = self.args.scope.as_ref().is_some_and(|scope| mentions(&scope.tokens, "self"));
        self.inputs.receiver.is_some() && self.args.key.is_none() && self.skipped_self.is_none() && !is_in_scope
    }

    /// Whether `key` or `scope` mention this parameter.
    fn is_mentioned(&self, param: &Input) -> bool {
        self.is_in_key(param) || self.is_in_scope(param)
    }

    fn is_in_key(&self, param: &Input) -> bool {
        self.args.key.as_ref().is_some_and(|key| param.is_in(&key.tokens))
    }

    pub(crate) fn is_in_scope(&self, param: &Input) -> bool {
        self.args.scope.as_ref().is_some_and(|scope| param.is_in(&scope.tokens))
    }

    /// Whether the entry companion needs this parameter, besides the named parts of the key.
    pub(crate) fn is_asked_for(&self, index: usize, param: &Input) -> bool {
        let is_named_part = self.named_parts().any(|(name, _)| *name == param.name);
        let is_asked = match self.named() {
            Some(_) => self.is_in_scope(param),
            None => self.is_part(index) || self.is_mentioned(param),
        };
        is_asked && !is_named_part
    }

    fn named(&self) -> Option<&'a [Named]> {
        match &self.args.key.as_ref()?.value {
            KeyArg::Named(parts) => Some(parts),
            KeyArg::Expr(_) => None,
        }
    }

    /// The named parts of the key, with their types.
    pub(crate) fn named_parts(&self) -> impl Iterator<Item = (&Ident, &Type)> {
        self.named().into_iter().flatten().filter_map(|part| match &part.value {
            Some((ty, _)) => Some((&part.name, ty)),
            None => {
                self.inputs.params.iter().find(|param| param.name == part.name).map(|param| (&part.name, &param.ty))
            }
        })
    }

    /// Whether the parameter is used outside of the body.
    pub(crate) fn is_used(&self, index: usize) -> bool {
        let param = &self.inputs.params[index];
        self.is_part(index)
            || self.is_each(index)
            || self.is_mentioned(param)
            || self.args.tags.as_ref().is_some_and(|tags| param.is_in(&tags.tokens))
    }

    pub(crate) fn check(&self, errors: &mut Errors) {
        if self.each.is_none() && self.args.each.is_some() {
            // Which parameter it is could not be told, so nothing can be said about any.
            return;
        }
        let unknown: Vec<_> =
            self.named().into_iter().flatten().filter_map(|part| self.named_part_is_known(part)).collect();
        if !unknown.is_empty() {
            return errors.extend(unknown);
        }
        let is_owned = self.args.run.as_ref().is_none_or(|run| run.value != Run::InCaller);
        for (index, param) in self.inputs.params.iter().enumerate() {
            let unownable = unownable(&param.ty).filter(|_| is_owned);
            if self.is_each(index) {
                errors.extend(self.each_accounted(index));
                continue;
            }
            let found = self.accounted(index).or_else(|| unownable.map(|at| not_owned(at, param))).or_else(|| {
                let keyed = self.is_part(index) || self.is_bare_part(param);
                keyed.then(|| unfit(&param.spelling(), &param.ty)).flatten()
            });
            errors.extend(found);
        }
        errors.extend(self.self_accounted());
    }

    /// Whether `key` has the parameter itself as a part, as in `key = (name, ..)`.
    fn is_bare_part(&self, param: &Input) -> bool {
        fn holds(parts: &[Part], name: &Ident) -> bool {
            parts.iter().any(|part| match part {
                Part::Param { name: found, .. } => found == name,
                Part::Tuple(parts) => holds(parts, name),
                Part::Receiver(_) | Part::Expr(_) | Part::Named { .. } | Part::Id(_) => false,
            })
        }
        self.args.key.is_some() && holds(&self.key().parts, &param.name)
    }

    /// Each parameter must be in the key, mentioned, or skipped; and not both keyed and skipped.
    fn accounted(&self, index: usize) -> Option<syn::Error> {
        let param = &self.inputs.params[index];
        let in_key = self.is_in_key(param);
        match self.skipped[index] {
            Some(skip) if in_key => Some(twice(skip)),
            None if self.args.key.is_some() && !self.is_mentioned(param) => {
                Some(forgotten(param.tokens(), &param.spelling()))
            }
            _ => None,
        }
    }

    /// The ids are in the key one by one, so nothing else may take them.
    fn each_accounted(&self, index: usize) -> Option<syn::Error> {
        let param = &self.inputs.params[index];
        let name = param.spelling();
        let rule = format!("with `each`, every element of `{name}` is in the key of its own entry");
        if let Some(skip) = self.skipped[index] {
            return Some(error(skip, rule, "remove it from `skip`"));
        }
        let key = self.args.key.as_ref().map(|arg| (&arg.name, &arg.tokens));
        let scope = self.args.scope.as_ref().map(|arg| (&arg.name, &arg.tokens));
        let (argument, at) =
            key.into_iter().chain(scope).find_map(|(argument, tokens)| Some((argument, mention(tokens, &name)?)))?;
        Some(error(at, rule, format!("leave it out of `{argument}`")))
    }

    fn named_part_is_known(&self, part: &Named) -> Option<syn::Error> {
        let is_param = |param: &Input| !param.is_pattern && param.name == part.name;
        let is_self = part.name == "self" && self.inputs.receiver.is_some();
        if part.value.is_some() || is_self || self.inputs.params.iter().any(is_param) {
            return None;
        }
        let name = plain(&part.name);
        let known = self.inputs.names();
        let help = match nearest(&name, known.iter().map(String::as_str)) {
            Some(near) => format!("write `{near}`, or give the part a type and a value, `{name}: u64 = ..`"),
            None => format!("give the part a type and a value, `{name}: u64 = ..`"),
        };
        Some(error(&part.name, format!("this function has no parameter `{name}`"), help))
    }

    fn self_accounted(&self) -> Option<syn::Error> {
        let receiver = self.inputs.receiver.as_ref()?;
        let key = &self.args.key.as_ref()?.tokens;
        let is_in_scope = self.args.scope.as_ref().is_some_and(|scope| mentions(&scope.tokens, "self"));
        match (mentions(key, "self"), self.skipped_self) {
            (true, Some(skip)) => Some(twice(skip)),
            (false, None) if !is_in_scope => Some(forgotten(receiver.self_token.to_token_stream(), "self")),
            _ => None,
        }
    }

    pub(crate) fn key(&self) -> Key {
        let mut key = match self.args.key.as_ref().map(|key| &key.value) {
            Some(KeyArg::Expr(expr)) => Key::of_expr(expr, &|name| self.part_named(name)),
            Some(KeyArg::Named(parts)) => {
                Key { parts: parts.iter().filter_map(|part| self.named_part(part)).collect() }
            }
            None => Key { parts: self.all_parts() },
        };
        key.parts.extend(self.each.iter().map(|each| Part::Id(each.id.clone())));
        key
    }

    fn all_parts(&self) -> Vec<Part> {
        let receiver = self.inputs.receiver.iter().filter(|_| self.is_self_part());
        let receiver = receiver.map(|receiver| Part::Receiver(self_ident(receiver)));
        let params = self.inputs.params.iter().enumerate().filter(|(index, _)| self.is_part(*index));
        receiver.chain(params.map(|(_, param)| part_of(param))).collect()
    }

    fn named_part(&self, part: &Named) -> Option<Part> {
        match &part.value {
            Some((ty, expr)) => {
                Some(Part::Named { name: part.name.clone(), ty: ty.clone(), expr: Box::new(expr.clone()) })
            }
            None => self.part_named(&part.name),
        }
    }

    fn part_named(&self, name: &Ident) -> Option<Part> {
        if name == "self" {
            return Some(Part::Receiver(name.clone()));
        }
        let mut params = self.inputs.params.iter();
        params.find(|param| !param.is_pattern && param.name == *name).map(part_of)
    }
}

pub(crate) fn self_ident(receiver: &syn::Receiver) -> Ident {
    Ident::new("self", receiver.self_token.span)
}

fn part_of(param: &Input) -> Part {
    Part::Param { cfg: lower::cfgs(&param.attrs), name: param.name.clone(), ty: param.ty.clone() }
}

fn forgotten(at: TokenStream, name: &str) -> syn::Error {
    let rule = "this parameter is neither in `key` nor skipped, so calls that differ in it would get one answer";
    if name.starts_with("arg") && !at.to_string().starts_with("arg") {
        return error(
            at,
            rule,
            "give it a name, and add that to `key`, or to `skip(..)` if the answer does not depend on it",
        );
    }
    error(at, rule, format!("add `{name}` to `key`, or add `skip({name})` if the answer does not depend on it"))
}

fn twice(skip: &Ident) -> syn::Error {
    let name = plain(skip);
    let rule = format!("`{name}` is skipped, and `key` uses it");
    error(skip, rule, "remove it from `skip`: what `key` does not mention is not in the key")
}

fn not_owned(at: TokenStream, param: &Input) -> syn::Error {
    let rule = "a load owns its arguments, and what this one borrows can't be owned";
    let help = match crate::types::bare(&param.ty) {
        Type::Reference(_) => {
            "take a slice or reference of owned values, such as `&[String]`, or write `run = \"in_caller\"`"
        }
        _ => "take an owned type, or `&T`, or write `run = \"in_caller\"`",
    };
    error(at, rule, help)
}
