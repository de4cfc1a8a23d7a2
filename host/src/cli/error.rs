//! Why a command failed, and its exit code.

use tidegate_core::failure::Failure;

use crate::app::AppError;
use crate::config::ConfigErrors;
use crate::dev::DevError;
use crate::inbox::InboxError;
use crate::kafka::KafkaError;

use super::exit::Exit;

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
    /// Kafka.
    #[error(transparent)]
    Kafka(#[from] KafkaError),
    /// What `check` found; the findings have been printed.
    #[error("{number} problem{}", if *.number == 1 { "" } else { "s" })]
    Problems {
        /// How many.
        number: usize,
        /// That of the gravest.
        exit: Exit,
    },
    /// Anything else, in full.
    #[error("{0}")]
    Failed(String),
}

impl CliError {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        Exit::of(self).code()
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        CliError::Inbox(failure.into())
    }
}
