//! The tables of one measurement, in a database of its own.
//!
//! The host makes its own inbox and progress row; pgbench and the native consumer get the same two in schema `peer`.

use tidegate_tests::Db;

use crate::workload::ACCOUNTS;

/// Half-full pages leave room for a new version of every row beside the old one, so updates stay on their page.
const ACCOUNTS_TABLE: &str = "
CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL) WITH (fillfactor = 50)";

const PEER_TABLES: &str = r#"
CREATE SCHEMA peer;
CREATE TABLE peer.processed_events (
    consumer_name text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    processed_at timestamptz NOT NULL DEFAULT now(),
    processed_until timestamptz NOT NULL,
    topic text COLLATE "C" NOT NULL,
    partition integer NOT NULL,
    "offset" bigint NOT NULL,
    outcome text NOT NULL,
    module_digest bytea,
    PRIMARY KEY (event_id, scope, consumer_name)
);
CREATE INDEX ON peer.processed_events (processed_until);
CREATE TABLE peer.progress (next_offset bigint NOT NULL) WITH (fillfactor = 50);
INSERT INTO peer.progress VALUES (0);
"#;

/// Makes the accounts, all empty, and the peers' tables.
pub(crate) async fn create(db: &Db) {
    db.exec(ACCOUNTS_TABLE).await;
    db.exec(&format!(
        "INSERT INTO accounts SELECT id, 0 FROM generate_series(1, {ACCOUNTS}) id"
    ))
    .await;
    db.exec(PEER_TABLES).await;
}

/// Leaves nothing for the server to catch up with while the clock runs.
pub(crate) async fn settle(db: &Db) {
    db.exec("VACUUM (ANALYZE)").await;
    db.exec("CHECKPOINT").await;
}
