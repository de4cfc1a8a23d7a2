//! What goes wrong with PostgreSQL, in words that hold neither passwords nor values of rows.

use tidegate_core::failure::Failure;
use tidegate_core::text::bounded;

use super::refused::Refused;
use super::unfit::Unfit;
use crate::config::UrlError;

/// Why the database could not be used, outside of a batch.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// The URL cannot be read. Its text is a secret and stays out.
    #[error("postgres.url {0}")]
    Url(#[from] UrlError),
    /// The URL's lists do not fit.
    #[error(
        "postgres.url names hosts, addresses and ports of different number: give each host its own, or one port"
    )]
    Servers,
    /// TLS with the server cannot be had as the URL asks for it. Waiting does not help.
    #[error("{0}")]
    Tls(String),
    /// `max_connections` is zero.
    #[error("postgres.max_connections is 0: at least 1 connection is needed")]
    NoConnections,
    /// A connection could not be had or died.
    #[error("PostgreSQL cannot be used: {0}")]
    Unreachable(String),
    /// The server refused a statement.
    #[error("PostgreSQL refused: {message}")]
    Refused {
        /// The SQLSTATE.
        sqlstate: String,
        /// What it refused, in a line that holds no values.
        message: String,
    },
    /// This user may not connect, or there is no such database. Waiting does not help.
    #[error("PostgreSQL refused: {message}")]
    NoAccess {
        /// The SQLSTATE.
        sqlstate: String,
        /// Who cannot connect, and what to look at.
        message: String,
    },
    /// The database is none that the host can work with as it is set up. Waiting does not help.
    #[error("{place}: {unfit}")]
    Unfit {
        /// Host, port and database.
        place: String,
        /// What is wrong with it, with the remedy.
        unfit: Unfit,
    },
    /// There is no such login.
    #[error("there is no role {0:?} on the server: name the login that the host runs under")]
    NoSuchLogin(String),
    /// The schema has not been created, or is older than this binary.
    #[error("the schema \"tidegate\" in {0} is not migrated: run `tidegate migrate`")]
    NotMigrated(String),
    /// The schema is newer than this binary.
    #[error(
        "the schema \"tidegate\" in {place} has version {found}, newer than this binary ({known}): upgrade tidegate"
    )]
    Newer {
        /// Host, port and database.
        place: String,
        /// The version found.
        found: i32,
        /// The newest version this binary knows.
        known: i32,
    },
    /// A migration failed; none of it was kept.
    #[error("migrating the schema \"tidegate\" in {place} failed: {message}")]
    Migration {
        /// Host, port and database.
        place: String,
        /// What failed.
        message: String,
    },
}

impl From<Failure> for InboxError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Sql { ref sqlstate, .. } => InboxError::Refused {
                sqlstate: sqlstate.clone(),
                message: failure.to_string(),
            },
            Failure::Unreachable { message } | Failure::CommitUnknown { message } => {
                InboxError::Unreachable(message)
            }
            other => InboxError::Unreachable(format!("{other:?}")),
        }
    }
}

impl From<InboxError> for Failure {
    fn from(error: InboxError) -> Self {
        match error {
            InboxError::Refused { sqlstate, message }
            | InboxError::NoAccess { sqlstate, message } => Failure::Sql {
                sqlstate,
                message: message.into(),
                constraint: None,
                named: Box::default(),
            },
            InboxError::Unreachable(message) => Failure::Unreachable { message },
            other => Failure::Unreachable {
                message: other.to_string(),
            },
        }
    }
}

/// The most bytes of a server's message that are kept.
pub(crate) const MESSAGE_BYTES: usize = 1024;

/// A driver's error as a failure.
pub(crate) fn failure_of(error: &tokio_postgres::Error) -> Failure {
    match error.as_db_error() {
        Some(db) => Refused::from(db).into(),
        None => unreachable(chain(error)),
    }
}

/// What a failed `BEGIN … READ WRITE` means. A standby cannot begin one, and says so with a code that elsewhere means
/// a stale plan: the primary, or this server's promotion, is to be waited for.
pub(crate) fn no_standby(failure: Failure) -> Failure {
    match failure {
        Failure::Sql { ref sqlstate, .. } if matches!(sqlstate.as_str(), "0A000" | "25006") => {
            unreachable(format!(
                "the server takes no writes now, as a standby does: {failure}"
            ))
        }
        failure => failure,
    }
}

/// A wait that came to its deadline: the connection is as good as dead.
pub(crate) fn overdue(what: &str, waited: std::time::Duration) -> Failure {
    unreachable(format!("{what}: no answer within {} s", waited.as_secs()))
}

pub(crate) fn unreachable(message: String) -> Failure {
    Failure::Unreachable { message }
}

/// An error and its causes, without saying anything twice.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    bounded(&text, MESSAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standby_is_waited_for() {
        let sql = |sqlstate: &str| Failure::Sql {
            sqlstate: sqlstate.into(),
            message: "cannot set transaction read-write mode during recovery".into(),
            constraint: None,
            named: Box::default(),
        };
        for sqlstate in ["0A000", "25006"] {
            assert!(matches!(
                no_standby(sql(sqlstate)),
                Failure::Unreachable { .. }
            ));
        }
        assert_eq!(no_standby(sql("42P01")), sql("42P01"));
    }
}
