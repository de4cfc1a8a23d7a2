//! A guest's statements: the wall, preparation, parameters, and what its errors mean for its record.

use std::sync::Arc;

use tidegate_core::failure::{Failure, Named};
use tidegate_core::limits::Limit;
use tidegate_core::sql::{CallError, Expectation, GuestSql, ResultSet, Value};
use tidegate_core::witness::Statement;
use tidegate_wall::Admitted;
use tokio_postgres::Statement as Plan;

use super::Transaction;
use super::ledger::{Staged, What};
use super::refusal::told;
use super::rows::{self, RowsError};
use crate::inbox::error::{failure_of, unreachable};
use crate::inbox::statements::Prepared;
use crate::inbox::value::param::Param;
use crate::inbox::value::to_sql::encode_all;

impl GuestSql for Transaction {
    async fn query(&mut self, sql: String, params: Vec<Value>) -> Result<ResultSet, CallError> {
        self.open_call()?;
        let answer = Box::pin(self.run_query(sql, params)).await;
        self.in_call = false;
        answer
    }

    async fn execute(&mut self, sql: String, params: Vec<Value>) -> Result<u64, CallError> {
        self.open_call()?;
        let answer = Box::pin(self.run_execute(sql, params)).await;
        self.in_call = false;
        answer
    }

    async fn stage(
        &mut self,
        sql: String,
        params: Vec<Value>,
        expect: Expectation,
    ) -> Result<(), CallError> {
        self.open_call()?;
        let answer = Box::pin(self.run_stage(sql, params, expect)).await;
        self.in_call = false;
        answer.map_err(|_| CallError::Ended)
    }

    fn refuse(&mut self, limit: Limit) {
        self.calls = self.calls.saturating_add(1);
        self.fail(Failure::Limit(limit));
    }
}

impl Transaction {
    /// Counts the call, and ends the guest where the transaction has failed or an earlier call was abandoned.
    fn open_call(&mut self) -> Result<(), CallError> {
        if self.in_call || self.ledger.failure().is_some() {
            return Err(CallError::Ended);
        }
        self.calls = self.calls.saturating_add(1);
        self.in_call = true;
        Ok(())
    }

    async fn run_query(&mut self, sql: String, params: Vec<Value>) -> Result<ResultSet, CallError> {
        let admitted = self.admit(&sql).await?;
        let statement = number(&admitted);
        let (prepared, params) = self.bind(&sql, statement, &params).await?;
        let prepared = self.prepare_as_text(sql, statement, prepared).await?;
        self.defer(admitted.deferred)?;
        let client = Arc::clone(&self.held.client);
        let (limits, returned) = (self.guest.limits, self.returned);
        let work = rows::read(client, prepared, params, limits, returned);
        self.held.pipeline.watch();
        match self.attend("a query", work).await {
            Ok(Ok((result, returned))) => {
                self.returned = returned;
                self.ledger.worked(self.of_guest(statement));
                self.unless_failed(result).await
            }
            Ok(Err(RowsError::Driver(error))) => {
                let failure = failure_of(&error).while_running().of(Some(statement));
                Err(self.server_refused(failure).await)
            }
            Ok(Err(RowsError::TooLarge(limit, message))) => {
                let failure = Failure::Limit(limit);
                Err(self.host_refused("limit", failure, message).await)
            }
            Ok(Err(RowsError::Malformed(column))) => {
                let message =
                    format!("the value of column \"{column}\" cannot be read; cast it to text");
                let failure = Failure::Sql {
                    sqlstate: "22P03".to_owned(),
                    message: message.as_str().into(),
                    constraint: None,
                    named: Box::new(Named {
                        column: Some(column),
                        ..Named::default()
                    }),
                };
                Err(self.host_refused("data", failure, message).await)
            }
            Err(failure) => Err(self.connection_lost(failure)),
        }
    }

    async fn run_execute(&mut self, sql: String, params: Vec<Value>) -> Result<u64, CallError> {
        let admitted = self.admit(&sql).await?;
        let statement = number(&admitted);
        let (prepared, params) = self.bind(&sql, statement, &params).await?;
        self.defer(admitted.deferred)?;
        let client = Arc::clone(&self.held.client);
        let work = async move { client.execute_raw(&prepared.plain, params).await };
        self.held.pipeline.watch();
        match self.attend("a statement", work).await {
            Ok(Ok(count)) => {
                self.ledger.worked(self.of_guest(statement));
                self.unless_failed(count).await
            }
            Ok(Err(error)) => {
                let failure = failure_of(&error).while_running().of(Some(statement));
                Err(self.server_refused(failure).await)
            }
            Err(failure) => Err(self.connection_lost(failure)),
        }
    }

    async fn run_stage(
        &mut self,
        sql: String,
        params: Vec<Value>,
        expect: Expectation,
    ) -> Result<(), CallError> {
        let admitted = self.admit(&sql).await?;
        let statement = number(&admitted);
        let (prepared, params) = self.bind(&sql, statement, &params).await?;
        self.defer(admitted.deferred)?;
        let staged = Staged {
            offset: self.current,
            what: What::Guest(self.of_guest(statement), expect),
            bytes: params.iter().map(Param::len).sum(),
        };
        if let Err(message) = self.held.pipeline.stage(&prepared.name, &params) {
            self.fail(Failure::BadParameter { message });
            return Err(CallError::Ended);
        }
        self.ledger.stage(staged);
        if self.held.pipeline.is_due() || self.ledger.is_full() {
            self.send_ahead().await;
        }
        match self.ledger.failure() {
            Some(_) => Err(CallError::Ended),
            None => Ok(()),
        }
    }

    /// Lets what is staged leave, and the driver's task run to send it; waits where too much is unanswered.
    async fn send_ahead(&mut self) {
        self.held.pipeline.flush();
        tokio::task::yield_now().await;
        let answers = self.held.pipeline.answers();
        self.ledger.settle(answers);
        while self.ledger.is_full() && self.settle_some().await {}
    }

    /// Lets a statement past the wall. What is judged is the text as the guest wrote it; what the host wraps around it is
    /// the host's own.
    async fn admit(&mut self, sql: &str) -> Result<Admitted, CallError> {
        match self.gate.admit(self.guest.judge.as_ref(), sql).await {
            Ok(Ok(admitted)) => {
                self.schema = self.schema.or_else(|| self.gate.schema());
                Ok(admitted)
            }
            Ok(Err(refused)) => {
                let message = refused.to_string();
                self.fail(Failure::StatementRefused {
                    message: message.clone(),
                });
                Err(told("refused", message))
            }
            Err(failure) => Err(self.connection_lost(failure)),
        }
    }

    /// The statement and its parameters in the types that the server inferred. Where they do not fit those of a
    /// cached statement, a table may have changed since: it is prepared anew before the record is blamed.
    async fn bind(
        &mut self,
        sql: &str,
        statement: Statement,
        params: &[Value],
    ) -> Result<(Prepared, Vec<Param>), CallError> {
        self.enter_stay()?;
        let role = self.guest.role.as_deref();
        if let Some(prepared) = self.held.statements.guest(role, sql)
            && let Ok(params) = encode_all(prepared.plain.params(), params)
        {
            return Ok((prepared, params));
        }
        let (plain, name) = self.prepare_named(sql, statement).await?;
        let params = encode_all(plain.params(), params).map_err(|message| {
            self.fail(Failure::BadParameter {
                message: message.clone(),
            });
            told("bad-parameter", message)
        })?;
        let prepared = Prepared {
            plain,
            name,
            as_text: None,
        };
        self.keep(sql, prepared.clone());
        Ok((prepared, params))
    }

    /// Prepares the statement once more where columns have to come as text.
    async fn prepare_as_text(
        &mut self,
        sql: String,
        statement: Statement,
        prepared: Prepared,
    ) -> Result<Prepared, CallError> {
        if prepared.as_text.is_some() {
            return Ok(prepared);
        }
        let Some(text) = rows::wrapped(&sql, &prepared.plain) else {
            return Ok(prepared);
        };
        let as_text = self
            .prepare_text(&text, statement)
            .await
            .map_err(|error| match error {
                CallError::Sql(mut e) => {
                    e.message
                        .push_str("; cast columns of types that a handler cannot receive to text");
                    CallError::Sql(e)
                }
                CallError::Ended => CallError::Ended,
            })?;
        let prepared = Prepared {
            as_text: Some(as_text),
            ..prepared
        };
        self.keep(&sql, prepared.clone());
        Ok(prepared)
    }

    /// Keeps a statement that was prepared just now. The one that has to go for it may have been staged: it has left
    /// by then, since what is staged leaves before anything is prepared.
    fn keep(&mut self, sql: &str, prepared: Prepared) {
        let role = self.guest.role.as_deref();
        if let Some(evicted) = self.held.statements.keep_guest(role, sql, prepared) {
            let (consumer, module) = (&self.key.consumer, &self.guest.module);
            tracing::warn!(%consumer, %module, evicted, "the handler writes ever new statement texts, and each is prepared anew; pass values as parameters, and lists as arrays (= ANY ($1))");
        }
    }

    /// Prepares the statement and learns its name.
    async fn prepare_named(
        &mut self,
        sql: &str,
        statement: Statement,
    ) -> Result<(Plan, Arc<str>), CallError> {
        self.held.pipeline.look_for(sql);
        let plan = self.prepare_text(sql, statement).await?;
        match self.held.pipeline.found() {
            Some(name) => Ok((plan, name.into())),
            None => Err(self.connection_lost(unreachable(
                "a prepared statement was not seen on its way".to_owned(),
            ))),
        }
    }

    async fn prepare_text(&mut self, sql: &str, statement: Statement) -> Result<Plan, CallError> {
        let client = Arc::clone(&self.held.client);
        match self
            .attend("preparing a statement", client.prepare(sql))
            .await
        {
            Ok(Ok(plan)) => Ok(plan),
            Ok(Err(error)) => {
                let failure = failure_of(&error).of(Some(statement));
                Err(self.server_refused(failure).await)
            }
            Err(failure) => Err(self.connection_lost(failure)),
        }
    }

    /// The guest's answer, unless something staged before it has failed.
    async fn unless_failed<T>(&mut self, answer: T) -> Result<T, CallError> {
        if let Some(word) = self.held.pipeline.strayed() {
            self.ledger.strayed(self.current, &word);
        }
        self.drain_window().await;
        if self.ledger.failure().is_some() {
            Err(CallError::Ended)
        } else {
            Ok(answer)
        }
    }
}

fn number(admitted: &Admitted) -> Statement {
    Statement {
        form: admitted.form,
        text: admitted.text,
    }
}
