//! Servers with other settings, started when first needed.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tidegate_tests::{Server, ServerSpec, TestEnv};

use crate::site::ServerKind;

/// Starts a server of this kind; none for the run's own, which runs already.
pub(super) async fn start(kind: ServerKind, env: &TestEnv) -> Result<Option<Server>> {
    let spec = match kind {
        ServerKind::Main => return Ok(None),
        ServerKind::CommitTimes => ServerSpec {
            name: "commit-times".to_owned(),
            settings: vec!["track_commit_timestamp=on".to_owned()],
            ..ServerSpec::default()
        },
        ServerKind::SlowFlush => ServerSpec {
            name: "slow-flush".to_owned(),
            env: vec![("LD_PRELOAD".to_owned(), library(env.dir())?)],
            ..ServerSpec::default()
        },
    };
    Ok(Some(Server::start(spec).await))
}

/// Compiles `slow_flush.c`, to a place that the server's user may read too.
fn library(dir: &Path) -> Result<String> {
    let file = dir.with_file_name("slow_flush.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("slow_flush.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .args([&file, &source])
        .arg("-ldl")
        .output()
        .context("cannot run cc: install a C compiler (Debian: gcc)")?;
    ensure!(
        compiled.status.success(),
        "cc failed on {}: {}",
        source.display(),
        String::from_utf8_lossy(&compiled.stderr)
    );
    Ok(file.to_string_lossy().into_owned())
}
