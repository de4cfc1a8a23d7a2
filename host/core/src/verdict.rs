//! The verdict on a failure: what the host does about it.

mod causes;

use std::time::Duration;

use self::causes::message;
pub use self::causes::{MAX_CODE_CHARS, MAX_MESSAGE_BYTES, cause, exhausted};
use crate::failure::Failure;
use crate::letter::Cause;
use crate::limits::Limit;
use crate::sqlstate::{SqlClass, judge};
use crate::witness::Others;

/// What is known around a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// This record's calls so far that came to a failure of its own, this one included: from 1. Calls that
    /// ended in infrastructure, contention or another record's failure do not count.
    pub attempts: u32,
    /// The failure happened on a new connection with empty caches.
    pub fresh_connection: bool,
    /// Another, fresh connection works while this failure lasts.
    pub confirmed_healthy: bool,
    /// No record is to blame: the failure is the host's own statement's, or the connection's.
    pub of_nobody: bool,
    /// What other records say of the statement that was refused.
    pub others: Others,
}

/// What the host does about a failure, after it has rolled back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Waits for ever with backoff; no attempt counted, nothing dead-lettered.
    Infrastructure,
    /// Tries again at once with smaller batches, at a bounded pace; no attempt counted.
    Contention,
    /// Backs off and tries again, up to the retry policy; then the record is dead-lettered (`exhausted`).
    Transient {
        /// How long the handler asks to wait. Not bounded here: the policy's longest wait bounds it.
        after: Option<Duration>,
    },
    /// Tries once more on a new connection with empty caches.
    Reconnect,
    /// Tries once more, the record alone on a fresh instance.
    AgainFresh,
    /// The record is dead-lettered, the rest goes on.
    Permanent(Cause),
    /// The partition waits and tries again slowly; nothing is dead-lettered.
    Stop(String),
    /// The connection is discarded, the record dead-lettered, the module quarantined.
    Escape(Cause),
}

impl Verdict {
    /// Every word of [`Verdict::name`].
    pub const NAMES: [&str; 8] = [
        "infrastructure",
        "contention",
        "transient",
        "reconnect",
        "again-fresh",
        "permanent",
        "stop",
        "escape",
    ];

    /// The word in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Infrastructure => "infrastructure",
            Verdict::Contention => "contention",
            Verdict::Transient { .. } => "transient",
            Verdict::Reconnect => "reconnect",
            Verdict::AgainFresh => "again-fresh",
            Verdict::Permanent(_) => "permanent",
            Verdict::Stop(_) => "stop",
            Verdict::Escape(_) => "escape",
        }
    }
}

/// Decides on `failure`: first by what broke, then by the SQLSTATE, then by the handler's own word.
///
/// The host's own statements fail for nobody's record: constraints are immediate, so a record's faults show at its own
/// statements. What would be a record's to retry is waited for then, and what would reject it is a stop.
pub fn verdict(failure: &Failure, facts: Facts) -> Verdict {
    match (facts.of_nobody, of_record(failure, facts)) {
        (true, Verdict::Transient { .. }) => Verdict::Infrastructure,
        (true, Verdict::Permanent(cause)) => Verdict::Stop(cause.message),
        (_, verdict) => verdict,
    }
}

fn of_record(failure: &Failure, facts: Facts) -> Verdict {
    match failure {
        Failure::Unreachable { .. } | Failure::CommitUnknown { .. } => Verdict::Infrastructure,
        Failure::Sql {
            sqlstate, named, ..
        } => sql(judge(sqlstate, &named.origin), failure, facts),
        Failure::UnexpectedRowCount { .. }
        | Failure::BadParameter { .. }
        | Failure::StatementRefused { .. }
        | Failure::Reject { .. } => Verdict::Permanent(cause(failure, facts)),
        // Rights are read anew each time: no other connection is needed to see a GRANT.
        Failure::RoleRefused { .. } => Verdict::Stop(message(failure)),
        Failure::NoTenant { message } => Verdict::Stop(message.clone()),
        Failure::Retry { after_ms, .. } => Verdict::Transient {
            after: after_ms.map(|ms| Duration::from_millis(ms.into())),
        },
        Failure::Trap { .. } => again_fresh(failure, facts),
        // The database may only be slow.
        Failure::Limit(Limit::DatabaseWait) => Verdict::Transient { after: None },
        Failure::Limit(limit) if limit.is_of_instance() => again_fresh(failure, facts),
        Failure::Limit(_) => Verdict::Permanent(cause(failure, facts)),
        Failure::Escape { .. } => Verdict::Escape(cause(failure, facts)),
    }
}

fn sql(class: SqlClass, failure: &Failure, facts: Facts) -> Verdict {
    match class {
        // Anybody can say so: only a fresh connection's failing too proves the server ill.
        SqlClass::Doubtful if facts.confirmed_healthy => Verdict::Transient { after: None },
        SqlClass::Doubtful | SqlClass::Infrastructure => Verdict::Infrastructure,
        SqlClass::Contention => Verdict::Contention,
        SqlClass::Transient => Verdict::Transient { after: None },
        SqlClass::Stop | SqlClass::Damage if !facts.fresh_connection => Verdict::Reconnect,
        SqlClass::Stop if failure.is_of_a_value() => Verdict::Permanent(cause(failure, facts)),
        SqlClass::Stop => match facts.others {
            Others::Work => Verdict::Permanent(cause(&failure.clone().of_a_value(), facts)),
            Others::OneWorks => Verdict::Reconnect,
            Others::Unknown => Verdict::Stop(message(failure)),
        },
        SqlClass::Damage => Verdict::Stop(message(failure)),
        SqlClass::Escape => Verdict::Escape(cause(failure, facts)),
        SqlClass::Permanent => Verdict::Permanent(cause(failure, facts)),
    }
}

/// What a record's neighbours in the instance left behind may be to blame the first time.
fn again_fresh(failure: &Failure, facts: Facts) -> Verdict {
    if facts.attempts <= 1 {
        Verdict::AgainFresh
    } else {
        Verdict::Permanent(cause(failure, facts))
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod words;
