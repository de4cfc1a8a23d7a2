//! `dlt discard`: letters closed without a replay.

use std::io::{BufRead, IsTerminal, Write};

use super::super::{CliError, open, output};
use crate::config::Config;
use crate::inbox::LetterFilter;

/// Counts, asks unless told not to, and discards.
pub(super) async fn execute(
    config: &Config,
    filter: &LetterFilter,
    (yes, dry_run): (bool, bool),
) -> Result<(), CliError> {
    let inbox = open(config).await?;
    let letters = inbox.count_letters(filter).await?;
    if letters == 0 {
        return output::print("no open dead letters match; nothing to discard");
    }
    if dry_run {
        return output::print(&format!("{letters} open dead letters would be discarded"));
    }
    if !yes && !asked(letters)? {
        return output::print("nothing was discarded");
    }
    let discarded = inbox.discard(filter).await?;
    output::print(&format!("{discarded} dead letters discarded"))
}

/// Asks whoever sits at the terminal; a script has to say `--yes`.
fn asked(letters: i64) -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() {
        return Err(CliError::Usage(format!(
            "{letters} open dead letters would be discarded; say --yes where nobody can be asked"
        )));
    }
    let mut answer = String::new();
    let mut err = std::io::stderr();
    let said = write!(err, "Discard {letters} open dead letters? [y/N] ")
        .and_then(|()| err.flush())
        .and_then(|()| std::io::stdin().lock().read_line(&mut answer));
    said.map_err(|error| CliError::Failed(format!("cannot ask: {error}; say --yes")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
