//! What a guest's statements exchange with the database, and the port the engine calls through.

use std::future::Future;

use crate::limits::Limit;

/// A value on its way to or from the database. Dates and times are ISO 8601 text, as PostgreSQL prints
/// them under `DateStyle = ISO, YMD`; `timestamptz` is in UTC.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL of whatever type.
    Null,
    /// `boolean`.
    Boolean(bool),
    /// `smallint`, `integer` and `bigint`.
    Int64(i64),
    /// `real` and `double precision`.
    Float64(f64),
    /// `numeric`, its digits as written.
    Numeric(String),
    /// `text`, `varchar`, `char`, `name`, enums and domains over them.
    Text(String),
    /// `bytea`.
    Bytes(Vec<u8>),
    /// `uuid`.
    Uuid(String),
    /// `json` and `jsonb`.
    Json(String),
    /// `date`.
    Date(String),
    /// `time`, to the microsecond.
    Time(String),
    /// `timestamp`, to the microsecond.
    Timestamp(String),
    /// `timestamptz`, to the microsecond, in UTC.
    Timestamptz(String),
    /// `bigint[]` of one dimension.
    Int64Array(Vec<Option<i64>>),
    /// `text[]` of one dimension.
    TextArray(Vec<Option<String>>),
    /// Anything else: the type's name and PostgreSQL's text for the value.
    Other {
        /// The type's name.
        type_name: String,
        /// The value's text.
        text: String,
    },
}

/// A result's column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name.
    pub name: String,
    /// The type's name.
    pub type_name: String,
}

/// What a query returned.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultSet {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with one value a column.
    pub rows: Vec<Vec<Value>>,
}

/// A statement's error as the guest sees it. It never carries values of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// One of `refused`, `bad-parameter`, `constraint`, `data`, `limit`, `conflict`, `other`.
    pub code: String,
    /// The server's SQLSTATE, where the server spoke.
    pub sqlstate: Option<String>,
    /// What went wrong.
    pub message: String,
    /// The constraint that was violated.
    pub constraint: Option<String>,
}

/// How many rows a staged statement must touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Any number.
    Any,
    /// Exactly so many.
    Exactly(u32),
    /// So many or more.
    AtLeast(u32),
}

impl Expectation {
    /// Whether `rows` is what was expected.
    pub fn holds(self, rows: u64) -> bool {
        match self {
            Expectation::Any => true,
            Expectation::Exactly(n) => rows == u64::from(n),
            Expectation::AtLeast(n) => rows >= u64::from(n),
        }
    }
}

impl std::fmt::Display for Expectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expectation::Any => f.write_str("any number of rows"),
            Expectation::Exactly(n) => write!(f, "exactly {n} rows"),
            Expectation::AtLeast(n) => write!(f, "at least {n} rows"),
        }
    }
}

/// Why a host function gives the guest no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The guest is told.
    Sql(SqlError),
    /// The guest is ended unheard: an earlier record's staged statement has failed, or the transaction is
    /// gone. The transaction knows the cause.
    Ended,
}

/// The running transaction, as the engine sees it: the only way a guest reaches the database.
pub trait GuestSql: Send + 'static {
    /// Runs a statement and returns its rows. Everything staged before it has run first.
    fn query(
        &mut self,
        sql: String,
        params: Vec<Value>,
    ) -> impl Future<Output = Result<ResultSet, CallError>> + Send;

    /// Runs a statement and returns the number of rows it touched.
    fn execute(
        &mut self,
        sql: String,
        params: Vec<Value>,
    ) -> impl Future<Output = Result<u64, CallError>> + Send;

    /// Sends a statement and does not wait for it; its result is checked before the commit. Waits only
    /// while the window of unanswered statements is full. `Err` ends the guest unheard.
    fn stage(
        &mut self,
        sql: String,
        params: Vec<Value>,
        expect: Expectation,
    ) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Notes that the engine refused a call of the running guest for a limit, before or after the transaction saw
    /// it. The record is tainted: whatever its guest returns, nothing of it commits.
    fn refuse(&mut self, _limit: Limit) {}
}

impl<T: GuestSql> GuestSql for Box<T> {
    fn query(
        &mut self,
        sql: String,
        params: Vec<Value>,
    ) -> impl Future<Output = Result<ResultSet, CallError>> + Send {
        (**self).query(sql, params)
    }

    fn execute(
        &mut self,
        sql: String,
        params: Vec<Value>,
    ) -> impl Future<Output = Result<u64, CallError>> + Send {
        (**self).execute(sql, params)
    }

    fn stage(
        &mut self,
        sql: String,
        params: Vec<Value>,
        expect: Expectation,
    ) -> impl Future<Output = Result<(), CallError>> + Send {
        (**self).stage(sql, params, expect)
    }

    fn refuse(&mut self, limit: Limit) {
        (**self).refuse(limit);
    }
}
