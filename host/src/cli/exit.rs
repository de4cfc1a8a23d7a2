//! Exit codes: what each says, and which error has which.

use crate::app::AppError;
use crate::inbox::InboxError;
use crate::kafka::KafkaError;

use super::CliError;

/// How a command ends, the graver the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// What was asked for is done.
    Fine,
    /// It failed; the same may succeed later.
    Failed,
    /// It could not begin: usage, configuration, or how the database is set up.
    Unusable,
    /// The host was stopped while a *stop* verdict held.
    Stopped,
}

/// What the process ends with, and what that means: the whole table, for README and `--help`.
pub const MEANINGS: [(u8, &str); 5] = [
    (0, "fine"),
    (
        1,
        "failed: a server cannot be reached or refuses, nothing was found, `check` found a problem that `run` would meet later",
    ),
    (
        2,
        "usage, configuration, or how the database is set up: `run` would not begin before somebody has put it right",
    ),
    (3, "stopped while a *stop* verdict held a partition"),
    (130, "ended at once, by a second signal"),
];

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Unusable => 2,
            Exit::Stopped => 3,
        }
    }

    /// How a command ends that failed with `error`.
    pub fn of(error: &CliError) -> Self {
        match error {
            CliError::Config(_) | CliError::Usage(_) => Exit::Unusable,
            CliError::App(error) => Self::of_app(error),
            CliError::Inbox(error) => Self::of_inbox(error),
            CliError::Kafka(error) => Self::of_kafka(error),
            CliError::Problems { exit, .. } => *exit,
            CliError::Dev(_) | CliError::Failed(_) => Exit::Failed,
        }
    }

    fn of_app(error: &AppError) -> Self {
        match error {
            AppError::Setup(_) => Exit::Unusable,
            AppError::Inbox(error) => Self::of_inbox(error),
            AppError::Failed(_) => Exit::Failed,
            AppError::Stopped(_) => Exit::Stopped,
        }
    }

    /// Waiting does not help where it is *unusable*.
    pub(super) fn of_inbox(error: &InboxError) -> Self {
        match error {
            InboxError::Url(_)
            | InboxError::Servers
            | InboxError::Tls(_)
            | InboxError::NoConnections
            | InboxError::NoAccess { .. }
            | InboxError::Unfit { .. }
            | InboxError::NoSuchLogin(_)
            | InboxError::NotMigrated(_)
            | InboxError::Newer { .. } => Exit::Unusable,
            InboxError::Unreachable(_)
            | InboxError::Refused { .. }
            | InboxError::Migration { .. } => Exit::Failed,
        }
    }

    /// A host that brokers do not let in goes on trying, so that is no more than a failure.
    pub(super) fn of_kafka(error: &KafkaError) -> Self {
        match error {
            KafkaError::Options { .. } | KafkaError::TopicName { .. } => Exit::Unusable,
            _ => Exit::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_code_once_and_readme_shows_it() {
        let readme = include_str!("../../../README.md");
        for (code, meaning) in MEANINGS {
            let row = format!("| {code} | {meaning} |");
            assert_eq!(readme.matches(&row).count(), 1, "{row}");
        }
        for exit in [Exit::Fine, Exit::Failed, Exit::Unusable, Exit::Stopped] {
            let rows = MEANINGS.iter().filter(|(code, _)| *code == exit.code());
            assert_eq!(rows.count(), 1, "{exit:?}");
        }
    }
}
