//! Between the contract's types and ours, by move.

use tidegate_core::outcome::GuestEnd;
use tidegate_core::sql::{Column, Expectation, ResultSet, SqlError, Value};

use super::bindings::exports::tidegate::handler::message_handler::{Failure, Outcome};
use super::bindings::tidegate::handler::db;
use super::ending::storable;

/// Bytes kept of a guest's message.
const MAX_MESSAGE: usize = 4 << 10;
/// Bytes kept of a guest's code.
const MAX_CODE: usize = 128;

impl From<db::Value> for Value {
    fn from(value: db::Value) -> Self {
        match value {
            db::Value::Null => Value::Null,
            db::Value::Boolean(v) => Value::Boolean(v),
            db::Value::Int64(v) => Value::Int64(v),
            db::Value::Float64(v) => Value::Float64(v),
            db::Value::Numeric(v) => Value::Numeric(v),
            db::Value::Text(v) => Value::Text(v),
            db::Value::Bytes(v) => Value::Bytes(v),
            db::Value::Uuid(v) => Value::Uuid(v),
            db::Value::Json(v) => Value::Json(v),
            db::Value::Date(v) => Value::Date(v),
            db::Value::Time(v) => Value::Time(v),
            db::Value::Timestamp(v) => Value::Timestamp(v),
            db::Value::Timestamptz(v) => Value::Timestamptz(v),
            db::Value::Int64Array(v) => Value::Int64Array(v),
            db::Value::TextArray(v) => Value::TextArray(v),
            db::Value::Other(db::TypedText { type_name, text }) => Value::Other { type_name, text },
        }
    }
}

impl From<Value> for db::Value {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => db::Value::Null,
            Value::Boolean(v) => db::Value::Boolean(v),
            Value::Int64(v) => db::Value::Int64(v),
            Value::Float64(v) => db::Value::Float64(v),
            Value::Numeric(v) => db::Value::Numeric(v),
            Value::Text(v) => db::Value::Text(v),
            Value::Bytes(v) => db::Value::Bytes(v),
            Value::Uuid(v) => db::Value::Uuid(v),
            Value::Json(v) => db::Value::Json(v),
            Value::Date(v) => db::Value::Date(v),
            Value::Time(v) => db::Value::Time(v),
            Value::Timestamp(v) => db::Value::Timestamp(v),
            Value::Timestamptz(v) => db::Value::Timestamptz(v),
            Value::Int64Array(v) => db::Value::Int64Array(v),
            Value::TextArray(v) => db::Value::TextArray(v),
            Value::Other { type_name, text } => db::Value::Other(db::TypedText { type_name, text }),
        }
    }
}

impl From<ResultSet> for db::ResultSet {
    fn from(set: ResultSet) -> Self {
        let row = |row: Vec<Value>| row.into_iter().map(Into::into).collect();
        Self {
            columns: set.columns.into_iter().map(Into::into).collect(),
            rows: set.rows.into_iter().map(row).collect(),
        }
    }
}

impl From<Column> for db::Column {
    fn from(Column { name, type_name }: Column) -> Self {
        Self { name, type_name }
    }
}

impl From<SqlError> for db::SqlError {
    fn from(error: SqlError) -> Self {
        Self {
            code: error.code,
            sqlstate: error.sqlstate,
            message: error.message,
            constraint: error.constraint,
        }
    }
}

impl From<db::Expectation> for Expectation {
    fn from(expect: db::Expectation) -> Self {
        match expect {
            db::Expectation::Any => Expectation::Any,
            db::Expectation::Exactly(n) => Expectation::Exactly(n),
            db::Expectation::AtLeast(n) => Expectation::AtLeast(n),
        }
    }
}

/// How a call that returned has ended.
pub(super) fn end(returned: Result<Outcome, Failure>) -> GuestEnd {
    match returned {
        Ok(Outcome::Done) => GuestEnd::Done,
        Ok(Outcome::Skip(reason)) => GuestEnd::Skip(storable(reason, MAX_MESSAGE)),
        Err(Failure::Retry(retry)) => GuestEnd::Retry {
            message: storable(retry.message, MAX_MESSAGE),
            after_ms: retry.after_ms,
        },
        Err(Failure::Reject(rejection)) => GuestEnd::Reject {
            code: storable(rejection.code, MAX_CODE),
            message: storable(rejection.message, MAX_MESSAGE),
        },
    }
}
