//! What can go wrong with an attempt at a batch. The verdict on it is decided in one place.

mod refusal;

use crate::limits::Limit;
use crate::sqlstate::{SqlClass, judge};
use crate::witness::{Refusal, Statement};

pub(crate) use refusal::condition;
pub use refusal::{Named, ServerWords};

/// Why an attempt did not commit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No connection could be had, or the connection died, before COMMIT was sent.
    #[error("the database cannot be reached: {message}")]
    Unreachable {
        /// The driver's words.
        message: String,
    },
    /// The connection died after COMMIT was sent: whether it landed is the fence's to find out.
    #[error("the connection died at COMMIT: {message}")]
    CommitUnknown {
        /// The driver's words.
        message: String,
    },
    /// The server refused a statement, on a connection that lives. Displayed, it is a line that holds no values.
    #[error("{}", refusal::line(.sqlstate, .named, .constraint.as_deref(), .message))]
    Sql {
        /// The SQLSTATE.
        sqlstate: String,
        /// The server's message, without its DETAIL.
        message: ServerWords,
        /// The constraint named by the server.
        constraint: Option<String>,
        /// What else it named.
        named: Box<Named>,
    },
    /// A staged statement touched another number of rows than its guest expected.
    #[error("a staged statement touched {actual} rows; {expected} were expected")]
    UnexpectedRowCount {
        /// The guest's expectation, in words.
        expected: String,
        /// Rows touched.
        actual: u64,
    },
    /// A parameter does not fit the type that the server inferred for it.
    #[error("{message}")]
    BadParameter {
        /// Parameter, given and wanted type.
        message: String,
    },
    /// The allow-list refused a statement.
    #[error("{message}")]
    StatementRefused {
        /// The reason and the place.
        message: String,
    },
    /// The role that a guest's statements are to run under cannot be taken.
    #[error("{message}")]
    RoleRefused {
        /// The role, the login and the remedy.
        message: String,
    },
    /// The handler asked for a retry.
    #[error("the handler asked for a retry: {message}")]
    Retry {
        /// The handler's words.
        message: String,
        /// How long the handler asks to wait, in milliseconds.
        after_ms: Option<u32>,
    },
    /// The handler rejected the record.
    #[error("the handler rejected the record ({code}): {message}")]
    Reject {
        /// The handler's code.
        code: String,
        /// The handler's words.
        message: String,
    },
    /// The guest trapped.
    #[error("the guest trapped: {message}")]
    Trap {
        /// Wasmtime's cause.
        message: String,
    },
    /// The guest ran into a limit.
    #[error("the guest ran into a limit: {}", .0.code())]
    Limit(Limit),
    /// The record's tenant cannot run, and the configuration has its partition wait for it.
    #[error("{message}")]
    NoTenant {
        /// Which, why, and the remedy.
        message: String,
    },
    /// The transaction is not the one that was begun: the guest ended it.
    #[error("the guest left its transaction: {message}")]
    Escape {
        /// How it showed.
        message: String,
    },
}

/// A failure, and the earliest record known to have caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The breaker's offset; none when the failure belongs to no record (connection, contention at COMMIT).
    pub offset: Option<i64>,
    /// What happened.
    pub failure: Failure,
}

impl Failure {
    /// Whether the server refused a value with a code that else means a bad statement. Only on a connection with empty
    /// caches: elsewhere the statement may have been read before something was dropped.
    pub fn is_of_a_value(&self) -> bool {
        matches!(self, Failure::Sql { sqlstate, named, .. } if refusal::is_of_a_value(sqlstate, named))
    }

    /// The kind of a server error, by its code and by whose word that is; none of anything else.
    pub fn class(&self) -> Option<SqlClass> {
        if let Failure::Sql {
            sqlstate, named, ..
        } = self
        {
            return Some(judge(sqlstate, &named.origin));
        }
        None
    }

    /// The same failure, of a statement that had been read.
    #[must_use]
    pub fn while_running(mut self) -> Self {
        if let Failure::Sql { named, .. } = &mut self {
            named.running = true;
        }
        self
    }

    /// The same failure, of this statement of a handler's.
    #[must_use]
    pub fn of(mut self, statement: Option<Statement>) -> Self {
        if let Failure::Sql { named, .. } = &mut self {
            named.statement = statement;
        }
        self
    }

    /// The same failure, of a value: other records send the same statement, and it works.
    #[must_use]
    pub fn of_a_value(mut self) -> Self {
        if let Failure::Sql { named, .. } = &mut self {
            named.of_a_value = true;
        }
        self
    }
}

impl Broken {
    /// Whether somebody spoke of the server who may not know, on a connection that lives: it is believed only where a fresh
    /// connection fails too.
    pub fn is_doubtful(&self) -> bool {
        self.failure.class() == Some(SqlClass::Doubtful)
    }

    /// The statement that stops its record, where that may be the record's own fault: then it works for others.
    pub fn in_question(&self) -> Option<Refusal> {
        let Failure::Sql { named, .. } = &self.failure else {
            return None;
        };
        let stops = self.failure.class() == Some(SqlClass::Stop) && !self.failure.is_of_a_value();
        let statement = named.statement.filter(|_| stops && self.offset.is_some())?;
        Some(Refusal {
            statement,
            running: named.running,
        })
    }
}

impl From<Failure> for Broken {
    /// A failure that belongs to no record.
    fn from(failure: Failure) -> Self {
        Self {
            offset: None,
            failure,
        }
    }
}
