//! Errors of all kinds reach all callers, and everybody sees the same: the sole caller, the leader and the followers.

use crate::world::Failed;
use futures::future::join_all;
use stampede_runtime::{SharedError, find_cause, stampede_cached};
use stampede_tests::{Runs, soon};
use std::{error::Error, fmt, io, sync::Arc};

fn disk() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "disk full")
}

/// An error that can be neither cloned nor made of anything.
#[derive(Debug)]
struct Sealed(u32);

impl fmt::Display for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sealed {}", self.0)
    }
}

impl Error for Sealed {}

/// What one caller alone gets, and what three at once get.
async fn everybody<F: Future<Output = Result<u32, E>>, E>(runs: &Runs, call: impl Fn() -> F) -> Vec<E> {
    let alone = soon(call()).await.unwrap_err();
    let together = soon(join_all([call(), call(), call()])).await.into_iter().map(|answer| answer.unwrap_err());
    let errors = std::iter::once(alone).chain(together).collect();
    assert_eq!(runs.count(), 2, "a failed load is one load, and is not stored");
    errors
}

#[tokio::test]
async fn a_clone_error_is_cloned() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn call() -> Result<u32, Failed> {
        let _run = RUNS.begin();
        Err(Failed("down".into()))
    }
    assert!(everybody(&RUNS, call).await.iter().all(|error| *error == Failed("down".into())));
}

#[tokio::test]
async fn an_arc_of_an_error_is_cloned() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn call() -> Result<u32, Arc<Sealed>> {
        let _run = RUNS.begin();
        Err(Arc::new(Sealed(3)))
    }
    assert!(everybody(&RUNS, call).await.iter().all(|error| error.0 == 3));
}

#[tokio::test]
async fn anyhow() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn call() -> anyhow::Result<u32> {
        use anyhow::Context as _;
        let _run = RUNS.begin();
        Err(disk()).context("no report")
    }
    for error in everybody(&RUNS, call).await {
        assert_eq!(error.to_string(), "no report");
        assert_eq!(find_cause::<io::Error>(&*error).unwrap().kind(), io::ErrorKind::StorageFull);
        let shared = error.downcast_ref::<SharedError>().expect("always, alone too");
        assert_eq!(shared.downcast_ref::<anyhow::Error>().unwrap().to_string(), "no report");
        let chain: Vec<_> = error.chain().map(ToString::to_string).collect();
        assert_eq!(chain.last().unwrap(), "disk full", "{chain:?}");
        // With a context of the caller's own, too.
        let error = error.context("at nine o'clock");
        assert!(find_cause::<io::Error>(&*error).is_some());
    }
}

#[tokio::test]
async fn eyre() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn call() -> eyre::Result<u32> {
        let _run = RUNS.begin();
        Err(eyre::Report::new(disk()))
    }
    for error in everybody(&RUNS, call).await {
        assert_eq!(error.to_string(), "disk full");
        assert!(find_cause::<io::Error>(&*error).is_some());
        assert!(error.downcast_ref::<SharedError>().is_some());
    }
}

#[tokio::test]
async fn boxed() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn call() -> Result<u32, Box<dyn Error + Send + Sync>> {
        let _run = RUNS.begin();
        Err(disk().into())
    }
    for error in everybody(&RUNS, call).await {
        assert_eq!(error.to_string(), "disk full");
        assert!(find_cause::<io::Error>(&*error).is_some());
        assert!(error.downcast_ref::<SharedError>().is_some());
    }
}

#[derive(Debug, thiserror::Error)]
enum ReportError {
    #[error("no rows")]
    NoRows,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Cached(#[from] SharedError),
}

#[tokio::test]
async fn thiserror_with_from_shared_error() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn call() -> Result<u32, ReportError> {
        let run = RUNS.begin();
        if run.number > 2 {
            return Err(ReportError::NoRows);
        }
        Err(disk())?
    }
    for error in everybody(&RUNS, call).await {
        assert_eq!(error.to_string(), "disk full");
        let ReportError::Cached(shared) = &error else { panic!("a match sees only that variant: {error:?}") };
        assert!(matches!(shared.downcast_ref(), Some(ReportError::Io(_))));
        assert_eq!(find_cause::<io::Error>(&error).unwrap().kind(), io::ErrorKind::StorageFull);
        assert!(!shared.is_timeout());
    }
    let error = soon(call()).await.unwrap_err();
    assert!(matches!(find_cause(&error), Some(ReportError::Cached(_))));
    let ReportError::Cached(shared) = error else { panic!() };
    assert!(matches!(shared.downcast_ref(), Some(ReportError::NoRows)));
}

/// As axum's example has it: it is made of any error, and is none itself.
#[derive(Debug)]
struct AppError(anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for AppError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

#[tokio::test]
async fn an_app_error_that_is_no_error() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, timeout = 30)]
    async fn call() -> Result<u32, AppError> {
        let _run = RUNS.begin();
        Err(disk())?
    }
    for AppError(error) in everybody(&RUNS, call).await {
        assert!(error.to_string().contains("disk full"), "{error}");
        let shared = error.downcast_ref::<SharedError>().unwrap();
        let AppError(original) = shared.downcast_ref().unwrap();
        assert_eq!(original.downcast_ref::<io::Error>().unwrap().kind(), io::ErrorKind::StorageFull);
    }
}

#[tokio::test]
async fn share_err_makes_what_it_is_told_to() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, share_err = |error| Sealed(error.downcast_ref::<Sealed>().unwrap().0 + 1))]
    async fn call() -> Result<u32, Sealed> {
        let _run = RUNS.begin();
        Err(Sealed(7))
    }
    assert!(everybody(&RUNS, call).await.iter().all(|error| error.0 == 8));
}

/// `share_err` comes first, even where the error could be cloned.
#[tokio::test]
async fn share_err_wins_over_clone() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, share_err = |error| Failed(format!("shared: {error}")))]
    async fn call() -> Result<u32, Failed> {
        let _run = RUNS.begin();
        Err(Failed("down".into()))
    }
    assert!(everybody(&RUNS, call).await.iter().all(|error| error.0 == "shared: down"));
}

/// A cached function that calls another: the error is shared twice and still found.
#[tokio::test]
async fn through_two_functions() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn inner() -> anyhow::Result<u32> {
        Err(disk())?
    }
    #[stampede_cached(ttl = 60)]
    async fn outer() -> Result<u32, ReportError> {
        let _run = RUNS.begin();
        inner().await.map_err(|error| match error.downcast::<SharedError>() {
            Ok(shared) => ReportError::Cached(shared),
            Err(_) => ReportError::NoRows,
        })
    }
    for error in everybody(&RUNS, outer).await {
        assert_eq!(error.to_string(), "disk full");
        assert!(find_cause::<io::Error>(&error).is_some());
    }
}

/// A type alias hides what the return type is; nothing is spelt `Result`.
#[tokio::test]
async fn an_alias() {
    static RUNS: Runs = Runs::new();
    type Answer = anyhow::Result<u32>;
    #[stampede_cached(ttl = 60)]
    async fn call() -> Answer {
        let _run = RUNS.begin();
        anyhow::bail!("down")
    }
    assert!(everybody(&RUNS, call).await.iter().all(|error| error.to_string() == "down"));
    assert!(call_cache().is_empty());
}
