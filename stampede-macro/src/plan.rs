//! What is to be printed: everything decided, nothing left that could fail.

use crate::{args::Run, batch::Each, key::Key, wrapped::Wrapped};
use proc_macro2::{Group, Ident, Span, TokenStream};
use syn::{Attribute, Expr, Pat, Path, Signature, Type, Visibility, WherePredicate, token};

/// One annotated function, ready to print.
pub(crate) struct Plan {
    /// The path of the runtime.
    pub(crate) runtime: Path,
    /// The attributes that stay on the function.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    /// The function's signature, its parameters plain names.
    pub(crate) sig: Signature,
    pub(crate) brace: token::Brace,
    /// What other attributes have put around the body.
    pub(crate) wrapped: Wrapped,
    pub(crate) load: Load,
    pub(crate) key: Key,
    /// The parameter whose elements are entries of their own.
    pub(crate) each: Option<Each>,
    pub(crate) definition: Definition,
    pub(crate) scope: Option<Expr>,
    pub(crate) tags: Option<Expr>,
    pub(crate) companions: Option<Companions>,
}

/// How the body gets what it needs, and runs.
pub(crate) struct Load {
    pub(crate) in_caller: bool,
    /// The place of the user's `async`.
    pub(crate) span: Span,
    /// The return type, `()` written out.
    pub(crate) returns: Type,
    pub(crate) receiver: Option<SelfLoad>,
    pub(crate) params: Vec<Param>,
    /// The user's statements in their braces, `self` renamed where it had to be.
    pub(crate) body: Group,
    pub(crate) around: Option<Around>,
}

/// The body in a function of its own, because attributes below ours apply to it.
pub(crate) struct Around {
    pub(crate) attrs: Vec<Attribute>,
    /// The user's signature, under another name.
    pub(crate) sig: Signature,
    /// The user's own `self`: the function is then a method beside the user's.
    pub(crate) receiver: Option<Ident>,
}

/// How `self` gets into the load.
pub(crate) struct SelfLoad {
    /// The name that stands for it in the body: the user's `self` token, renamed.
    pub(crate) name: Ident,
    /// The user's own token.
    pub(crate) token: Ident,
    pub(crate) how: HowSelf,
}

#[derive(Clone, Copy)]
pub(crate) enum HowSelf {
    /// `&self`: cloned, then lent.
    Cloned,
    /// `self`, `self: Arc<Self>`: moved; `mut self` keeps its `mut`.
    Moved(Option<token::Mut>),
}

/// One parameter of the function, and how it gets into the load.
pub(crate) struct Param {
    /// The plain name it has in the printed signature.
    pub(crate) name: Ident,
    /// Its `cfg` attributes, to be repeated wherever it is named.
    pub(crate) cfg: Vec<Attribute>,
    /// `cfg`s and lint levels, for the place where its pattern binds.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) ty: Type,
    /// What it binds in the body, if that is not simply `name` moved in.
    pub(crate) bind: Option<Pat>,
    /// Whether it is a reference (or holds one) that must be owned for the load, then lent.
    pub(crate) lent: bool,
    /// Whether each load needs a copy of its own, as a batch can have two.
    pub(crate) again: bool,
    /// Whether it is the ids of a batch, which each load has its own of.
    pub(crate) ids: bool,
}

/// The static site and the first-use configuration.
pub(crate) struct Definition {
    /// The function's name in metrics, if given.
    pub(crate) name: Option<Expr>,
    pub(crate) fn_name: Ident,
    pub(crate) is_method: bool,
    /// Whether the cache is one of elements, of which `returns` is a collection.
    pub(crate) is_batch: bool,
    pub(crate) returns: Type,
    pub(crate) policy: Option<Expr>,
    /// Builder calls: the user's argument name and the value.
    pub(crate) settings: Vec<(Ident, TokenStream)>,
    /// Calls on the configuration that take functions over the value.
    pub(crate) hooks: Vec<(Ident, Expr)>,
    pub(crate) run: Run,
    pub(crate) ignore_modes: bool,
    pub(crate) share_err: Option<Expr>,
    /// The name of the `timeout` argument, if given.
    pub(crate) timed: Option<Ident>,
}

/// The functions added beside the annotated one.
pub(crate) struct Companions {
    /// The key in terms of the companions' own parameters.
    pub(crate) key: Key,
    /// The function's `cfg`s.
    pub(crate) cfg: Vec<Attribute>,
    /// The lints that the function allows: its companions have the same parameters.
    pub(crate) allow: Vec<Attribute>,
    /// Whether they are methods.
    pub(crate) is_method: bool,
    /// What the function asks of the `impl`'s parameters: its types may need it.
    pub(crate) bounds: Vec<WherePredicate>,
    /// Parameters of the entry companion.
    pub(crate) entry: Vec<CompanionParam>,
    /// Parameters of the cache companion, which only the scope can need.
    pub(crate) cache: Vec<CompanionParam>,
}

/// A companion's parameter: as the function's, without lifetimes that the companion has not.
#[derive(Clone)]
pub(crate) struct CompanionParam {
    pub(crate) cfg: Vec<Attribute>,
    pub(crate) name: Ident,
    pub(crate) ty: TokenStream,
}
