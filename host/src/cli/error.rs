//! Why a command failed, and its exit code.

use tidegate_core::failure::Failure;

use crate::app::AppError;
use crate::config::ConfigErrors;
use crate::dev::DevError;
use crate::inbox::InboxError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The configuration; one problem a line.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// What was asked for cannot be asked for.
    #[error("{0}")]
    Usage(String),
    /// The host ended.
    #[error(transparent)]
    App(#[from] AppError),
    /// The services of `dev`.
    #[error(transparent)]
    Dev(#[from] DevError),
    /// PostgreSQL.
    #[error(transparent)]
    Inbox(#[from] InboxError),
    /// Anything else, in full.
    #[error("{0}")]
    Failed(String),
}

impl CliError {
    /// 1 failed, 2 usage or configuration, 3 stopped by a stop verdict.
    pub fn exit_code(&self) -> u8 {
        match self {
            CliError::Config(_) | CliError::Usage(_) | CliError::App(AppError::Setup(_)) => 2,
            CliError::App(AppError::Stopped(_)) => 3,
            CliError::App(AppError::Failed(_))
            | CliError::Dev(_)
            | CliError::Inbox(_)
            | CliError::Failed(_) => 1,
        }
    }

    /// A failure with its causes, told in one line.
    pub(super) fn failed(error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text = format!("{text}: {cause_text}");
            }
            source = cause.source();
        }
        CliError::Failed(text)
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        CliError::Inbox(failure.into())
    }
}
