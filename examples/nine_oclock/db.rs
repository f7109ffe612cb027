//! A handle to the database: a few connections, a count of the queries, and a switch that makes them fail.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::orders::open_read_only;
use crate::report::{Product, Report};

/// As many as the dates that are asked for, so that their loads end at about the same time.
pub(crate) const CONNECTIONS: u32 = 5;

/// There is no index on `day`: every report reads the whole table.
const QUERY: &str = "SELECT product, count(*), sum(quantity * cents) AS turnover FROM orders WHERE day = ?1
     GROUP BY product ORDER BY turnover DESC";

/// A handle; its clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Db {
    shared: Arc<Shared>,
    permits: Arc<Semaphore>,
}

#[derive(Debug)]
struct Shared {
    file: PathBuf,
    idle: Mutex<Vec<Connection>>,
    down: Arc<AtomicBool>,
    queries: AtomicU64,
    fastest_micros: AtomicU64,
}

/// The database's error, to be shared by many callers.
#[derive(Debug, Clone)]
pub(crate) struct DbError(Arc<rusqlite::Error>);

impl fmt::Display for DbError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the database failed: {}", self.0)
    }
}

impl std::error::Error for DbError {}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        Self(Arc::new(error))
    }
}

impl Db {
    pub(crate) fn new(file: &Path) -> Self {
        let shared = Shared {
            file: file.to_owned(),
            idle: Mutex::default(),
            down: Arc::default(),
            queries: AtomicU64::new(0),
            fastest_micros: AtomicU64::new(u64::MAX),
        };
        Self { shared: Arc::new(shared), permits: Arc::new(Semaphore::new(CONNECTIONS as usize)) }
    }

    /// The report of one day, computed from all orders. A caller that goes away leaves the query running, as a real
    /// database would.
    pub(crate) async fn report(&self, date: &str) -> Result<Report, DbError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed");
        let (shared, date) = (Arc::clone(&self.shared), date.to_owned());
        let query = spawn_blocking(move || {
            let _permit = permit;
            shared.report(date)
        });
        query.await.expect("a query does not panic")
    }

    /// How many queries reached the database, those that failed too.
    pub(crate) fn queries(&self) -> u64 {
        self.shared.queries.load(Ordering::Relaxed)
    }

    /// The shortest time that a query took and succeeded.
    pub(crate) fn fastest(&self) -> Duration {
        Duration::from_micros(self.shared.fastest_micros.load(Ordering::Relaxed))
    }

    /// While `down`, `SQLite` itself breaks every query off.
    pub(crate) fn set_down(&self, down: bool) {
        self.shared.down.store(down, Ordering::Relaxed);
    }

    /// Waits until no query runs.
    pub(crate) async fn idle(&self) {
        drop(self.permits.acquire_many(CONNECTIONS).await);
    }
}

impl Shared {
    fn report(&self, date: String) -> Result<Report, DbError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        let connection = self.connection()?;
        let products = products(&connection, &date);
        self.idle().push(connection);
        let report = Report::new(date, products?);
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.fastest_micros.fetch_min(micros, Ordering::Relaxed);
        Ok(report)
    }

    fn connection(&self) -> rusqlite::Result<Connection> {
        let idle = self.idle().pop();
        idle.map_or_else(|| self.connect(), Ok)
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let connection = open_read_only(&self.file)?;
        let down = Arc::clone(&self.down);
        connection.progress_handler(1_000, Some(move || down.load(Ordering::Relaxed)))?;
        Ok(connection)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn products(connection: &Connection, date: &str) -> rusqlite::Result<Vec<Product>> {
    let mut statement = connection.prepare_cached(QUERY)?;
    let rows = statement
        .query_map(params![date], |row| Ok(Product { number: row.get(0)?, orders: row.get(1)?, cents: row.get(2)? }))?;
    rows.collect()
}
