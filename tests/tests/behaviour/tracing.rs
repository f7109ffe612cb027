//! Feature `tracing`: a span per load, events for what goes wrong, nothing at a hit, and keys in none of them.

use futures::future::{BoxFuture, join_all};
use stampede_runtime::{CacheMode, stampede_cached};
use stampede_tests::{Runs, soon};
use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::time::sleep;
use tracing::{
    Event, Id, Instrument as _, Metadata, Subscriber,
    field::{Field, Visit},
    info, info_span,
    span::{Attributes, Record},
    subscriber::{DefaultGuard, Interest},
};
use tracing_subscriber::{
    layer::{Context, Layer, SubscriberExt as _},
    registry::{LookupSpan, Scope},
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What was told: each span and event as `outermost > .. > name field=value ..`, and how often anything was called.
#[derive(Debug, Default)]
struct Told {
    spans: Vec<String>,
    events: Vec<String>,
    follows: Vec<(String, String)>,
    closed: Vec<&'static str>,
    calls: u64,
}

#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Told>>);

impl Log {
    /// Listens to this thread.
    fn listen() -> (Self, DefaultGuard) {
        let log = Self::default();
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(log.clone()));
        (log, guard)
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        let mut told = self.0.lock().unwrap();
        told.calls += 1;
        told
    }

    fn events(&self) -> Vec<String> {
        self.told().events.clone()
    }

    /// The last span that a load was given.
    fn load_span(&self) -> String {
        self.told().spans.iter().rfind(|span| span.contains("stampede.load")).expect("a load").clone()
    }
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

fn path<S: Subscriber + for<'a> LookupSpan<'a>>(id: Option<&Id>, context: &Context<'_, S>) -> String {
    let mut path = String::new();
    for span in id.and_then(|id| context.span_scope(id)).into_iter().flat_map(Scope::from_root) {
        path = path + span.name() + " > ";
    }
    path
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Log {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // Called for the callsites of all threads: no call to count.
        Interest::always()
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| span.parent()).map(|parent| parent.id());
        let mut line = path(parent.as_ref(), &context) + attributes.metadata().name();
        attributes.record(&mut Fields(&mut line));
        self.told().spans.push(line);
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut line = String::from("recorded");
        values.record(&mut Fields(&mut line));
        self.told().spans.push(line);
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        let name = |id| context.span(id).map_or("?", |span| span.name()).to_owned();
        self.told().follows.push((name(id), name(follows)));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let id = context.event_span(event).map(|span| span.id());
        let mut line = path(id.as_ref(), &context) + event.metadata().level().as_str();
        event.record(&mut Fields(&mut line));
        self.told().events.push(line);
    }

    fn on_enter(&self, _: &Id, _: Context<'_, S>) {
        drop(self.told());
    }

    fn on_exit(&self, _: &Id, _: Context<'_, S>) {
        drop(self.told());
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let name = context.span(&id).map_or("?", |span| span.name());
        self.told().closed.push(name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_has_a_span_inside_the_leaders() {
    #[stampede_cached(ttl = 60, name = "prices")]
    async fn prices(id: u32) -> u32 {
        sleep(ms(100)).await;
        info!("in the loader");
        id
    }

    let (log, _guard) = Log::listen();
    let leader = prices(1).instrument(info_span!("leader"));
    let follower = prices(1).instrument(info_span!("follower"));
    assert_eq!(soon(async { tokio::join!(leader, follower) }).await, (1, 1));
    assert_eq!(log.load_span(), r#"leader > stampede.load cache="prices" reason="miss""#);
    assert_eq!(log.events(), ["leader > stampede.load > INFO message=in the loader"]);
    assert!(log.told().closed.contains(&"stampede.load"));
}

#[tokio::test(start_paused = true)]
async fn a_load_in_the_caller_has_a_span_too() {
    #[stampede_cached(ttl = 60, run = "in_caller", name = "prices")]
    async fn prices(id: u32) -> u32 {
        sleep(ms(100)).await;
        info!("in the loader");
        id
    }

    let (log, _guard) = Log::listen();
    assert_eq!(soon(prices(1).instrument(info_span!("leader"))).await, 1);
    assert_eq!(log.load_span(), r#"leader > stampede.load cache="prices" reason="miss""#);
    assert_eq!(log.events(), ["leader > stampede.load > INFO message=in the loader"]);
}

#[tokio::test(start_paused = true)]
async fn a_refresh_has_a_root_span() {
    #[stampede_cached(ttl = 60, early = 10)]
    async fn prices(id: u32) -> u32 {
        sleep(ms(100)).await;
        info!("in the loader");
        id
    }

    assert_eq!(soon(prices(1)).await, 1);
    sleep(ms(55_000)).await;
    let (log, _guard) = Log::listen();
    assert_eq!(soon(prices(1).instrument(info_span!("caller"))).await, 1);
    sleep(ms(200)).await;
    // It names its function, and what it began in, without being part of it.
    let span = log.load_span();
    assert!(span.starts_with("stampede.load ") && span.ends_with(r#"::prices" reason="refresh""#), "{span}");
    assert_eq!(log.told().follows, [("stampede.load".into(), "caller".into())]);
    assert_eq!(log.events(), ["stampede.load > INFO message=in the loader"]);
}

#[tokio::test(start_paused = true)]
async fn a_hit_tells_nothing() {
    #[stampede_cached(ttl = 60)]
    async fn f(id: u32) -> Result<u32, String> {
        Ok(id)
    }

    let (log, _guard) = Log::listen();
    assert_eq!(soon(f(1)).await, Ok(1));
    sleep(ms(1)).await;
    let before = log.told().calls;
    for _ in 0..1000 {
        assert_eq!(f(1).await, Ok(1));
    }
    // One for this look at it.
    assert_eq!(log.told().calls, before + 1);
}

#[tokio::test(start_paused = true)]
async fn failures_and_pauses_are_told() {
    static RUNS: Runs = Runs::new();
    #[stampede_cached(ttl = 10, stale = 60, name = "prices")]
    async fn prices(_id: u32) -> Result<u64, String> {
        match RUNS.begin().number {
            1 | 3 => Err("down".into()),
            2 => Ok(2),
            _ => panic!("broken"),
        }
    }

    let (log, _guard) = Log::listen();
    let failed = |how, served_old| {
        let fields = format!(r#"message=a load failed cache="prices" how={how} served_old={served_old}"#);
        move |event: &String| event.starts_with("stampede.load > WARN") && event.ends_with(&fields)
    };
    assert_eq!(soon(prices(1)).await, Err("down".into()));
    assert!(matches!(&log.events()[..], [event] if failed("error", false)(event)), "{:?}", log.events());
    assert_eq!(soon(prices(1)).await, Ok(2));
    for how in ["error", "panic"] {
        log.told().events.clear();
        sleep(ms(15_000)).await;
        assert_eq!(soon(prices(1)).await, Ok(2));
        sleep(ms(1)).await;
        let events = log.events();
        assert!(matches!(&events[..], [event, _] if failed(how, true)(event)), "{events:?}");
        assert!(events[1].contains("pause is over") && events[1].contains(r#"cache="prices""#), "{events:?}");
    }
    assert_eq!(RUNS.count(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_load_that_was_dropped_is_told() {
    #[stampede_cached(ttl = 10, run = "cancellable", name = "prices")]
    async fn prices(_id: u32) -> u32 {
        std::future::pending().await
    }

    let (log, _guard) = Log::listen();
    assert!(tokio::time::timeout(ms(100), prices(1)).await.is_err());
    let events = log.events();
    assert!(matches!(&events[..], [event] if event.contains(r#"cache="prices" how=abandoned"#)), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_self_deadlock_is_told() {
    #[stampede_cached(ttl = 10, name = "ouroboros")]
    async fn bite(id: u32) -> u32 {
        tail(id).await
    }
    fn tail(id: u32) -> BoxFuture<'static, u32> {
        Box::pin(bite(id))
    }

    let (log, _guard) = Log::listen();
    assert!(soon(tokio::spawn(bite(1))).await.unwrap_err().is_panic());
    let events = log.events();
    assert!(
        events.iter().any(|event| event.contains("ERROR") && event.contains("ouroboros → ouroboros")),
        "{events:?}"
    );
    assert!(events.iter().any(|event| event.contains("how=panic")), "{events:?}");
}

/// OBS-06.
#[tokio::test(start_paused = true)]
async fn obs_06_no_key_is_told() {
    #[stampede_cached(ttl = 10, stale = 10, stale_if_error = 60, timeout = 5, share_err = |_| "given up".into(), lead_after = 3)]
    async fn account(mail: &str, step: usize) -> Result<usize, String> {
        sleep(ms(100)).await;
        match step % 4 {
            0 => Err(format!("no account {mail}")),
            1 => panic!("no account {mail}"),
            2 => std::future::pending().await,
            _ => Ok(step),
        }
    }

    let (log, _guard) = Log::listen();
    for _ in 0..2 {
        let calls = (0..1000).map(|n| tokio::spawn(async move { account(&format!("user{n}@example.org"), n).await }));
        assert_eq!(soon(join_all(calls)).await.len(), 1000);
        sleep(ms(15_000)).await;
    }
    drop(soon(CacheMode::Refresh.enter(account("user0@example.org", 0))).await);
    account_entry("user0@example.org", 0).invalidate().await;
    account_cache().clear().await;
    let told = log.told();
    assert!(told.spans.len() >= 1000 && told.events.len() >= 500, "{} {}", told.spans.len(), told.events.len());
    assert!(told.spans.iter().chain(&told.events).all(|line| !line.contains("example.org")));
}
