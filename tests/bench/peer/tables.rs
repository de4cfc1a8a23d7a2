//! The inbox and progress rows of the peers that are not the host: its own, in schema `peer`.

use tidegate_tests::Db;

use crate::measure::gauge::Progress;

/// Records committed, over all partitions or connections.
pub(crate) const PROGRESS: Progress =
    Progress::Table("SELECT sum(next_offset)::bigint FROM peer.progress");

const TABLES: &str = r#"
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
CREATE TABLE peer.progress (partition integer PRIMARY KEY, next_offset bigint NOT NULL) WITH (fillfactor = 50);
"#;

/// Makes them, with a progress row for each partition.
pub(crate) async fn create(db: &Db, partitions: i32) {
    db.exec(TABLES).await;
    db.exec(&format!(
        "INSERT INTO peer.progress SELECT n, 0 FROM generate_series(0, {}) n",
        partitions - 1
    ))
    .await;
}
