//! pgbench's *set* shape: what PostgreSQL itself does in this time, with no Kafka in front of it.
//!
//! A transaction is one pipeline: one claim of 500 ids that the server makes up, 500 updates by primary key, the
//! progress row. Plans are generic from the start: a script has no loop, so its 500 updates are 500 prepared
//! statements, and each would be planned anew in its first five transactions.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use tidegate_tests::Db;
use tokio::process::{Child, Command};

use crate::BATCH;
use crate::load::ACCOUNTS;
use crate::load::payments::Totals;
use crate::peer::Job;

/// A pgbench script ends a statement at a semicolon; the digest's width is the host's.
const CLAIM: &str = r#"
INSERT INTO peer.processed_events (consumer_name, scope, event_id, processed_at, processed_until, topic, partition,
    "offset", outcome, module_digest)
  SELECT 'bench', '', id, now(), now() + interval '7 days', '{topic}', 0, 0, 'done',
    '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea
  FROM (SELECT gen_random_uuid()::text COLLATE "C" AS id FROM generate_series(1, 500)) ids
  ORDER BY id ON CONFLICT DO NOTHING RETURNING event_id;
"#;

/// pgbench at work.
pub(crate) struct Pgbench(Child);

impl Pgbench {
    /// Runs as many transactions on each connection as hold its share of the records.
    pub(crate) async fn start(job: &Job<'_>, connections: usize) -> Result<Self> {
        let db = &job.env.db;
        let file = job.env.dir().join("set.sql");
        tokio::fs::write(&file, script(&job.stock.topic, connections)?).await?;
        let transactions = transactions(job, connections)?;
        Ok(Self(spawn(db, &file, connections, transactions).await?))
    }

    /// Says so if it has failed.
    pub(crate) fn alive(&mut self) -> Result<()> {
        match self.0.try_wait()? {
            Some(status) if !status.success() => anyhow::bail!("pgbench ended early: {status}"),
            _ => Ok(()),
        }
    }

    /// Waits for its end, or kills it.
    pub(crate) async fn stop(mut self, finished: bool) -> Result<()> {
        if !finished {
            self.0.start_kill()?;
        }
        let output = self.0.wait_with_output().await?;
        ensure!(
            !finished || output.status.success(),
            "pgbench failed: {}",
            stderr(&output)
        );
        Ok(())
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Transactions of a connection; the records must come out even.
fn transactions(job: &Job<'_>, connections: usize) -> Result<usize> {
    let records = usize::try_from(job.end())?;
    ensure!(
        records.is_multiple_of(BATCH * connections),
        "{records} records are not whole batches of {BATCH} on {connections} connections"
    );
    Ok(records / BATCH / connections)
}

/// What the tables must say afterwards.
pub(crate) fn totals(job: &Job<'_>, connections: usize) -> Result<Totals> {
    let count = i64::try_from(transactions(job, connections)? * connections)?;
    Ok(Totals {
        records: job.end(),
        rejected: 0,
        sum: count * (0..BATCH).map(amount).sum::<i64>(),
    })
}

/// The amount of a transaction's n-th update: 1 to 100,000, known without asking pgbench.
fn amount(n: usize) -> i64 {
    i64::try_from(n * 7_919 % 100_000).map_or(1, |amount| amount + 1)
}

/// Connections share no account, as partitions do not; else they would deadlock.
fn script(topic: &str, connections: usize) -> Result<String> {
    let each = ACCOUNTS / i64::try_from(connections)?;
    let claim = CLAIM.replace("{topic}", topic);
    let mut text = format!("\\startpipeline\nBEGIN;{claim}");
    for n in 0..BATCH {
        writeln!(
            text,
            "\\set account (random(1, {each}) - 1) * {connections} + :client_id + 1\n\\set amount {}",
            amount(n)
        )?;
        writeln!(
            text,
            "UPDATE accounts SET balance = balance + :amount WHERE id = :account;"
        )?;
    }
    writeln!(
        text,
        "UPDATE peer.progress SET next_offset = next_offset + {BATCH} WHERE partition = :client_id;"
    )?;
    writeln!(text, "COMMIT;\n\\endpipeline")?;
    Ok(text)
}

async fn spawn(db: &Db, file: &Path, connections: usize, transactions: usize) -> Result<Child> {
    let program = program(db).await?;
    let jobs = connections.min(2);
    Command::new(&program)
        .args(["-n", "-M", "prepared"])
        .arg(format!("-c{connections}"))
        .arg(format!("-j{jobs}"))
        .arg(format!("-t{transactions}"))
        .arg("-f")
        .arg(file)
        .arg(db.url())
        .env("PGOPTIONS", "-c plan_cache_mode=force_generic_plan")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| {
            format!(
                "cannot run {}: install it (Debian: postgresql)",
                program.display()
            )
        })
}

/// It is installed beside the server.
pub(crate) async fn program(db: &Db) -> Result<PathBuf> {
    let client = db.client().await;
    let row = client
        .query_one("SELECT setting FROM pg_config WHERE name = 'BINDIR'", &[])
        .await?;
    Ok(PathBuf::from(row.try_get::<_, String>(0)?).join("pgbench"))
}
