//! What is wrong with a policy.

use std::{error::Error, fmt};

/// A policy that does not hold together: which field, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    field: &'static str,
    message: String,
}

impl PolicyError {
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into() }
    }

    /// The field to change.
    #[must_use]
    pub fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.field, self.message)
    }
}

impl Error for PolicyError {}
