//! Constraints that wait for the end of a record: deferred before its first statement that may fire them, immediate again
//! behind its last, so that the record itself is refused and nobody behind it.
//!
//! By name: the seal stays armed. Both commands are sent ahead with what is staged, under the guest's role, whose word the
//! rows are; a handler that writes to no such table costs nothing.

use std::sync::Arc;

use tidegate_core::sql::CallError;

use super::Transaction;
use super::ledger::What;
use crate::inbox::error::unreachable;

impl Transaction {
    /// Lets these constraints, a list in SQL, wait for the end of the current record, unless they do already.
    pub(super) fn defer(&mut self, list: Option<Arc<str>>) -> Result<(), CallError> {
        let Some(list) = list.filter(|list| !self.deferred.contains(list)) else {
            return Ok(());
        };
        let command = format!("SET CONSTRAINTS {list} DEFERRED");
        self.deferred.push(list);
        self.own(&command, What::Host)
            .map_err(|why| self.connection_lost(unreachable(why)))
    }

    /// The current record has sent its last statement: has checked what waits. A refusal is the record's.
    pub(super) fn end_record(&mut self) -> Result<(), String> {
        for list in std::mem::take(&mut self.deferred) {
            let command = format!("SET CONSTRAINTS {list} IMMEDIATE");
            self.own(&command, What::Host)?;
        }
        Ok(())
    }
}
