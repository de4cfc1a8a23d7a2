//! How fast the disk says that data is safe: what a commit costs at least.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use tidegate_tests::Db;

use crate::report::Spread;

/// Syncs of one probe.
const SYNCS: usize = 100;

/// Commits of one probe.
const COMMITS: usize = 50;

/// The median time of an fdatasync after 8 KiB, in milliseconds, on the disk that holds `dir`.
pub(crate) async fn fdatasync_ms(dir: &Path) -> Result<f64> {
    let file = dir.join("fdatasync.probe");
    tokio::task::spawn_blocking(move || probe(&file)).await?
}

fn probe(path: &Path) -> Result<f64> {
    let mut file = File::create(path)?;
    let page = [b'x'; 8192];
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        file.rewind()?;
        file.write_all(&page)?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    std::fs::remove_file(path)?;
    Ok(Spread::of(times).median)
}

/// The median time of a commit that writes a few bytes to the write-ahead log, in milliseconds.
pub(crate) async fn commit_ms(db: &Db) -> Result<f64> {
    let client = db.client().await;
    let write = "SELECT pg_logical_emit_message(true, 'bench', 'commit')";
    let statement = client.prepare(write).await?;
    let mut times = Vec::with_capacity(COMMITS);
    for _ in 0..COMMITS {
        let began = Instant::now();
        client.query_one(&statement, &[]).await?;
        times.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(Spread::of(times).median)
}
