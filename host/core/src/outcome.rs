//! How a guest's call ended, and what becomes of its record.

use crate::limits::Limit;

/// What a record came to in the transaction that committed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The handler did its work.
    Done,
    /// The handler had nothing to do.
    Skipped,
    /// A dead letter was written.
    Rejected,
}

impl Outcome {
    /// The word in the inbox, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Skipped => "skipped",
            Outcome::Rejected => "rejected",
        }
    }
}

/// How a call into a guest ended. Whether the record's statements held is the transaction's to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEnd {
    /// The handler returned `done`.
    Done,
    /// The handler returned `skip`, with its reason.
    Skip(String),
    /// The handler returned `retry`.
    Retry {
        /// The handler's words.
        message: String,
        /// How long the handler asks to wait, in milliseconds.
        after_ms: Option<u32>,
    },
    /// The handler returned `reject`.
    Reject {
        /// The handler's code.
        code: String,
        /// The handler's words.
        message: String,
    },
    /// The guest trapped; the instance is unusable.
    Trap {
        /// Wasmtime's cause, with the guest's own frames.
        message: String,
    },
    /// The guest ran into a limit; the instance is unusable.
    Limit(Limit),
    /// The host ended the guest because the transaction had already failed (`CallError::Ended`).
    Unheard,
}
