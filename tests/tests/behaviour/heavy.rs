//! A value that is heavier than all of its cache is returned, not stored, counted, and warned of once.

use stampede_runtime::{Cache, CacheBuilder, stampede_cached};
use std::{
    convert::Infallible,
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tracing::{Event, Level, Subscriber, field::Field};
use tracing_subscriber::{
    layer::{Context, Layer, SubscriberExt},
    registry,
};

/// Writes down the warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == Level::WARN {
            let mut fields = Vec::new();
            event.record(&mut |field: &Field, value: &dyn Debug| fields.push(format!("{field}={value:?}")));
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fields.join(" "));
        }
    }
}

impl Warnings {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn weighing(capacity: u64) -> CacheBuilder<u32, u32> {
    Cache::builder("heavy").ttl(Duration::from_secs(3600)).capacity(capacity).weight(|weight| *weight)
}

#[tokio::test(start_paused = true)]
async fn it_is_returned_and_not_stored_and_warned_of_once() {
    #[stampede_cached(ttl = 60, capacity = 100, weight = |text: &String| u32::try_from(text.len()).unwrap_or(u32::MAX))]
    async fn f(length: usize) -> String {
        "x".repeat(length)
    }

    let warnings = Warnings::default();
    let _here = tracing::subscriber::set_default(registry().with(warnings.clone()));
    f(10).await;
    for times in 1..=5 {
        assert_eq!(f(101).await.len(), 101);
        assert_eq!((f_entry(101).state(), f_cache().stats().too_heavy), (None, times));
    }
    f_entry(102).insert("x".repeat(102)).await;
    let stats = f_cache().stats();
    assert_eq!((stats.too_heavy, stats.loads, stats.evictions), (6, 6, 0), "it costs nobody their place");
    let warnings = warnings.all();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("f\"") && warnings[0].contains("weight=101") && warnings[0].contains("capacity=100"));
}

#[tokio::test(start_paused = true)]
async fn it_removes_what_it_was_to_replace() {
    let cache = weighing(100).build().expect("a policy");
    cache.entry(&1).insert(50).await;
    cache.entry(&2).insert(50).await;
    cache.entry(&1).insert(101).await;
    assert_eq!((cache.entry(&1).get().await, cache.entry(&2).get().await), (None, Some(50)));
    let load = || async { Ok::<_, Infallible>(7) };
    assert_eq!(cache.get_or_load(&1, load).await.expect("a value"), 7);
}
