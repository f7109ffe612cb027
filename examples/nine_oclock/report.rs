//! The report that everybody opens at nine o'clock. All that makes it cheap is one line above the function.

use std::sync::Arc;

use stampede_runtime::stampede_cached;

use crate::db::{Db, DbError};

/// What one product sold on one day.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) number: u32,
    pub(crate) orders: u64,
    pub(crate) cents: u64,
}

/// A day's sales; a clone shares them.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) date: Arc<str>,
    /// The best seller first.
    pub(crate) products: Arc<[Product]>,
}

impl Report {
    pub(crate) fn new(date: String, products: Vec<Product>) -> Self {
        Self { date: date.into(), products: products.into() }
    }

    pub(crate) fn orders(&self) -> u64 {
        self.products.iter().map(|product| product.orders).sum()
    }

    pub(crate) fn cents(&self) -> u64 {
        self.products.iter().map(|product| product.cents).sum()
    }
}

/// The report of one day. (A real one would say minutes or hours where this says seconds.)
#[stampede_cached(ttl = 16, jitter = 1, early = 10, stale = 8, stale_if_error = 300, skip(db))]
pub(crate) async fn report(db: &Db, date: &str) -> Result<Report, DbError> {
    db.report(date).await
}
