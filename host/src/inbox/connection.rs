//! One connection: its client, its statements and the task that drives it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidegate_core::failure::Failure;
use tidegate_core::text::bounded;
use tokio::time::timeout;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::{CancelToken, Client, NoTls, Row, SimpleQueryMessage, Statement};
use tokio_util::task::AbortOnDropHandle;

use super::SqlParam;
use super::error::{InboxError, MESSAGE_BYTES, chain, failure_of, no_standby, overdue};
use super::pinned::{PROOF, Pinned, Told};
use super::settings::{Login, Settings, WATCH_CLIENT, Work};
use super::statements::Statements;
use super::tls::{self, NotSecured};
use super::unfit::{self, Unfit};
use super::wire::{Address, Pipeline, Socket, addresses, wire};

/// A future that has been sent on its way.
pub(crate) type Sent<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An open connection. Dropping it cuts it: whatever transaction stood open is rolled back by the server.
pub(crate) struct Connection {
    pub(crate) client: Arc<Client>,
    pub(crate) statements: Statements,
    /// Statements that are sent ahead.
    pub(crate) pipeline: Pipeline,
    /// How long an answer may take.
    pub(crate) patience: Duration,
    /// What the session is pinned to.
    pub(crate) pinned: Pinned,
    driver: AbortOnDropHandle<()>,
    pub(crate) settings: Arc<Settings>,
    address: Address,
}

/// A client, what drives it, and what it is connected by. Dropping it cuts it.
pub(crate) struct Dialled {
    pub(crate) client: Client,
    driver: AbortOnDropHandle<()>,
    pipeline: Pipeline,
    address: Address,
    /// The server's major version; 0 where it does not tell.
    version: u32,
}

/// Why no connection was opened.
#[derive(Debug, thiserror::Error)]
enum NotOpened {
    #[error("cannot connect: {0}")]
    Socket(#[from] std::io::Error),
    #[error("{0}")]
    Tls(String),
    #[error(transparent)]
    Driver(#[from] tokio_postgres::Error),
    #[error("no address of the server is known")]
    Nowhere,
    #[error("the server takes no writes")]
    ReadOnly,
    #[error("the server does not tell what the session is set to")]
    Untold,
    #[error(transparent)]
    Unfit(#[from] Unfit),
    #[error("no answer within postgres.connect_timeout")]
    Late,
}

impl Connection {
    /// Opens a connection and sets the session up.
    pub(crate) async fn open(settings: &Arc<Settings>) -> Result<Self, InboxError> {
        let (dialled, pinned) = Self::ready(settings, Work::Host).await?;
        Ok(Self {
            client: Arc::new(dialled.client),
            statements: Statements::new(),
            pipeline: dialled.pipeline,
            patience: settings.patience,
            pinned,
            driver: dialled.driver,
            settings: Arc::clone(settings),
            address: dialled.address,
        })
    }

    /// Opens a connection for migrations: its statements may take as long as they need.
    pub(crate) async fn for_migrations(settings: &Settings) -> Result<Dialled, InboxError> {
        let (dialled, _) = Self::ready(settings, Work::Migration).await?;
        Ok(dialled)
    }

    async fn ready(settings: &Settings, work: Work) -> Result<(Dialled, Pinned), InboxError> {
        // Whoever may come to open a connection is not to be as large as all of that.
        let opened = Box::pin(async {
            let dialled = Self::dial(settings, work).await?;
            let pinned = in_time(settings, set_up(&dialled, settings, work)).await?;
            Ok((dialled, pinned))
        });
        opened.await.map_err(|e| not_opened(settings, e))
    }

    /// Takes the first server that answers, and of several the first that takes writes. Each has `connect_timeout`:
    /// one that says nothing must not keep the next from being asked.
    async fn dial(settings: &Settings, work: Work) -> Result<Dialled, NotOpened> {
        let found = async { Ok(addresses(&settings.driver).await?) };
        let mut error = NotOpened::Nowhere;
        for address in in_time(settings, found).await? {
            match in_time(settings, Self::dial_one(settings, address, work)).await {
                Ok(dialled) => return Ok(dialled),
                Err(e) => error = e,
            }
        }
        Err(error)
    }

    /// Asks again without options where they are refused: the session is then set up by commands alone.
    async fn dial_one(
        settings: &Settings,
        address: Address,
        work: Work,
    ) -> Result<Dialled, NotOpened> {
        let login = settings.login(work);
        match Self::log_in(settings, &address, &login).await {
            Err(error) if login.asks && refuses_options(&error) => {
                settings.options_are_refused();
                Self::log_in(settings, &address, &settings.login(work)).await
            }
            other => other,
        }
    }

    /// The task drives the connection to its end. Notices are dropped: they may hold values.
    async fn log_in(
        settings: &Settings,
        address: &Address,
        login: &Login,
    ) -> Result<Dialled, NotOpened> {
        let (wire, pipeline) = wire(open(settings, address).await?);
        let (client, mut driver) = login.driver.connect_raw(wire, NoTls).await?;
        let version = major(driver.parameter("server_version"));
        settings.version_is(version);
        let driver = tokio::spawn(async move {
            while let Some(Ok(_)) = std::future::poll_fn(|cx| driver.poll_message(cx)).await {}
        });
        let dialled = Dialled {
            client,
            driver: AbortOnDropHandle::new(driver),
            pipeline,
            address: address.clone(),
            version,
        };
        match settings.driver.get_target_session_attrs() {
            TargetSessionAttrs::ReadWrite if dialled.is_standby().await? => {
                Err(NotOpened::ReadOnly)
            }
            _ => Ok(dialled),
        }
    }

    /// Cuts the connection.
    pub(crate) fn cut(&self) {
        self.driver.abort();
    }

    /// Asks the server to cancel what it runs for this connection.
    pub(crate) async fn cancel(&self) {
        let token: CancelToken = self.client.cancel_token();
        if let Ok(socket) = open(&self.settings, &self.address).await {
            token.cancel_query_raw(socket, NoTls).await.ok();
        }
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

impl Dialled {
    /// Not by `transaction_read_only`, which a role or a database may have set on a primary.
    async fn is_standby(&self) -> Result<bool, tokio_postgres::Error> {
        let sql = "SELECT pg_catalog.pg_is_in_recovery()";
        let told = self.client.simple_query(sql).await?;
        Ok(told.iter().any(
            |message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("t")),
        ))
    }
}

/// A major version out of the server's own word for its version, such as "15.8 (Debian …)".
fn major(version: Option<&str>) -> u32 {
    let digits = version
        .unwrap_or_default()
        .split(|c: char| !c.is_ascii_digit());
    digits
        .take(1)
        .find_map(|text| text.parse().ok())
        .unwrap_or(0)
}

/// Whether a connection was refused for what its first message asks for: by a pooler (`protocol_violation`), or by a
/// server that does not know one of the settings (`undefined_object`).
fn refuses_options(error: &NotOpened) -> bool {
    let NotOpened::Driver(error) = error else {
        return false;
    };
    let code = error.code().map(tokio_postgres::error::SqlState::code);
    matches!(code, Some("08P01" | "42704"))
}

/// Sets the session up; answers what it is pinned to. Errors: the database is none for the host.
async fn set_up(dialled: &Dialled, settings: &Settings, work: Work) -> Result<Pinned, NotOpened> {
    let client = &dialled.client;
    let session = settings.session(work, dialled.version);
    let mut told = told(client, &session).await?;
    unfit::check_encoding(&told)?;
    if told.replication_role != unfit::ORIGIN {
        unfit::fire_triggers::<NotOpened>(client, &told).await?;
        client.batch_execute(&format!("DEALLOCATE {PROOF}")).await?;
        told = self::told(client, &session).await?;
    }
    match client.batch_execute(WATCH_CLIENT).await {
        Err(error) if error.is_closed() => Err(error.into()),
        _ => Ok(told.pinned),
    }
}

async fn told(client: &Client, session: &str) -> Result<Told, NotOpened> {
    let told = client.simple_query(session).await?;
    Told::read(&told).ok_or(NotOpened::Untold)
}

/// Connects, and protects the way as the URL asks for it.
async fn open(settings: &Settings, address: &Address) -> Result<Socket, NotOpened> {
    let socket = address.open(&settings.driver).await?;
    match (&settings.tls, address.name()) {
        (Some(tls), Some(host)) => Ok(tls::secure(socket, host, tls).await?),
        _ => Ok(socket),
    }
}

impl From<NotSecured> for NotOpened {
    fn from(error: NotSecured) -> Self {
        match error {
            NotSecured::Socket(error) => Self::Socket(error),
            NotSecured::Refused(text) => Self::Tls(text),
        }
    }
}

async fn in_time<T>(
    settings: &Settings,
    work: impl Future<Output = Result<T, NotOpened>>,
) -> Result<T, NotOpened> {
    let done = timeout(settings.connect_timeout, work).await;
    done.unwrap_or(Err(NotOpened::Late))
}

/// Why no connection was opened. That this user may not, or that there is no such database, does not pass by
/// waiting; everything else may.
fn not_opened(settings: &Settings, error: NotOpened) -> InboxError {
    let place = &settings.place;
    let error = match error {
        NotOpened::Tls(words) => {
            return InboxError::Tls(format!("TLS with {place} fails: {words}"));
        }
        NotOpened::Unfit(unfit) => return unfit.at(place),
        error => error,
    };
    let db = match &error {
        NotOpened::Driver(error) => error.as_db_error(),
        _ => None,
    };
    let words = db.map_or_else(|| chain(&error), |db| bounded(db.message(), MESSAGE_BYTES));
    match db.map(|db| db.code().code()) {
        Some(code) if is_for_good(code) => no_access(settings, code, &words),
        None if words.ends_with(PASSWORD_MISSING) => no_access(settings, "28P01", &words),
        Some(code) => InboxError::Unreachable(format!("{place}: {words} (SQLSTATE {code})")),
        None => InboxError::Unreachable(format!("{place}: {words}")),
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
    InboxError::NoAccess {
        sqlstate: sqlstate.to_owned(),
        message: format!(
            "user \"{user}\" cannot connect to {place}: {words} (SQLSTATE {sqlstate}); check user, password and database in postgres.url (or postgres.password_file), and the server's pg_hba.conf; in a URL, special characters of a password (such as / # % ? @) are percent-encoded"
        ),
    }
}

/// Sends a request and does not wait: the driver sends it on the future's first poll.
pub(crate) fn send<'a, T: Send + 'a>(work: impl Future<Output = T> + Send + 'a) -> Sent<'a, T> {
    let mut work = Box::pin(work);
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Box::pin(std::future::ready(done)),
        Poll::Pending => work,
    }
}
