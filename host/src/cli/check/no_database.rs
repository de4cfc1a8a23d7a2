//! The port to the database for guests that are loaded and never called.

use tidegate_core::sql::{CallError, Expectation, GuestSql, ResultSet, Value};

/// Refuses every statement.
pub(super) struct NoDatabase;

impl GuestSql for NoDatabase {
    async fn query(&mut self, _sql: String, _params: Vec<Value>) -> Result<ResultSet, CallError> {
        Err(CallError::Ended)
    }

    async fn execute(&mut self, _sql: String, _params: Vec<Value>) -> Result<u64, CallError> {
        Err(CallError::Ended)
    }

    async fn stage(
        &mut self,
        _sql: String,
        _params: Vec<Value>,
        _expect: Expectation,
    ) -> Result<(), CallError> {
        Err(CallError::Ended)
    }
}
