//! Databases whose inbox is full from the start, made once and copied for every measurement.

use anyhow::Result;
use tidegate_tests::test_env;

use crate::load::stock::Stock;
use crate::peer::{Job, host};
use crate::scenario::Contender;
use crate::site::Seed;

/// Without its indexes the table fills several times faster; they are made anew as they were.
const STRIP: &str = "
SET maintenance_work_mem = '512MB';
ALTER TABLE tidegate.processed_events DROP CONSTRAINT processed_events_pkey;
DROP INDEX tidegate.processed_events_until;";

const DRESS: &str = "
ALTER TABLE tidegate.processed_events ADD PRIMARY KEY (consumer_name, scope, event_id);
CREATE INDEX processed_events_until ON tidegate.processed_events (processed_until);";

/// Makes the database and answers its name; nobody is connected to it any more.
pub(super) async fn make(seed: Seed, contender: &Contender, stock: &Stock) -> Result<String> {
    let env = test_env("seed").await;
    host::migrate(&Job::new(&env, stock, contender, env.db.url())).await?;
    let (rows, processed_at) = match seed {
        Seed::Nothing => (0, "now()"),
        Seed::Live(rows) => (rows, "now() - random() * interval '6 days'"),
        Seed::Expired(rows) => (
            rows,
            "now() - interval '8 days 1 hour' - random() * interval '1 hour'",
        ),
    };
    let insert = format!(
        r#"INSERT INTO tidegate.processed_events (consumer_name, scope, event_id, processed_at, processed_until, topic,
            partition, "offset", outcome, module_digest)
        SELECT '{}', '', gen_random_uuid()::text, at, at + interval '7 days', 'earlier', 0, n, 'done',
            decode(repeat('00', 32), 'hex')
          FROM (SELECT n, {processed_at} AS at FROM generate_series(1, {rows}) n) earlier"#,
        host::CONSUMER
    );
    for step in [STRIP, &insert, DRESS, "VACUUM (ANALYZE)", "CHECKPOINT"] {
        env.db.exec(step).await;
    }
    Ok(env.db.keep())
}
