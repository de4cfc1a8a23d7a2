//! stdout for what was asked for, stderr for what went wrong. A reader who has seen enough is no failure.

use std::io::{ErrorKind, Write};

use super::CliError;
use crate::telemetry;

/// Writes `text` and a newline to stdout.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::Failed(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says on stderr why a command failed. Where stderr is gone, the exit code has to do.
pub(super) fn complain(error: &CliError) {
    let text = match error {
        CliError::Config(errors) => errors.to_string(),
        other => format!("tidegate: {other}"),
    };
    telemetry::say(&text);
}
