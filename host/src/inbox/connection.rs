//! One connection: its client, its statements and the task that drives it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidegate_core::failure::Failure;
use tidegate_core::text::bounded;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls, Row, Statement};

use super::SqlParam;
use super::error::{InboxError, MESSAGE_BYTES, chain, failure_of, no_standby, overdue};
use super::settings::{Settings, WATCH_CLIENT};
use super::statements::Statements;

/// A future that has been sent on its way.
pub(crate) type Sent<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An open connection. Dropping it cuts it: whatever transaction stood open is rolled back by the server.
pub(crate) struct Connection {
    pub(crate) client: Arc<Client>,
    pub(crate) statements: Statements,
    /// How long an answer may take.
    pub(crate) patience: Duration,
    driver: JoinHandle<()>,
}

impl Connection {
    /// Opens a connection and sets the session up.
    pub(crate) async fn open(settings: &Settings) -> Result<Self, InboxError> {
        let opening = async {
            let (client, driver) = Self::dial(settings).await?;
            let connection = Self {
                client: Arc::new(client),
                statements: Statements::new(),
                patience: settings.patience,
                driver,
            };
            connection.client.batch_execute(&settings.session).await?;
            match connection.client.batch_execute(WATCH_CLIENT).await {
                Err(error) if error.is_closed() => Err(error),
                _ => Ok(connection),
            }
        };
        match timeout(settings.connect_timeout, opening).await {
            Ok(opened) => opened.map_err(|e| not_opened(settings, &e)),
            Err(_) => Err(overdue_opening(settings)),
        }
    }

    /// Opens a bare connection, to the deadline, without setting the session up.
    pub(crate) async fn bare(settings: &Settings) -> Result<(Client, JoinHandle<()>), InboxError> {
        match timeout(settings.connect_timeout, Self::dial(settings)).await {
            Ok(dialled) => dialled.map_err(|e| not_opened(settings, &e)),
            Err(_) => Err(overdue_opening(settings)),
        }
    }

    /// The task drives the connection to its end. Notices are dropped: they may hold values.
    async fn dial(settings: &Settings) -> Result<(Client, JoinHandle<()>), tokio_postgres::Error> {
        let (client, mut driver) = settings.driver.connect(NoTls).await?;
        let task = tokio::spawn(async move {
            while let Some(Ok(_)) = std::future::poll_fn(|cx| driver.poll_message(cx)).await {}
        });
        Ok((client, task))
    }

    /// Cuts the connection.
    pub(crate) fn cut(&self) {
        self.driver.abort();
    }

    /// One of the host's own statements, prepared once a connection.
    pub(crate) async fn host(&mut self, sql: &'static str) -> Result<Statement, Failure> {
        if let Some(statement) = self.statements.host(sql) {
            return Ok(statement);
        }
        let statement = self
            .answer("preparing a statement", self.client.prepare(sql))
            .await?;
        self.statements.keep_host(sql, statement.clone());
        Ok(statement)
    }

    /// Runs one of the host's own statements.
    pub(crate) async fn query(
        &mut self,
        sql: &'static str,
        params: &[SqlParam<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let statement = self.host(sql).await?;
        self.answer("a statement", self.client.query(&statement, params))
            .await
    }

    /// Runs one of the host's own statements in a transaction of its own that may write.
    pub(crate) async fn write(
        &mut self,
        sql: &'static str,
        params: &[SqlParam<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let statement = self.host(sql).await?;
        self.begin().await?;
        match self
            .answer("a statement", self.client.query(&statement, params))
            .await
        {
            Ok(rows) => {
                self.command("COMMIT").await?;
                Ok(rows)
            }
            Err(failure) => {
                self.command("ROLLBACK").await.ok();
                Err(failure)
            }
        }
    }

    /// Begins a transaction that may write.
    pub(crate) async fn begin(&self) -> Result<(), Failure> {
        self.command("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            .await
            .map_err(no_standby)
    }

    /// Runs a command without parameters.
    pub(crate) async fn command(&self, sql: &str) -> Result<(), Failure> {
        self.answer("a command", self.client.batch_execute(sql))
            .await
    }

    /// Waits for an answer, to the deadline.
    pub(crate) async fn answer<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        match timeout(self.patience, work).await {
            Ok(answer) => answer.map_err(|e| failure_of(&e)),
            Err(_) => Err(overdue(what, self.patience)),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.cut();
    }
}

fn overdue_opening(settings: &Settings) -> InboxError {
    let place = &settings.place;
    InboxError::Unreachable(format!(
        "{place}: no answer within postgres.connect_timeout"
    ))
}

/// Why no connection was opened. That this user may not, or that there is no such database, does not pass by
/// waiting; everything else may.
fn not_opened(settings: &Settings, error: &tokio_postgres::Error) -> InboxError {
    let words = error
        .as_db_error()
        .map_or_else(|| chain(error), |db| bounded(db.message(), MESSAGE_BYTES));
    let sqlstate = error.code().map(|code| code.code());
    match sqlstate {
        Some(code) if is_for_good(code) => no_access(settings, code, &words),
        None if words.ends_with(PASSWORD_MISSING) => no_access(settings, "28P01", &words),
        Some(code) => {
            InboxError::Unreachable(format!("{}: {words} (SQLSTATE {code})", settings.place))
        }
        None => InboxError::Unreachable(format!("{}: {words}", settings.place)),
    }
}

/// The driver's words where the server asks for a password that the URL does not hold.
const PASSWORD_MISSING: &str = "password missing";

/// Whether a refusal to connect needs an operator: user, password, pg_hba.conf, the database, the right to connect.
fn is_for_good(sqlstate: &str) -> bool {
    sqlstate == "42501" || matches!(sqlstate.get(..2), Some("28" | "3D"))
}

fn no_access(settings: &Settings, sqlstate: &str, words: &str) -> InboxError {
    let (place, user) = (&settings.place, &settings.user);
    InboxError::Refused {
        sqlstate: sqlstate.to_owned(),
        message: format!(
            "user \"{user}\" cannot connect to {place}: {words}; check user, password and database in postgres.url, and the server's pg_hba.conf"
        ),
    }
}

/// Sends a request and does not wait: the driver sends it on the future's first poll.
pub(crate) fn send<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Sent<T> {
    let mut work = Box::pin(work);
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Box::pin(std::future::ready(done)),
        Poll::Pending => work,
    }
}
