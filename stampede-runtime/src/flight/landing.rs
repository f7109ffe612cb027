//! How a flight ended.

use crate::{
    clock::{Clock, Nanos},
    erased::AnyValue,
};
use std::{
    any::Any,
    sync::{Arc, Mutex, PoisonError},
};

/// How a flight ended. Set once.
#[derive(Debug)]
pub(crate) enum Landing {
    /// The loader returned a value.
    Value(AnyValue),
    /// The load failed, and an old value that may still be served takes its place.
    Kept { value: AnyValue, stored: Nanos, clock: Clock, cause: Failure },
    /// The load failed.
    Failed(Failure),
}

/// How a load failed.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The loader returned an `Err`, or the load was given up.
    Error(AnyValue),
    /// The loader, or a callback of the user's, panicked.
    Panicked(Panic),
    /// The load was dropped before it ended.
    Abandoned,
}

/// A panic, to be given to all who wait.
#[derive(Clone)]
pub(crate) struct Panic {
    payload: Arc<Mutex<Option<Box<dyn Any + Send>>>>,
    message: Message,
}

#[derive(Clone)]
enum Message {
    Fixed(&'static str),
    Made(String),
}

impl Panic {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Self {
        let message = if let Some(&fixed) = payload.downcast_ref::<&'static str>() {
            Message::Fixed(fixed)
        } else if let Some(made) = payload.downcast_ref::<String>() {
            Message::Made(made.clone())
        } else {
            Message::Fixed("a cached function's load panicked")
        };
        Self { payload: Arc::new(Mutex::new(Some(payload))), message }
    }

    /// Panics in the caller: the first gets the payload itself, the others its message. The hook has run for the loader's
    /// own panic and does not run again.
    pub(crate) fn resume(&self) -> ! {
        let payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner).take();
        std::panic::resume_unwind(payload.unwrap_or_else(|| match self.message.clone() {
            Message::Fixed(message) => Box::new(message),
            Message::Made(message) => Box::new(message),
        }))
    }
}

impl std::fmt::Debug for Panic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.message {
            Message::Fixed(message) => write!(f, "Panic({message:?})"),
            Message::Made(message) => write!(f, "Panic({message:?})"),
        }
    }
}
