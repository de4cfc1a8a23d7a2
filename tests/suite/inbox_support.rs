//! What the inbox's tests share: a migrated database of their own, a progress row, a batch.

use std::sync::Arc;
use std::time::Duration;

use crate::rows::BLOCKED;
use tidegate::config::PostgresConfig;
use tidegate::inbox::{
    BatchHead, Begun, Finish, Gap, Inbox, ModulesOf, NewPosition, Standing, Transaction, Wall,
};
use tidegate_core::claim::{ClaimRequest, Claimed, EventId};
use tidegate_core::failure::Failure;
use tidegate_core::lanes::Locks;
use tidegate_core::progress::{Counts, Progress, ProgressKey};
use tidegate_core::record::TopicPartition;
use tidegate_core::resume::{Facts, LogCheck, Look, Seen, Start, look};
use tidegate_core::sql::{CallError, GuestSql, ResultSet, Value};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// An inbox on a migrated database of its own, and a plain connection to the same.
pub(crate) struct Db {
    pub(crate) inbox: Inbox,
    pub(crate) client: Client,
    pub(crate) owner: Uuid,
    pub(crate) url: String,
    pub(crate) epoch: i32,
}

pub(crate) fn config(url: &str) -> PostgresConfig {
    PostgresConfig {
        url: url.to_owned(),
        password: None,
        directory: std::path::PathBuf::new(),
        max_connections: 4,
        connect_timeout: Duration::from_secs(5),
        statement_timeout: Duration::from_secs(10),
        lock_timeout: Duration::from_secs(2),
        idle_in_transaction_timeout: Duration::from_secs(60),
        search_path: vec!["public".into()],
        prune_interval: Duration::from_secs(60),
    }
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .expect("PostgreSQL");
    tokio::spawn(connection);
    client
}

pub(crate) async fn db(wall: Wall) -> Db {
    let url = database().await;
    let config = config(&url);
    let inbox = Inbox::new(&config, wall).expect("an inbox");
    inbox.migrate().await.expect("migrated");
    let client = connect(&url).await;
    let owner = Uuid::new_v4();
    let db = Db {
        inbox,
        client,
        owner,
        url,
        epoch: 0,
    };
    db.inbox
        .register(("c", "t"), "g", "k", &[(0, 0, None)])
        .await
        .expect("registered");
    take(&db.inbox, &key(), owner, 1)
        .await
        .expect("a token")
        .expect("a row");
    db.run(
        "CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0))",
    )
    .await;
    db.run("INSERT INTO accounts SELECT i, 100 FROM generate_series(1, 1000) i")
        .await;
    db
}

/// What a look at the row sees, its group and cluster being the looker's.
pub(crate) async fn seen(inbox: &Inbox, key: &ProgressKey) -> Seen {
    let Standing::Row(row) = inbox.look(key).await.expect("a look") else {
        panic!("no row of {key:?}");
    };
    let facts = Facts {
        committed: None,
        low: 0,
        high: i64::MAX,
        asked_twice: true,
        group: row.group.clone(),
        cluster_id: row.cluster_id.clone(),
        start: Start::Earliest,
        known_topic: true,
        last: LogCheck::Same,
        row: Some(row),
    };
    match look(&facts, None) {
        Look::Take(seen) => seen,
        other => panic!("not to be taken: {other:?}"),
    }
}

/// Looks at a row and takes its token for the host of this number.
pub(crate) async fn take(
    inbox: &Inbox,
    key: &ProgressKey,
    token: Uuid,
    host: u128,
) -> Result<Option<Progress>, Failure> {
    let seen = seen(inbox, key).await;
    let taken = inbox
        .take_token(key, (token, Uuid::from_u128(host)), &seen, "key")
        .await;
    Ok(taken?.map(|taken| taken.row))
}

/// The URL of an empty database, which lasts as long as the suite.
pub(crate) async fn database() -> String {
    let env = Box::leak(Box::new(tidegate_tests::test_env("inbox").await));
    env.db.url()
}

pub(crate) fn key() -> ProgressKey {
    let source = TopicPartition {
        topic: Arc::from("t"),
        partition: 0,
    };
    ProgressKey {
        consumer: "c".into(),
        source,
    }
}

pub(crate) fn claim(id: &str, offset: i64, ttl: Duration) -> ClaimRequest {
    let event_id = EventId::new(id.into()).expect("a good id");
    ClaimRequest {
        scope: Arc::default(),
        event_id,
        ttl,
        offset,
    }
}

pub(crate) fn hour(id: &str, offset: i64) -> ClaimRequest {
    claim(id, offset, Duration::from_secs(3600))
}

pub(crate) fn finish(next_offset: i64) -> Finish {
    Finish {
        next_offset,
        committed: None,
        last: None,
        counts: Counts::default(),
        outcomes: Vec::new(),
        letters: Vec::new(),
        superseded: Vec::new(),
        cluster_id: "k".into(),
    }
}

impl Db {
    pub(crate) fn head(&self, expected: i64, claims: Vec<ClaimRequest>) -> BatchHead {
        BatchHead {
            key: key(),
            owner: self.owner,
            log_epoch: self.epoch,
            expected,
            claims,
            locks: Locks::default(),
            modules: ModulesOf::All(Some([7; 32])),
            tenants_revision: None,
            module: [7; 32],
        }
    }

    pub(crate) async fn open(
        &self,
        expected: i64,
        claims: Vec<ClaimRequest>,
    ) -> (Box<Transaction>, Vec<Claimed>) {
        match self
            .inbox
            .begin(&self.head(expected, claims), false)
            .await
            .expect("begun")
        {
            Begun::Open(transaction, claimed) => (transaction, claimed),
            other => unreachable!("not open: {other:?}"),
        }
    }

    /// Puts the position at `next` of a log, as a command does, with a gap's letter where one is wanted.
    pub(crate) async fn put(&self, log: (&str, &str), next: i64, gap: Option<Gap>) {
        let rows = self.inbox.progress_rows().await.expect("rows");
        let row = rows.iter().find(|row| row.key == key()).expect("a row");
        let position = NewPosition {
            partition: row.key.source.partition,
            expected: Some((row.next_offset, row.log_epoch)),
            next,
            committed: None,
            gap,
        };
        let names = (row.key.consumer.as_str(), &*row.key.source.topic);
        let put = self.inbox.put_positions(names, log, &[position]).await;
        assert_eq!(put, Ok(true));
    }

    /// Gives the row to another log, from its beginning, and takes the token again.
    pub(crate) async fn adopt(&mut self) {
        self.put(("g", "k"), 0, None).await;
        let progress = take(&self.inbox, &key(), self.owner, 1).await;
        let progress = progress.expect("a token").expect("a row");
        assert_eq!(progress.log_epoch, self.epoch + 1);
        self.epoch = progress.log_epoch;
    }

    /// Begins, claims and commits; returns what the claims came to.
    pub(crate) async fn handle(&self, expected: i64, claims: Vec<ClaimRequest>) -> Vec<Claimed> {
        let (transaction, claimed) = self.open(expected, claims).await;
        transaction
            .commit(finish(expected + 1))
            .await
            .expect("committed");
        claimed
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.client.batch_execute(sql).await.expect(sql);
    }

    pub(crate) async fn number(&self, sql: &str) -> i64 {
        self.client.query_one(sql, &[]).await.expect(sql).get(0)
    }

    /// Waits until one session waits for a lock.
    pub(crate) async fn wait_blocked(&self) {
        let (patience, what) = (Duration::from_secs(60), "a session that waits for a lock");
        tidegate_tests::wait_eq(patience, what, 1, async || self.number(BLOCKED).await).await;
    }

    pub(crate) async fn total(&self) -> i64 {
        self.number("SELECT sum(balance)::bigint FROM accounts")
            .await
    }
}

pub(crate) const CREDIT: &str = "UPDATE accounts SET balance = balance + $1 WHERE id = $2";

pub(crate) fn ints(values: &[i64]) -> Vec<Value> {
    values.iter().map(|n| Value::Int64(*n)).collect()
}

pub(crate) async fn ask(
    transaction: &mut Transaction,
    sql: &str,
    params: Vec<Value>,
) -> Result<ResultSet, CallError> {
    transaction.query(sql.to_owned(), params).await
}
