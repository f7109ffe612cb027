//! Unit tests: the rules with their messages and places, and a few whole expansions.
//!
//! What the expansions do is tested where they can run, in the workspace's `tests`.

mod expansion;
mod rules;
mod units;

use proc_macro2::TokenStream;

/// What one error says: the text it points at, and its message.
struct Said {
    at: String,
    message: String,
}

fn tokens(text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The errors of `#[stampede_cached(args)] item`.
fn errors(args: &str, item: &str) -> Vec<Said> {
    let Err(errors) = crate::plan(tokens(args), &tokens(item)) else { return Vec::new() };
    let said =
        |error: syn::Error| Said { at: error.span().source_text().unwrap_or_default(), message: error.to_string() };
    errors.into_iter().map(said).collect()
}

/// The only error.
#[track_caller]
fn error(args: &str, item: &str) -> Said {
    let mut errors = errors(args, item);
    let messages: Vec<_> = errors.iter().map(|said| said.message.clone()).collect();
    assert_eq!(errors.len(), 1, "#[stampede_cached({args})] {item}: {messages:#?}");
    errors.remove(0)
}
