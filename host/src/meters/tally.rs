//! What a batch adds to the counters once it is known to be committed.

use std::time::{Duration, Instant};

use tidegate_core::letter::CauseKind;
use tidegate_core::progress::Counts;
use tidegate_core::record::TopicPartition;
use tidegate_core::tenant::TenantName;
use uuid::Uuid;

/// A batch, counted, its COMMIT not yet answered.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Its partition.
    pub source: TopicPartition,
    /// The token that it is committed under.
    pub token: Uuid,
    /// N once it is committed.
    pub next: i64,
    /// How many records it holds.
    pub records: usize,
    /// What it adds to the progress row.
    pub counts: Counts,
    /// Kind and code of each of its dead letters.
    pub causes: Vec<(CauseKind, String)>,
    /// The same by tenant, where records have tenants.
    pub tenants: Vec<TenantCounts>,
    /// Of each duplicate whose claim stands, what share of the claim's life had passed.
    pub ages: Vec<f64>,
    /// When its first record was fetched.
    pub fetched: Instant,
}

/// What records of one tenant came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantCounts {
    /// Whose.
    pub tenant: TenantName,
    /// Handled.
    pub done: u64,
    /// Passed over.
    pub skipped: u64,
    /// Dead letters.
    pub rejected: u64,
    /// Of either kind.
    pub duplicate: u64,
}

impl TenantCounts {
    /// Nothing yet.
    pub fn of(tenant: TenantName) -> Self {
        Self {
            tenant,
            done: 0,
            skipped: 0,
            rejected: 0,
            duplicate: 0,
        }
    }
}

/// How long a committed batch spent where.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// From asking for a connection until fence and claim were answered.
    pub begin: Duration,
    /// In the guests, with what they waited for.
    pub guests: Duration,
    /// From there until COMMIT was answered.
    pub end: Duration,
    /// The part of that in COMMIT itself.
    pub commit: Duration,
}
