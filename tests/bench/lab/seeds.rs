//! Databases whose inbox is full from the start, made once and copied for every measurement.

use anyhow::Result;
use tidegate_tests::{Db, test_env};

use crate::load::stock::Stock;
use crate::peer::{Job, host};
use crate::scenario::Contender;
use crate::site::Seed;

/// Keys and indexes of the inbox: a statement that drops each, and one that makes it anew as it was.
const INDEXES: &str = "
SELECT format('ALTER TABLE tidegate.processed_events DROP CONSTRAINT %I', conname),
       format('ALTER TABLE tidegate.processed_events ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
  FROM pg_constraint WHERE conrelid = 'tidegate.processed_events'::regclass AND contype IN ('p', 'u')
UNION ALL
SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
  FROM pg_index i WHERE indrelid = 'tidegate.processed_events'::regclass
   AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)";

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
    fill(&env.db, &insert).await?;
    Ok(env.db.keep())
}

/// Without its indexes the table fills several times faster.
async fn fill(db: &Db, insert: &str) -> Result<()> {
    let rows = db.client().await.query(INDEXES, &[]).await?;
    for row in &rows {
        db.exec(row.try_get(0)?).await;
    }
    db.exec(insert).await;
    db.exec("SET maintenance_work_mem = '512MB'").await;
    for row in &rows {
        db.exec(row.try_get(1)?).await;
    }
    for step in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
        db.exec(step).await;
    }
    Ok(())
}
