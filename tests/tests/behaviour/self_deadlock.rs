//! A load that waits for itself is told so, with the chain of names, instead of waiting for ever.

use crate::world::{message, panic_of, secs};
use futures::{
    FutureExt as _,
    future::{BoxFuture, join},
};
use stampede_runtime::stampede_cached;
use stampede_tests::{Gate, soon};

macro_rules! direct {
    ($($test:ident: $run:tt;)*) => {$(
        #[tokio::test]
        async fn $test() {
            fn again(n: u64) -> BoxFuture<'static, u64> {
                Box::pin(direct(n))
            }
            #[stampede_cached(ttl = 60, run = $run)]
            async fn direct(n: u64) -> u64 {
                again(n).await + 1
            }

            let message = panic_of(soon(direct(1))).await;
            assert!(message.contains("waits for itself"), "{message}");
            let chain = message.rsplit(": ").next().unwrap();
            let names: Vec<_> = chain.split(" → ").map(|name| name.rsplit("::").next().unwrap()).collect();
            assert_eq!(names, ["direct", "direct"], "{message}");
            let stats = direct_cache().stats();
            assert_eq!((stats.panics, stats.in_flight, stats.entries), (1, 0, 0));
        }
    )*};
}

direct! {
    a_load_that_calls_itself: "detached";
    a_load_that_calls_itself_cancellable: "cancellable";
    a_load_that_calls_itself_in_caller: "in_caller";
}

fn ping_of(n: u64) -> BoxFuture<'static, u64> {
    Box::pin(ping(n))
}

#[stampede_cached(ttl = 60)]
async fn ping(n: u64) -> u64 {
    pong(n).await + 1
}

#[stampede_cached(ttl = 60)]
async fn pong(n: u64) -> u64 {
    if n > 100 { n } else { ping_of(n).await + 1 }
}

#[tokio::test]
async fn through_two_functions() {
    let message = panic_of(soon(ping(1))).await;
    for chain in ["::ping → ", "::pong → "] {
        assert!(message.contains(chain), "{message}");
    }
    assert_eq!(soon(ping(101)).await, 102, "no circle, no panic");
}

/// All who wait for a load of the circle see it; none hangs.
#[tokio::test]
async fn callers_on_all_sides_of_the_circle() {
    let callers = [tokio::spawn(ping(2)), tokio::spawn(pong(2)), tokio::spawn(ping(2)), tokio::spawn(pong(2))];
    for caller in callers {
        let panic = soon(caller).await.unwrap_err().into_panic();
        assert!(message(&*panic).contains("waits for itself"));
    }
}

/// Two loads that begin apart and wait for each other: the second edge closes the circle.
#[tokio::test]
async fn two_loads_that_wait_for_each_other() {
    static GATES: [Gate; 2] = [const { Gate::new() }; 2];
    fn cross_of(side: usize) -> BoxFuture<'static, u64> {
        Box::pin(cross(side))
    }
    #[stampede_cached(ttl = 60)]
    async fn cross(side: usize) -> u64 {
        GATES[side].pass().await;
        cross_of(1 - side).await
    }

    let callers = [tokio::spawn(cross(0)), tokio::spawn(cross(1))];
    for gate in &GATES {
        soon(gate.arrival()).await;
    }
    for gate in &GATES {
        gate.open(1);
    }
    for caller in callers {
        let panic = soon(caller).await.unwrap_err().into_panic();
        assert!(message(&*panic).contains("waits for itself"));
    }
}

/// One branch of a `join!` closes the circle while the other is fine.
#[tokio::test]
async fn across_join() {
    fn root_of() -> BoxFuture<'static, u64> {
        Box::pin(root())
    }
    #[stampede_cached(ttl = 60)]
    async fn leaf(n: u64) -> u64 {
        tokio::task::yield_now().await;
        if n == 1 { root_of().await } else { n }
    }
    #[stampede_cached(ttl = 60)]
    async fn root() -> u64 {
        let (a, b) = join(leaf(0), leaf(1)).await;
        a + b
    }

    let message = panic_of(soon(root())).await;
    assert!(message.contains("root") && message.contains("leaf"), "{message}");
    assert_eq!(leaf(0).now_or_never(), Some(0));
}

/// Two branches that wait for one flight are no circle.
#[tokio::test]
async fn a_diamond_is_no_circle() {
    #[stampede_cached(ttl = 60)]
    async fn bottom() -> u64 {
        tokio::task::yield_now().await;
        1
    }
    #[stampede_cached(ttl = 60)]
    async fn side(n: u64) -> u64 {
        bottom().await + n
    }
    #[stampede_cached(ttl = 60)]
    async fn top() -> u64 {
        let (a, b) = join(side(10), join(side(20), bottom())).await;
        a + b.0 + b.1
    }

    assert_eq!(soon(top()).await, 33);
    assert_eq!(bottom_cache().stats().loads, 1);
}

/// A branch that is dropped waits for nobody: the other direction is open again.
#[tokio::test(start_paused = true)]
async fn an_edge_goes_with_its_future() {
    static GATE: Gate = Gate::new();
    fn first_of() -> BoxFuture<'static, u64> {
        Box::pin(first())
    }
    #[stampede_cached(ttl = 60)]
    async fn first() -> u64 {
        // Gives up on the other, and goes on.
        let other = tokio::time::timeout(secs(1), second()).await;
        assert!(other.is_err());
        GATE.open(1);
        tokio::time::sleep(secs(1)).await;
        1
    }
    #[stampede_cached(ttl = 60)]
    async fn second() -> u64 {
        GATE.pass().await;
        first_of().await + 1
    }

    assert_eq!(soon(first()).await, 1);
    assert_eq!(soon(second()).await, 2);
}

/// Recursion with other arguments ends.
#[tokio::test]
async fn recursion_is_no_circle() {
    fn fib_of(n: u64) -> BoxFuture<'static, u64> {
        Box::pin(fib(n))
    }
    #[stampede_cached(ttl = 60)]
    async fn fib(n: u64) -> u64 {
        if n < 2 { n } else { fib_of(n - 1).await + fib_of(n - 2).await }
    }

    assert_eq!(soon(fib(30)).await, 832_040);
    assert_eq!(fib_cache().stats().loads, 31);
}
