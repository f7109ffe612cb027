//! `self` in a body that moves out of the method: a name of our own stands in for it.
//!
//! Done on tokens, for the body is not parsed. What keeps its `self`: items with a `self` of their own (`fn`), paths
//! (`self::x`), visibilities (`pub(self)`) and `use`. What is renamed besides: captures in the strings of known
//! formatting macros.

use crate::tokens::{captured, is_punct, regrouped};
use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};

/// What stands for `self`.
pub(crate) const NAME: &str = "__self";

/// Where the format string of a macro is.
enum Format {
    /// It is this argument.
    Nth(usize),
    /// It is the first argument that is nothing but a string.
    First,
}

/// The macros whose strings capture names.
fn format_of(name: &str) -> Option<Format> {
    Some(match name {
        "format" | "print" | "println" | "eprint" | "eprintln" | "panic" | "todo" | "unimplemented" | "unreachable"
        | "format_args" | "anyhow" | "bail" | "eyre" => Format::Nth(0),
        "write" | "writeln" | "assert" | "debug_assert" | "ensure" => Format::Nth(1),
        "assert_eq" | "assert_ne" | "debug_assert_eq" | "debug_assert_ne" => Format::Nth(2),
        "trace" | "debug" | "info" | "warn" | "error" | "event" | "log" => Format::First,
        _ => return None,
    })
}

/// The body with `self` renamed, and whether there was one.
pub(crate) fn renamed(body: &Group) -> (Group, bool) {
    let mut renamer = Renamer { found: false };
    let body = renamer.group(body);
    (body, renamer.found)
}

/// The same for the tokens in a group.
pub(crate) fn rename(body: TokenStream) -> (TokenStream, bool) {
    let mut renamer = Renamer { found: false };
    let body = renamer.stream(body);
    (body, renamer.found)
}

struct Renamer {
    found: bool,
}

impl Renamer {
    fn stream(&mut self, tokens: TokenStream) -> TokenStream {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut out = Vec::with_capacity(trees.len());
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            let kept = untouched(&trees[at..]);
            if kept > 0 {
                out.extend_from_slice(&trees[at..at + kept]);
                at += kept;
                continue;
            }
            out.push(self.tree(tree, &trees[..at]));
            at += 1;
        }
        out.into_iter().collect()
    }

    fn tree(&mut self, tree: &TokenTree, before: &[TokenTree]) -> TokenTree {
        match tree {
            TokenTree::Ident(ident) if ident == "self" => {
                self.found = true;
                Ident::new(NAME, ident.span()).into()
            }
            TokenTree::Group(group) => match called(before).and_then(|name| format_of(&name)) {
                Some(format) => self.formatted(group, &format).into(),
                None => self.group(group).into(),
            },
            other => other.clone(),
        }
    }

    /// A group: the very same one if nothing in it is renamed, for a new one has lost the places of its two ends.
    fn group(&mut self, group: &Group) -> Group {
        let (stream, found) = rename(group.stream());
        self.found |= found;
        if found { regrouped(group, stream) } else { group.clone() }
    }

    /// The arguments of a formatting macro.
    fn formatted(&mut self, group: &Group, format: &Format) -> Group {
        let trees: Vec<TokenTree> = self.stream(group.stream()).into_iter().collect();
        let text = arguments(&trees)
            .filter(|(_, range)| range.len() == 1 && matches!(trees[range.start], TokenTree::Literal(_)))
            .find(|(index, _)| matches!(format, Format::First) || matches!(format, Format::Nth(nth) if nth == index))
            .map(|(_, range)| range.start);
        let renamed = trees.iter().enumerate().map(|(at, tree)| match tree {
            TokenTree::Literal(literal) if Some(at) == text => self.literal(literal).into(),
            other => other.clone(),
        });
        regrouped(group, renamed.collect())
    }

    /// A string whose `{self}` means the renamed one.
    fn literal(&mut self, literal: &Literal) -> Literal {
        let text = literal.to_string();
        let mut renamed = text.clone();
        // From the back, so that the places further on stay true.
        for at in captured(&text, "self").collect::<Vec<_>>().into_iter().rev() {
            renamed.replace_range(at..at + "self".len(), NAME);
        }
        if renamed == text {
            return literal.clone();
        }
        let Ok(mut new) = renamed.parse::<Literal>() else { return literal.clone() };
        new.set_span(literal.span());
        self.found = true;
        new
    }
}

/// How many tokens from here keep their `self`.
fn untouched(trees: &[TokenTree]) -> usize {
    match trees {
        [TokenTree::Ident(word), TokenTree::Ident(_), ..] if word == "fn" => nested_fn(trees),
        [TokenTree::Ident(word), ..] if word == "use" => {
            1 + trees.iter().skip(1).take_while(|t| !is_punct(t, ';')).count()
        }
        [TokenTree::Ident(word), TokenTree::Punct(a), TokenTree::Punct(b), ..]
            if word == "self" && a.as_char() == ':' && b.as_char() == ':' =>
        {
            3
        }
        [TokenTree::Ident(word), TokenTree::Group(_), ..] if word == "pub" => 2,
        _ => 0,
    }
}

/// The length of a `fn name(..) -> .. { .. }`: to its body or semicolon, past braces between angle brackets.
fn nested_fn(trees: &[TokenTree]) -> usize {
    let mut angles = 0_i32;
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Punct(punct) => match punct.as_char() {
                '<' => angles += 1,
                '>' if !(at > 0 && is_punct(&trees[at - 1], '-')) => angles -= 1,
                ';' => return at + 1,
                _ => {}
            },
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && angles <= 0 => return at + 1,
            _ => {}
        }
    }
    trees.len()
}

/// The name of the macro whose arguments come next.
fn called(before: &[TokenTree]) -> Option<String> {
    match before {
        [.., TokenTree::Ident(name), bang] if is_punct(bang, '!') => Some(name.to_string()),
        _ => None,
    }
}

/// The arguments at the commas of this level: index and range.
fn arguments(trees: &[TokenTree]) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> + '_ {
    let mut start = 0;
    trees
        .split(|tree| is_punct(tree, ','))
        .map(move |argument| {
            let range = start..start + argument.len();
            start = range.end + 1;
            range
        })
        .enumerate()
}
