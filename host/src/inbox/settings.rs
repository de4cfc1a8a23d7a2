//! How connections are opened and what holds on every session.

use std::time::Duration;

use tokio_postgres::config::{Host, TargetSessionAttrs};

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
    /// What is set on each session; it answers with what the session is then pinned to.
    pub(crate) session: String,
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
            session: format!(
                "{} {}",
                session(config),
                pinned::session(&config.search_path)
            ),
            search_path: config.search_path.clone(),
            guest_path: pinned::guest_path(&config.search_path),
            tls,
            driver,
        })
    }
}

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

/// A session can write only in a transaction that begins READ WRITE: after a guest's ROLLBACK nothing can. An
/// acknowledged commit is on disk. Values print the one way that the host parses.
fn session(config: &PostgresConfig) -> String {
    let millis = |timeout: Duration| timeout.as_millis().to_string();
    let values = [
        ("default_transaction_read_only", "on".to_owned()),
        (
            "default_transaction_isolation",
            "'read committed'".to_owned(),
        ),
        ("statement_timeout", millis(config.statement_timeout)),
        ("lock_timeout", millis(config.lock_timeout)),
        (
            "idle_in_transaction_session_timeout",
            millis(config.idle_in_transaction_timeout),
        ),
        ("synchronous_commit", "on".to_owned()),
        ("standard_conforming_strings", "on".to_owned()),
        ("client_encoding", "'UTF8'".to_owned()),
        ("DateStyle", "'ISO, YMD'".to_owned()),
        ("TimeZone", "'UTC'".to_owned()),
        ("IntervalStyle", "'postgres'".to_owned()),
        ("extra_float_digits", "1".to_owned()),
        ("bytea_output", "'hex'".to_owned()),
        ("backslash_quote", "'safe_encoding'".to_owned()),
        ("transform_null_equals", "off".to_owned()),
        ("array_nulls", "on".to_owned()),
        ("row_security", "on".to_owned()),
    ];
    values
        .map(|(name, value)| format!("SET {name} = {value};"))
        .join(" ")
}

/// Lets the server notice within a second that the host is gone. Not every platform can: it may be refused.
pub(crate) const WATCH_CLIENT: &str = "SET client_connection_check_interval = '1s'";
