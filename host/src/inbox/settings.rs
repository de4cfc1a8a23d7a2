//! How connections are opened and what holds on every session.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio_postgres::config::{Host, TargetSessionAttrs};

use super::baseline::{self, Terms};
use super::error::InboxError;
use super::pinned;
use super::tls;
use super::wire::is_consistent;
use crate::config::PostgresConfig;
use crate::config::postgres_url::{PostgresUrl, Tls};

/// How much longer than the server's own time-out the host waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What every connection is opened with.
pub(crate) struct Settings {
    pub(crate) driver: tokio_postgres::Config,
    /// What protects the way there; none for plain text.
    pub(crate) tls: Option<Tls>,
    /// Host, port and database, for messages; never the password.
    pub(crate) place: String,
    /// Who connects.
    pub(crate) user: String,
    /// How long opening a connection may take.
    pub(crate) connect_timeout: Duration,
    /// How long an answer may take before the connection counts as dead.
    pub(crate) patience: Duration,
    /// How long a statement waits for a lock.
    pub(crate) lock_timeout: Duration,
    /// How long statements may wait.
    terms: Terms,
    /// Whether what stands in front of the server refuses options in a connection's first message, as poolers do.
    refuses_options: AtomicBool,
    /// The server's major version, once one has told it.
    version: AtomicU32,
    /// The schemas in which guests' names are looked for.
    pub(crate) search_path: Vec<String>,
    /// The command that lets a guest's names mean what is configured, in its transaction.
    pub(crate) guest_path: String,
}

impl Settings {
    pub(crate) fn new(config: &PostgresConfig) -> Result<Self, InboxError> {
        let PostgresUrl {
            mut driver, tls, ..
        } = PostgresUrl::parse(&config.url, &config.directory)?;
        if !is_consistent(&driver) {
            return Err(InboxError::Servers);
        }
        if let Some(tls) = &tls {
            tls::check(tls).map_err(InboxError::Tls)?;
        }
        if let Some(password) = &config.password {
            driver.password(password);
        }
        driver
            .application_name("tidegate")
            .connect_timeout(config.connect_timeout)
            .keepalives(true)
            .keepalives_idle(Duration::from_secs(30))
            .keepalives_interval(Duration::from_secs(10))
            .keepalives_retries(3)
            .tcp_user_timeout(config.statement_timeout + PATIENCE);
        if driver.get_hosts().len() > 1 {
            // Of several servers only the primary can take a batch.
            driver.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Ok(Self {
            place: place(&driver),
            user: user(&driver),
            connect_timeout: config.connect_timeout,
            patience: config.statement_timeout + PATIENCE,
            lock_timeout: config.lock_timeout,
            terms: Terms {
                statement: config.statement_timeout,
                lock: config.lock_timeout,
                idle: config.idle_in_transaction_timeout,
                writes: false,
            },
            refuses_options: AtomicBool::new(false),
            version: AtomicU32::new(baseline::OLDEST),
            search_path: config.search_path.clone(),
            guest_path: pinned::guest_path(&config.search_path),
            tls,
            driver,
        })
    }

    /// What a session is for decides how long its statements may wait.
    pub(crate) fn terms(&self, work: Work) -> Terms {
        match work {
            Work::Host => self.terms,
            Work::Migration => Terms {
                statement: Duration::ZERO,
                lock: MIGRATION_LOCK,
                writes: true,
                ..self.terms
            },
        }
    }

    /// What sets a session up on a server of this major version. It is one command, in a transaction that waits for
    /// nobody, and answers what [`pinned::Told`] reads.
    pub(crate) fn session(&self, work: Work, version: u32) -> String {
        let commands = baseline::commands(self.terms(work), version);
        let pinned = pinned::session(&self.search_path, version);
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY NOT DEFERRABLE; {commands} {pinned} COMMIT;"
        )
    }

    /// What a connection begins with: with options of ours, unless they were refused before.
    pub(crate) fn login(&self, work: Work) -> Login {
        let mut driver = self.driver.clone();
        let asks = !self.refuses_options.load(Ordering::Relaxed);
        if asks {
            let version = self.version.load(Ordering::Relaxed);
            let options = baseline::options(self.terms(work), version, driver.get_options());
            driver.options(options);
        }
        Login { driver, asks }
    }

    /// Takes note that options are refused.
    pub(crate) fn options_are_refused(&self) {
        self.refuses_options.store(true, Ordering::Relaxed);
    }

    /// Takes note of the server's major version.
    pub(crate) fn version_is(&self, version: u32) {
        self.version.store(version, Ordering::Relaxed);
    }
}

/// What a connection begins with.
pub(crate) struct Login {
    pub(crate) driver: tokio_postgres::Config,
    /// Whether it asks for settings.
    pub(crate) asks: bool,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Batches, and all that commands and services do.
    Host,
    /// Bringing the schema up to date.
    Migration,
}

/// How long a migration waits for a lock on a table: what is behind it waits too.
const MIGRATION_LOCK: Duration = Duration::from_secs(60);

/// A URL without a user names none to the driver, which takes the operating system's.
fn user(driver: &tokio_postgres::Config) -> String {
    let user = driver.get_user();
    user.unwrap_or("(the operating system's)").to_owned()
}

fn place(driver: &tokio_postgres::Config) -> String {
    let names = driver.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let addresses = driver
        .get_hostaddrs()
        .iter()
        .map(std::net::IpAddr::to_string);
    let hosts = names.chain(addresses).collect::<Vec<_>>().join(",");
    let ports = driver
        .get_ports()
        .iter()
        .map(u16::to_string)
        .collect::<Vec<_>>()
        .join(",");
    let port = if ports.is_empty() {
        "5432".to_owned()
    } else {
        ports
    };
    format!(
        "{hosts}:{port}/{}",
        driver
            .get_dbname()
            .or(driver.get_user())
            .unwrap_or_default()
    )
}

/// Lets the server notice within a second that the host is gone. Not every platform can: it may be refused.
pub(crate) const WATCH_CLIENT: &str = "SET client_connection_check_interval = '1s'";
