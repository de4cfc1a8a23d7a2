//! pgbench's *set* shape on one connection: what PostgreSQL itself does in this time, with no Kafka in front of it.
//!
//! A transaction is one pipeline: one claim of 500 ids that the server makes up, 500 updates by primary key, the
//! progress row. Plans are generic from the start: a script has no loop, so its 500 updates are 500 prepared
//! statements, and each would be planned anew in its first five transactions.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use tidegate_tests::Db;
use tokio::process::{Child, Command};

use crate::clock::{Course, Run};
use crate::peer::Job;
use crate::workload::ACCOUNTS;
use crate::{BATCH, tables};

/// A pgbench script ends a statement at a semicolon; the digest's width is the host's.
const CLAIM: &str = r#"
INSERT INTO peer.processed_events (consumer_name, scope, event_id, processed_at, processed_until, topic, partition,
    "offset", outcome, module_digest)
  SELECT 'bench', '', id, now(), now() + interval '7 days', 'payments', 0, 0, 'done',
    '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea
  FROM (SELECT gen_random_uuid()::text COLLATE "C" AS id FROM generate_series(1, 500)) ids
  ORDER BY id ON CONFLICT DO NOTHING RETURNING event_id;
"#;

/// Runs as many transactions as hold the workload's number of records.
pub(crate) async fn run(job: &Job<'_>) -> Result<Run> {
    let db = &job.env.db;
    let file = job.env.dir().join("set.sql");
    tokio::fs::write(&file, script()?).await?;
    tables::settle(db).await;
    let mut child = start(db, &file, job.records / BATCH).await?;
    let course = Course {
        db,
        progress: "SELECT next_offset FROM peer.progress",
        end: i64::try_from(job.records)?,
    };
    let run = course.time(|| still_running(&mut child)).await;
    let output = end(child, run.is_ok()).await?;
    run.with_context(|| format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)))
}

/// What the balances must sum to after `records` updates.
pub(crate) fn total(records: usize) -> Result<i64> {
    let transactions = i64::try_from(records / BATCH)?;
    Ok(transactions * (0..BATCH).map(amount).sum::<i64>())
}

/// The amount of a transaction's n-th update: 1 to 100,000, known without asking pgbench.
fn amount(n: usize) -> i64 {
    i64::try_from(n * 7_919 % 100_000).map_or(1, |amount| amount + 1)
}

fn script() -> Result<String> {
    let mut text = format!("\\startpipeline\nBEGIN;{CLAIM}");
    for n in 0..BATCH {
        writeln!(
            text,
            "\\set account random(1, {ACCOUNTS})\n\\set amount {}",
            amount(n)
        )?;
        writeln!(
            text,
            "UPDATE accounts SET balance = balance + :amount WHERE id = :account;"
        )?;
    }
    writeln!(
        text,
        "UPDATE peer.progress SET next_offset = next_offset + {BATCH};"
    )?;
    writeln!(text, "COMMIT;\n\\endpipeline")?;
    Ok(text)
}

async fn start(db: &Db, file: &std::path::Path, transactions: usize) -> Result<Child> {
    let program = program(db).await?;
    Command::new(&program)
        .args(["-n", "-M", "prepared", "-c", "1", "-j", "1", "-t"])
        .arg(transactions.to_string())
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

fn still_running(child: &mut Child) -> Result<()> {
    match child.try_wait()? {
        Some(status) if !status.success() => anyhow::bail!("ended early: {status}"),
        _ => Ok(()),
    }
}

async fn end(mut child: Child, finished: bool) -> Result<Output> {
    if !finished {
        child.start_kill()?;
    }
    let output = child.wait_with_output().await?;
    ensure!(
        !finished || output.status.success(),
        "pgbench failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}
