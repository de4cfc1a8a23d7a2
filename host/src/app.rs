//! Starts and stops the host.

use crate::config::Config;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Migrate the schema first.
    pub migrate: bool,
}

/// Why the host ended.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// A stop verdict.
    #[error("{0}")]
    Stopped(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// Runs the consumers until a signal.
///
/// # Errors
/// What ended the host.
pub async fn run(config: Config, options: RunOptions) -> Result<(), AppError> {
    let _ = (config, options);
    Err(AppError::Failed("not built yet".into()))
}
