//! `db`: the guest's statements, counted and bounded, handed to the transaction.

use tidegate_core::limits::Limit;
use tidegate_core::outcome::GuestEnd;
use tidegate_core::sql::{self, CallError, GuestSql, ResultSet, SqlError};

use crate::engine::bindings::tidegate::handler::db::{self, Expectation, Host, Value};
use crate::engine::ending::Stop;
use crate::engine::state::{State, stop};

type Answer<T> = wasmtime::Result<Result<T, db::SqlError>>;

impl<D: GuestSql> Host for State<D> {
    async fn query(&mut self, sql: String, params: Vec<Value>) -> Answer<db::ResultSet> {
        let params = match self.admit(&sql, params)? {
            Ok(params) => params,
            Err(refused) => return Ok(Err(refused.into())),
        };
        let answer = self.db.query(sql, params).await;
        let answer = answer.and_then(|rows| self.bounded(rows));
        to_guest(answer).map(|a| a.map(Into::into))
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
        self.budget.statement(&self.env.limits).map_err(stop)?;
        let params: Vec<sql::Value> = params.into_iter().map(Into::into).collect();
        let limits = &self.env.limits;
        self.budget.send(&sql, &params, limits).map_err(stop)?;
        self.budget.stage(&sql, &params, limits).map_err(stop)?;
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
        self.budget.statement(&self.env.limits).map_err(stop)?;
        let params: Vec<sql::Value> = params.into_iter().map(Into::into).collect();
        let sent = self.budget.send(sql, &params, &self.env.limits);
        Ok(match sent {
            Ok(()) => Ok(params),
            Err(limit) => Err(self.refuse(limit)),
        })
    }

    fn bounded(&mut self, rows: ResultSet) -> Result<ResultSet, CallError> {
        match self.budget.get(&rows, &self.env.limits) {
            Ok(()) => Ok(rows),
            Err(limit) => Err(CallError::Sql(self.refuse(limit))),
        }
    }

    /// Tells the guest, and the transaction: a guest that does not mind must not commit what it did without.
    fn refuse(&mut self, limit: Limit) -> SqlError {
        self.db.refuse(limit);
        limit_error(limit.words().to_owned())
    }
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
