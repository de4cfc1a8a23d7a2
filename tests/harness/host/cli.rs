//! The binary run as a command, to its end.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::artifacts;

const DEADLINE: Duration = Duration::from_secs(60);

/// What a command left behind.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code; -1 if a signal ended it.
    pub code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Runs the binary in `dir`; panics when it does not end in 60 s (it is killed then).
pub(crate) async fn run_cli(dir: &Path, args: &[&str]) -> Output {
    let child = Command::new(artifacts::tidegate_bin().await)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(DEADLINE, child).await {
        Ok(Ok(output)) => output,
        Ok(Err(e)) => panic!("cannot run tidegate {args:?}: {e}"),
        Err(_) => panic!("tidegate {args:?} did not end in {DEADLINE:?}"),
    };
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
