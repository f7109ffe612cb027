//! `each`: the parameter whose elements are entries of their own.

use crate::{
    args::Arg,
    errors::error,
    params::{Inputs, Named},
    tokens::plain,
    types::{argument_of, bare, borrow, float},
};
use proc_macro2::{Ident, Span};
use syn::{Type, TypeReference};

/// The parameter with the ids.
#[derive(Clone)]
pub(crate) struct Each {
    /// Which parameter it is.
    pub(crate) index: usize,
    pub(crate) name: Ident,
    /// The type of one id.
    pub(crate) id: Type,
    /// Whether the body gets a reference to the ids, and not the `Vec` itself.
    pub(crate) by_reference: bool,
    /// Whether that is a reference to a slice.
    pub(crate) is_slice: bool,
}

impl Each {
    pub(crate) fn of(arg: &Arg<Ident>, inputs: &Inputs) -> syn::Result<Self> {
        let name = &arg.value;
        let index = match inputs.resolve(name)? {
            Named::Param(index) if !inputs.params[index].is_pattern => index,
            Named::Param(_) => {
                let rule = "`each` names a parameter, and this is a part of a pattern";
                return Err(error(name, rule, "give the parameter a name, and destructure it in the body"));
            }
            Named::Receiver => return Err(error(name, RULE, "name the parameter that has the ids: `each = ids`")),
        };
        let param = &inputs.params[index];
        let Some((id, by_reference, is_slice)) = elements(&param.ty) else {
            return Err(error(&param.ty, RULE, "take the ids as `&[Id]` or `Vec<Id>`"));
        };
        if let Some(float) = float(id) {
            let rule = format!("`{float}` is neither `Hash` nor `Eq`, so it can't be part of a cache key");
            return Err(error(float, rule, "take ids of another type, such as `&[u64]`"));
        }
        if let Some(at) = borrow(id) {
            let rule = "the ids of a batch are kept as keys, so they can't borrow";
            return Err(error(at, rule, "take owned ids, such as `&[String]`"));
        }
        Ok(Self { index, name: param.name.clone(), id: id.clone(), by_reference, is_slice })
    }

    /// The companion's parameter for one id: `ids` → `id`.
    pub(crate) fn one(&self, taken: &[String]) -> Ident {
        let many = plain(&self.name);
        let one = many.strip_suffix('s').filter(|one| syn::parse_str::<Ident>(one).is_ok()).unwrap_or("id");
        let one = if taken.iter().any(|name| name == one) { "element" } else { one };
        Ident::new(one, self.name.span())
    }

    /// What stands for one id in the key of a call.
    pub(crate) fn place() -> Ident {
        Ident::new("__id", Span::mixed_site())
    }
}

const RULE: &str = "`each` goes with a slice, every element of which is an entry of its own";

/// The type of an element, whether it is behind a reference, and whether that is one to a slice.
fn elements(ty: &Type) -> Option<(&Type, bool, bool)> {
    match bare(ty) {
        Type::Reference(TypeReference { elem, mutability: None, .. }) => match bare(elem) {
            Type::Slice(slice) => Some((&slice.elem, true, true)),
            vec => argument_of(vec, "Vec").map(|id| (id, true, false)),
        },
        vec => argument_of(vec, "Vec").map(|id| (id, false, false)),
    }
}
