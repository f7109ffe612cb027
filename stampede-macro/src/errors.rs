//! Errors: each points at a token of the user's, says the rule in one sentence and what to write instead.
//!
//! They are collected and reported at once, so that a function with two mistakes is mended in one go.

use proc_macro2::TokenStream;
use quote::ToTokens;
use std::fmt::Display;

/// What has gone wrong so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(crate) fn extend(&mut self, errors: impl IntoIterator<Item = syn::Error>) {
        errors.into_iter().for_each(|error| self.push(error));
    }

    /// The value, or nothing and one more error.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// All of them as `compile_error!`s.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.0.map(syn::Error::into_compile_error).unwrap_or_default()
    }
}

impl IntoIterator for Errors {
    type Item = syn::Error;
    type IntoIter = std::iter::Flatten<std::option::IntoIter<syn::Error>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().flatten()
    }
}

/// An error at these tokens. The help goes into the text: a macro on stable Rust has no other place for it.
pub(crate) fn error(at: impl ToTokens, rule: impl Display, help: impl Display) -> syn::Error {
    syn::Error::new_spanned(at, format!("{rule}\nhelp: {help}"))
}

/// The known name that was most likely meant.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count().max(3) / 3;
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be added, dropped, changed or swapped with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The names as a reader lists them: `` `a`, `b` and `c` ``.
pub(crate) fn list<T: Display>(names: impl IntoIterator<Item = T>, last: &str) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.pop() {
        Some(only) if names.is_empty() => only,
        Some(end) => format!("{} {last} {end}", names.join(", ")),
        None => String::new(),
    }
}
