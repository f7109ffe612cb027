//! ERR, and FLT-21: what becomes of an `Err`, a `None` and of other values that look like nothing.

use futures::future::join_all;
use stampede_runtime::{SharedError, find_cause, stampede_cached};
use stampede_tests::{Runs, soon};
use std::{
    error::Error,
    io::{self, ErrorKind},
    time::Duration,
};
use tokio::time::sleep;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Five at once, and one alone: nobody can tell from the error who led.
async fn failures<T: std::fmt::Debug, E, F: Future<Output = Result<T, E>>>(call: impl Fn() -> F) -> Vec<E> {
    let mut all = soon(join_all((0..5).map(|_| call()))).await;
    all.push(soon(call()).await);
    all.into_iter().map(Result::unwrap_err).collect()
}

#[tokio::test(start_paused = true)]
async fn flt_21_anyhow_for_leader_and_followers() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn f(id: u32) -> anyhow::Result<u32> {
        let _run = RUNS.begin();
        sleep(ms(1000)).await;
        Err(anyhow::Error::new(io::Error::from(ErrorKind::NotFound)).context(format!("report {id}")))
    }

    for error in failures(|| f(1)).await {
        assert_eq!(error.to_string(), "report 1");
        assert_eq!(find_cause::<io::Error>(&*error).expect("the cause").kind(), ErrorKind::NotFound);
        let shared = error.downcast_ref::<SharedError>().expect("what all get");
        assert!(shared.downcast_ref::<anyhow::Error>().is_some_and(anyhow::Error::is::<io::Error>));
        assert!(error.chain().any(<dyn Error>::is::<io::Error>));
    }
    assert_eq!(RUNS.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn flt_21_boxed_for_leader_and_followers() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn f(_id: u32) -> Result<u32, Box<dyn Error + Send + Sync>> {
        let _run = RUNS.begin();
        sleep(ms(1000)).await;
        Err(io::Error::new(ErrorKind::TimedOut, "slow disk").into())
    }

    for error in failures(|| f(1)).await {
        assert_eq!(error.to_string(), "slow disk");
        assert_eq!(find_cause::<io::Error>(&*error).expect("the cause").kind(), ErrorKind::TimedOut);
        assert!(error.is::<SharedError>());
        assert!(error.source().is_some_and(<dyn Error>::is::<io::Error>));
    }
    assert_eq!(RUNS.count(), 2);
}

#[derive(Debug, thiserror::Error)]
enum ReportError {
    #[error("cannot read")]
    Read(#[from] io::Error),
    #[error("shared: {0}")]
    Shared(#[from] SharedError),
}

#[tokio::test(start_paused = true)]
async fn flt_21_own_enum_for_leader_and_followers() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn f(_id: u32) -> Result<u32, ReportError> {
        let _run = RUNS.begin();
        sleep(ms(1000)).await;
        Err(io::Error::from(ErrorKind::BrokenPipe))?
    }

    for error in failures(|| f(1)).await {
        assert_eq!(error.to_string(), "shared: cannot read");
        let ReportError::Shared(shared) = &error else { panic!("another variant: {error:?}") };
        assert!(matches!(shared.downcast_ref(), Some(ReportError::Read(read)) if read.kind() == ErrorKind::BrokenPipe));
        assert!(find_cause::<io::Error>(&error).is_some());
    }
    assert_eq!(RUNS.count(), 2);
}

/// The runtime has a trait of that name: in the expansion the user's names win.
#[derive(Clone, Debug, PartialEq)]
enum Failure {
    Gone(u32),
}

#[tokio::test(start_paused = true)]
async fn flt_21_cloned_for_leader_and_followers() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60)]
    async fn f(id: u32) -> Result<u32, Failure> {
        let _run = RUNS.begin();
        sleep(ms(1000)).await;
        Err(Failure::Gone(id))
    }

    assert_eq!(failures(|| f(1)).await, vec![Failure::Gone(1); 6]);
    assert_eq!(RUNS.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn err_01_an_error_is_not_stored() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 300)]
    async fn f(id: u32) -> Result<u32, String> {
        if RUNS.begin().number == 1 { Err("x".into()) } else { Ok(id) }
    }

    assert_eq!(soon(f(1)).await, Err("x".into()));
    assert!(f_cache().is_empty());
    assert_eq!(soon(f(1)).await, Ok(1));
    assert_eq!(soon(f(1)).await, Ok(1));
    assert_eq!(RUNS.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn err_01_an_error_is_stored_for_its_own_time() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 300, err_ttl = 5)]
    async fn f(id: u32) -> Result<u32, String> {
        if RUNS.begin().number == 1 { Err("x".into()) } else { Ok(id) }
    }

    assert_eq!(soon(f(1)).await, Err("x".into()));
    sleep(ms(4999)).await;
    assert_eq!(soon(f(1)).await, Err("x".into()));
    assert_eq!(RUNS.count(), 1);
    sleep(ms(1)).await;
    assert_eq!(soon(f(1)).await, Ok(1));
    assert_eq!(RUNS.count(), 2);
}

macro_rules! nothings {
    ($($test:ident: $type:ty = $value:expr;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $test() {
            static RUNS: Runs = Runs::new();
            #[stampede_cached(ttl = 60)]
            async fn f(_id: u32) -> $type {
                let _run = RUNS.begin();
                $value
            }

            for _ in 0..2 {
                let value: $type = soon(f(1)).await;
                assert_eq!(value, $value);
            }
            assert_eq!(RUNS.count(), 1);
            assert_eq!(f_cache().stats().hits_fresh, 1);
        }
    )*};
}

type Doubled = Option<Option<u32>>;

nothings! {
    err_03_none_is_a_hit: Option<u32> = None;
    err_03_some_none_is_a_hit: Doubled = Some(None);
    err_03_doubled_none_is_a_hit: Doubled = None;
    err_03_ok_none_is_a_hit: Result<Option<u32>, String> = Ok(None);
    err_03_an_empty_string_is_a_hit: String = String::new();
    err_03_an_empty_vec_is_a_hit: Vec<u32> = vec![];
    err_03_false_is_a_hit: bool = false;
    err_03_zero_is_a_hit: u32 = 0;
    err_03_unit_is_a_hit: () = ();
}

#[tokio::test(start_paused = true)]
async fn err_03_none_lives_as_long_as_it_says() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 60, none_ttl = 0)]
    async fn unstored(_id: u32) -> Option<u32> {
        let _run = RUNS.begin();
        None
    }
    #[stampede_cached(ttl = 60)]
    async fn inner_none(_id: u32) -> Doubled {
        Some(None)
    }

    assert_eq!((unstored(1).await, unstored(1).await), (None, None));
    assert_eq!(RUNS.count(), 2);
    assert_eq!(inner_none(1).await, Some(None));
    // It is a value: a `None` of its own would be gone after 10 s.
    sleep(ms(59_000)).await;
    assert_eq!((inner_none(1).await, inner_none_cache().stats().loads), (Some(None), 1));
}

#[tokio::test(start_paused = true)]
async fn err_05_error_inside_the_stale_window() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 10, stale = 60)]
    async fn f(_id: u32) -> Result<u64, String> {
        let run = RUNS.begin();
        sleep(ms(100)).await;
        if run.number == 1 { Ok(1) } else { Err("down".into()) }
    }

    let answers = async || soon(join_all((0..3).map(|_| f(1)))).await;
    assert_eq!(answers().await, vec![Ok(1); 3]);
    sleep(ms(15_000)).await;
    assert_eq!(answers().await, vec![Ok(1); 3]);
    // The refresh has failed, and the value stays for whoever comes while it may.
    sleep(ms(200)).await;
    assert_eq!(answers().await, vec![Ok(1); 3]);
    assert_eq!(RUNS.count(), 2);
    sleep(ms(60_000)).await;
    assert_eq!(answers().await, vec![Err("down".into()); 3]);
    assert_eq!(RUNS.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn err_05_leader_and_followers_get_the_old_value() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 10, stale_if_error = 60)]
    async fn f(_id: u32) -> Result<u64, String> {
        let run = RUNS.begin();
        sleep(ms(100)).await;
        if run.number == 1 { Ok(1) } else { Err("down".into()) }
    }

    let answers = async || soon(join_all((0..3).map(|_| f(1)))).await;
    assert_eq!(answers().await, vec![Ok(1); 3]);
    sleep(ms(15_000)).await;
    assert_eq!(answers().await, vec![Ok(1); 3]);
    assert_eq!(RUNS.count(), 2);
    assert_eq!(f_cache().stats().served_on_error, 3);
    sleep(ms(60_000)).await;
    assert_eq!(answers().await, vec![Err("down".into()); 3]);
    assert_eq!(RUNS.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn err_05_leader_and_followers_get_an_error_that_is_no_outage() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 10, stale_if_error = 60, outage = |error: &String| error != "forbidden")]
    async fn f(_id: u32) -> Result<u64, String> {
        let run = RUNS.begin();
        sleep(ms(100)).await;
        if run.number == 1 { Ok(1) } else { Err("forbidden".into()) }
    }

    let answers = async || soon(join_all((0..3).map(|_| f(1)))).await;
    assert_eq!(answers().await, vec![Ok(1); 3]);
    sleep(ms(15_000)).await;
    assert_eq!(answers().await, vec![Err("forbidden".into()); 3]);
    assert_eq!(RUNS.count(), 2);
    assert!(f_cache().is_empty());
}
