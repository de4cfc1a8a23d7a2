//! `db`: the guest's statements, counted and bounded, handed to the transaction.

use tidegate_core::limits::GuestLimits;
use tidegate_core::outcome::GuestEnd;
use tidegate_core::sql::{self, CallError, GuestSql, ResultSet, SqlError};

use crate::engine::bindings::tidegate::handler::db::{self, Expectation, Host, Value};
use crate::engine::convert;
use crate::engine::ending::Stop;
use crate::engine::state::State;

type Answer<T> = wasmtime::Result<Result<T, db::SqlError>>;

impl<D: GuestSql> Host for State<D> {
    async fn query(&mut self, sql: String, params: Vec<Value>) -> Answer<db::ResultSet> {
        let params = match self.admit(&sql, params)? {
            Ok(params) => params,
            Err(refused) => return Ok(Err(refused.into())),
        };
        let answer = self.db.query(sql, params).await;
        let limits = &self.env.limits;
        to_guest(answer.and_then(|rows| bounded(rows, limits))).map(|a| a.map(Into::into))
    }

    async fn execute(&mut self, sql: String, params: Vec<Value>) -> Answer<u32> {
        let params = match self.admit(&sql, params)? {
            Ok(params) => params,
            Err(refused) => return Ok(Err(refused.into())),
        };
        let rows = to_guest(self.db.execute(sql, params).await)?;
        Ok(rows.map(|rows| u32::try_from(rows).unwrap_or(u32::MAX)))
    }

    async fn stage(
        &mut self,
        sql: String,
        params: Vec<Value>,
        expect: Expectation,
    ) -> wasmtime::Result<()> {
        // A staged statement has no answer to carry a refusal, so it ends the guest.
        let params = self.admit(&sql, params)?.map_err(|refused| {
            Stop(GuestEnd::Trap {
                message: format!("db.stage: {}", refused.message),
            })
        })?;
        match self.db.stage(sql, params, expect.into()).await {
            Ok(()) => Ok(()),
            Err(CallError::Ended) => Err(Stop(GuestEnd::Unheard).into()),
            Err(CallError::Sql(e)) => Err(Stop(GuestEnd::Trap {
                message: format!("db.stage: {}: {}", e.code, e.message),
            })
            .into()),
        }
    }
}

impl<D: GuestSql> State<D> {
    /// Counts a statement and checks its size; the outer error ends the guest, the inner one is its answer.
    fn admit(
        &mut self,
        sql: &str,
        params: Vec<Value>,
    ) -> wasmtime::Result<Result<Vec<sql::Value>, SqlError>> {
        self.count_statement()?;
        let params: Vec<sql::Value> = params.into_iter().map(Into::into).collect();
        let bytes = sql.len() + params.iter().map(convert::size).sum::<usize>();
        let limit = self.env.limits.parameter_bytes;
        if bytes > limit {
            return Ok(Err(limit_error(format!(
                "the statement and its parameters hold {bytes} bytes; the limit is {limit} (parameter_bytes)"
            ))));
        }
        Ok(Ok(params))
    }
}

fn bounded(rows: ResultSet, limits: &GuestLimits) -> Result<ResultSet, CallError> {
    let count = rows.rows.len();
    if count > limits.result_rows {
        let limit = limits.result_rows;
        return Err(CallError::Sql(limit_error(format!(
            "the result has {count} rows; the limit is {limit} (result_rows)"
        ))));
    }
    let bytes: usize = rows.rows.iter().flatten().map(convert::size).sum();
    if bytes > limits.result_bytes {
        let limit = limits.result_bytes;
        return Err(CallError::Sql(limit_error(format!(
            "the result holds {bytes} bytes; the limit is {limit} (result_bytes)"
        ))));
    }
    Ok(rows)
}

fn limit_error(message: String) -> SqlError {
    SqlError {
        code: "limit".into(),
        sqlstate: None,
        message,
        constraint: None,
    }
}

fn to_guest<T>(answer: Result<T, CallError>) -> Answer<T> {
    match answer {
        Ok(value) => Ok(Ok(value)),
        Err(CallError::Sql(error)) => Ok(Err(error.into())),
        Err(CallError::Ended) => Err(Stop(GuestEnd::Unheard).into()),
    }
}
