//! The host's own tables as the tests read them, and locks that stop a handler where a test wants it.

use std::time::Duration;

use tidegate_tests::{Db, Payment, Rec, secs, wait_eq, wait_for};

/// How long anything may take that a loaded machine only makes slower.
pub(crate) const PATIENCE: Duration = secs(60);

/// All progress rows of a test's database in one: positions and counters summed over the partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Sum of N.
    pub(crate) next: i64,
    /// Sum of C.
    pub(crate) committed: i64,
    pub(crate) done: i64,
    pub(crate) skipped: i64,
    pub(crate) rejected: i64,
    pub(crate) redelivered: i64,
    pub(crate) republished: i64,
    pub(crate) taken_over: i64,
}

impl Counts {
    /// `records` first records of topics that nothing but they were written to, all done once and acknowledged.
    pub(crate) fn done(records: usize) -> Self {
        let n = i64::try_from(records).unwrap();
        Counts {
            next: n,
            committed: n,
            done: n,
            ..Counts::default()
        }
    }
}

/// The counters; zero before the host has made its tables.
pub(crate) async fn counts(db: &Db) -> Counts {
    let sum = "SELECT sum(next_offset), sum(coalesce(committed, 0)), sum(done), sum(skipped), sum(rejected), \
               sum(redelivered), sum(republished), sum(taken_over) FROM tidegate.progress";
    if !migrated(db).await {
        return Counts::default();
    }
    let rows = db.query_text(sum).await;
    let cell = |i: usize| {
        rows[0][i]
            .as_ref()
            .map_or(0, |text| text.parse::<i64>().unwrap())
    };
    Counts {
        next: cell(0),
        committed: cell(1),
        done: cell(2),
        skipped: cell(3),
        rejected: cell(4),
        redelivered: cell(5),
        republished: cell(6),
        taken_over: cell(7),
    }
}

async fn migrated(db: &Db) -> bool {
    exists(db, "tidegate.progress").await
}

/// Whether a host has made this table, or this column of a table, as `schema.table.column`.
pub(crate) async fn exists(db: &Db, name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let column = parts
        .get(2)
        .map_or(String::new(), |c| format!("AND column_name = '{c}'"));
    let there = format!(
        "SELECT count(*) FROM information_schema.columns
          WHERE table_schema = '{}' AND table_name = '{}' {column}",
        parts[0], parts[1]
    );
    db.query_one_i64(&there).await > 0
}

/// Waits until the counters are these and Kafka has acknowledged them.
pub(crate) async fn settled(db: &Db, expected: Counts) {
    wait_eq(PATIENCE, "the progress rows", expected, async || {
        counts(db).await
    })
    .await;
}

/// Waits until so many records are behind the positions.
pub(crate) async fn wait_next(db: &Db, records: i64) {
    let what = format!("{records} records to be behind the positions");
    wait_for(PATIENCE, &what, async || {
        (counts(db).await.next >= records).then_some(())
    })
    .await;
}

/// Waits until so many partitions have an owner.
pub(crate) async fn wait_owned(db: &Db, partitions: i64) {
    let owned = "SELECT count(owner) FROM tidegate.progress";
    wait_eq(PATIENCE, "owned partitions", partitions, async || {
        if migrated(db).await {
            db.query_one_i64(owned).await
        } else {
            0
        }
    })
    .await;
}

/// Committed batches, summed over the partitions.
pub(crate) async fn batches(db: &Db) -> i64 {
    db.query_one_i64("SELECT sum(begun) FROM tidegate.progress")
        .await
}

/// Dead letters, whatever became of them.
pub(crate) async fn letters(db: &Db) -> i64 {
    db.query_one_i64("SELECT count(*) FROM tidegate.dead_letters")
        .await
}

/// Counts the database's sessions that wait for a lock.
pub(crate) const BLOCKED: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// Waits until so many sessions of the database stand before a lock.
pub(crate) async fn wait_blocked(db: &Db, sessions: i64) {
    wait_eq(
        PATIENCE,
        "sessions that wait for a lock",
        sessions,
        async || db.query_one_i64(BLOCKED).await,
    )
    .await;
}

/// A lock on one account: whoever credits it waits.
pub(crate) struct AccountLock(tokio_postgres::Client);

impl AccountLock {
    pub(crate) async fn take(db: &Db, account: i64) -> Self {
        let client = db.client().await;
        let lock = format!("BEGIN; SELECT FROM accounts WHERE id = {account} FOR UPDATE");
        client.batch_execute(&lock).await.unwrap();
        AccountLock(client)
    }

    pub(crate) async fn release(self) {
        self.0.batch_execute("ROLLBACK").await.unwrap();
    }
}

/// Records of payments.
pub(crate) fn recs(payments: &[Payment]) -> Vec<Rec> {
    payments.iter().map(Payment::rec).collect()
}

/// Records for the guest `slow`, which waits so long in the database before it credits.
pub(crate) fn slow_recs(payments: &[Payment], sleep_ms: u64) -> Vec<Rec> {
    let slow = |p: &Payment| {
        let mut rec = p.rec();
        let value = serde_json::json!({
            "amount_minor": p.amount_minor,
            "account_id": p.account_id,
            "sleep_ms": sleep_ms,
        });
        rec.value = Some(value.to_string().into_bytes());
        rec
    };
    payments.iter().map(slow).collect()
}
