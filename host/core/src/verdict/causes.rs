//! The cause that a dead letter names: a short code and bounded words.

use super::Facts;
use crate::failure::{Failure, ServerWords};
use crate::letter::{Cause, CauseKind, TRAP};
use crate::sqlstate::SqlClass;
use crate::tenant::NotRunning;
use crate::text::bounded;

/// The most bytes of a cause's message.
pub const MAX_MESSAGE_BYTES: usize = 2048;
/// The most characters of a handler's own code.
pub const MAX_CODE_CHARS: usize = 64;

/// The cause of a record that stayed transient to the end of its retries.
pub fn exhausted(failure: &Failure, facts: Facts) -> Cause {
    Cause {
        kind: CauseKind::Retries,
        code: "retries-exhausted".to_owned(),
        ..cause(failure, facts)
    }
}

/// The cause that a dead letter would name for `failure`.
pub fn cause(failure: &Failure, facts: Facts) -> Cause {
    Cause {
        kind: kind(failure),
        code: code(failure),
        message: message(failure),
        server: server_words(failure),
        sqlstate: match failure {
            Failure::Sql { sqlstate, .. } => Some(bounded(sqlstate, 5)),
            Failure::Unreachable { .. }
            | Failure::CommitUnknown { .. }
            | Failure::UnexpectedRowCount { .. }
            | Failure::BadParameter { .. }
            | Failure::StatementRefused { .. }
            | Failure::RoleRefused { .. }
            | Failure::Retry { .. }
            | Failure::Reject { .. }
            | Failure::Trap { .. }
            | Failure::Limit(_)
            | Failure::NoTenant { .. }
            | Failure::Escape { .. } => None,
        },
        attempts: facts.attempts,
    }
}

fn server_words(failure: &Failure) -> Option<ServerWords> {
    if let Failure::Sql { message, .. } = failure {
        return Some(message.clone());
    }
    None
}

fn kind(failure: &Failure) -> CauseKind {
    match failure {
        Failure::Sql { .. } if failure.class() == Some(SqlClass::Escape) => CauseKind::Escape,
        Failure::Unreachable { .. }
        | Failure::CommitUnknown { .. }
        | Failure::Sql { .. }
        | Failure::UnexpectedRowCount { .. }
        | Failure::BadParameter { .. }
        | Failure::StatementRefused { .. }
        | Failure::RoleRefused { .. } => CauseKind::Database,
        Failure::Retry { .. } => CauseKind::Retries,
        Failure::Reject { .. } => CauseKind::Handler,
        Failure::Trap { .. } => CauseKind::Trap,
        Failure::Limit(limit) if limit.is_of_instance() => CauseKind::Trap,
        Failure::Limit(_) => CauseKind::Limit,
        Failure::NoTenant { .. } => CauseKind::Tenant,
        Failure::Escape { .. } => CauseKind::Escape,
    }
}

fn code(failure: &Failure) -> String {
    match failure {
        Failure::Unreachable { .. } => "unreachable".to_owned(),
        Failure::CommitUnknown { .. } => "commit-unknown".to_owned(),
        Failure::Sql { sqlstate, .. } => {
            if failure.class() == Some(SqlClass::Escape) {
                return "escape".to_owned();
            }
            format!("sql-{}", bounded(sqlstate, 5))
        }
        Failure::UnexpectedRowCount { .. } => "unexpected-row-count".to_owned(),
        Failure::BadParameter { .. } => "bad-parameter".to_owned(),
        Failure::StatementRefused { .. } => "sql-refused".to_owned(),
        Failure::RoleRefused { .. } => "role-refused".to_owned(),
        Failure::Retry { .. } => "retry".to_owned(),
        Failure::Reject { code, .. } => handlers_code(code),
        Failure::Trap { .. } => TRAP.to_owned(),
        Failure::Limit(limit) => limit.code().to_owned(),
        Failure::NoTenant { .. } => NotRunning::Unknown.code().to_owned(),
        Failure::Escape { .. } => "escape".to_owned(),
    }
}

/// A handler's code goes to headers and metrics: what is not a short plain word becomes `rejected`.
fn handlers_code(code: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let fits = (1..=MAX_CODE_CHARS).contains(&code.len());
    if fits && code.bytes().all(plain) {
        code.to_owned()
    } else {
        "rejected".to_owned()
    }
}

pub(super) fn message(failure: &Failure) -> String {
    let text = match failure {
        Failure::Sql { .. } => failure.to_string(),
        Failure::UnexpectedRowCount { expected, actual } => {
            format!("a staged statement touched {actual} rows; {expected} were expected")
        }
        Failure::Limit(limit) => limit.words().to_owned(),
        Failure::Unreachable { message }
        | Failure::CommitUnknown { message }
        | Failure::BadParameter { message }
        | Failure::StatementRefused { message }
        | Failure::RoleRefused { message }
        | Failure::Retry { message, .. }
        | Failure::Reject { message, .. }
        | Failure::Trap { message }
        | Failure::NoTenant { message }
        | Failure::Escape { message } => return bounded(message, MAX_MESSAGE_BYTES),
    };
    bounded(&text, MAX_MESSAGE_BYTES)
}
