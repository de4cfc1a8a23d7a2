//! stdout for what was asked for, stderr for what went wrong. A reader who has seen enough is no failure.

use std::io::{ErrorKind, IsTerminal, Write};

use tidegate_core::text::for_terminal;

use super::CliError;
use crate::telemetry;

/// Writes `text` and a newline to stdout. A terminal is shown no character that could drive it or show one text as another;
/// whatever else reads gets the text as it is.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    let shown = match out.is_terminal() {
        true => for_terminal(text),
        false => text.into(),
    };
    match writeln!(out, "{shown}").and_then(|()| out.flush()) {
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
    telemetry::say(&for_terminal(&text));
}
