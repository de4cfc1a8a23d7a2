//! What a refused statement means: for the guest, and for its record.

use tidegate_core::failure::Failure;
use tidegate_core::sql::{CallError, SqlError};

use super::Transaction;

impl Transaction {
    /// The server refused an awaited statement. The guest is told, unless an earlier statement is the cause or the
    /// transaction is gone; the record is tainted in any case.
    pub(super) async fn server_refused(&mut self, failure: Failure) -> CallError {
        self.drain_window().await;
        if !matches!(failure, Failure::Sql { .. }) {
            return self.connection_lost(failure);
        }
        let known = self.ledger.failure().is_some();
        self.ledger.refused(self.current, failure.clone());
        self.probe().await;
        match (known, self.ledger.failure().map(|b| &b.failure), failure) {
            (
                false,
                Some(Failure::Sql { .. }),
                Failure::Sql {
                    sqlstate,
                    message,
                    constraint,
                    named: _,
                },
            ) => CallError::Sql(SqlError {
                code: code(&sqlstate).to_owned(),
                sqlstate: Some(sqlstate),
                // To the guest whose statement it was, all of it.
                message: message.as_str().to_owned(),
                constraint,
            }),
            _ => CallError::Ended,
        }
    }

    /// The host refuses what the server has answered. The record is tainted as if the server had spoken.
    pub(super) async fn host_refused(
        &mut self,
        code: &str,
        failure: Failure,
        message: String,
    ) -> CallError {
        self.drain_window().await;
        if self.ledger.failure().is_some() {
            return CallError::Ended;
        }
        self.fail(failure);
        told(code, message)
    }

    pub(super) fn connection_lost(&mut self, failure: Failure) -> CallError {
        self.lost(failure);
        CallError::Ended
    }

    /// Notes that the connection is of no use any more: nobody's fault, unless a guest made the server copy.
    pub(super) fn lost(&mut self, failure: Failure) {
        match self.held.pipeline.copies() {
            true => self.ledger.strayed(self.ledger.only_offset(), "COPY"),
            false => self.ledger.lost(failure),
        }
    }
}

pub(super) fn told(code: &str, message: String) -> CallError {
    CallError::Sql(SqlError {
        code: code.to_owned(),
        sqlstate: None,
        message,
        constraint: None,
    })
}

/// The guest's word for a SQLSTATE.
fn code(sqlstate: &str) -> &'static str {
    match sqlstate {
        "40001" | "40P01" | "55P03" => "conflict",
        "57014" => "limit",
        _ => match sqlstate.get(..2) {
            Some("23") => "constraint",
            Some("21" | "22" | "44") => "data",
            Some("54") => "limit",
            _ => "other",
        },
    }
}
