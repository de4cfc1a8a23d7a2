//! Which of a tenant's statements have worked, shared by all its partitions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_core::witness::{Refusal, Schema, Statement, Witnesses};

/// A tenant's, or a consumer's.
#[derive(Debug, Default)]
pub struct Memory(Mutex<Witnesses>);

impl Memory {
    /// A record was committed for which the statement worked, in a transaction before which the schema was this.
    pub fn worked(&self, statement: Statement, schema: Schema) {
        self.witnesses().worked(statement, schema);
    }

    /// Whether a refusal is known to be its record's own fault, where the schema is this after it.
    pub fn refute(&self, refusal: Refusal, schema: Schema) -> bool {
        self.witnesses().refute(refusal, schema)
    }

    /// Another module is active, or what held this one back is mended.
    pub fn clear(&self) {
        self.witnesses().clear();
    }

    fn witnesses(&self) -> MutexGuard<'_, Witnesses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
