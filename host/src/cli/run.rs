//! `run`, `migrate` and `dev`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::{CliError, DevArgs, output};
use crate::app::{self, RunOptions};
use crate::config::{self, Config};
use crate::dev::{self, Addresses, Services};
use crate::inbox::{Inbox, Wall};
use crate::kafka;
use crate::signals::Signals;

/// Runs the consumers until a signal.
pub(super) async fn run(config: Config, migrate: bool) -> Result<(), CliError> {
    log_warnings(&config);
    Ok(app::run(
        config,
        RunOptions {
            migrate,
            ..RunOptions::default()
        },
    )
    .await?)
}

fn log_warnings(config: &Config) {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
}

/// Brings the schema up to date.
pub(super) async fn migrate(config: Config) -> Result<(), CliError> {
    let inbox = Inbox::new(&config.postgres, Wall::default())?;
    let applied = inbox.migrate().await?;
    for migration in &applied {
        output::print(&format!("applied {migration}"))?;
    }
    match applied.is_empty() {
        true => output::print("the schema is up to date"),
        false => Ok(()),
    }
}

/// Runs the consumers against services of their own, and takes those down afterwards.
pub(super) async fn dev(path: &Path, args: DevArgs) -> Result<(), CliError> {
    let mut config = config::load(path, dev_environment(), kafka::check_options)?;
    let program = std::env::current_exe().map_err(|error| {
        CliError::Failed(format!("cannot find this program's own file: {error}"))
    })?;
    let init = args.init.map(Init::read).transpose()?;
    let topics = dev::topics(&config);
    // From here on a signal takes the services down again, whenever it comes.
    let stop = CancellationToken::new();
    let signals = Signals::listen()
        .map_err(|error| CliError::Failed(format!("cannot listen for signals: {error}")))?;
    let signals = tokio::spawn(signals.cancel(stop.clone()));
    let mut services = Services::start(&program, &topics, args.partitions).await?;
    services.addresses().apply(&mut config);
    let outcome = tokio::select! {
        outcome = run_on(config, services.addresses().clone(), init, stop) => outcome,
        error = services.ended() => Err(error.into()),
    };
    let stopped = services.stop().await;
    signals.abort();
    outcome.and(stopped.map_err(CliError::from))
}

/// The environment with places of the services that are about to start: a file for `dev` need not name any.
fn dev_environment() -> impl Iterator<Item = (OsString, OsString)> {
    let places = [
        ("TIDEGATE__KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1"),
        (
            "TIDEGATE__POSTGRES__URL",
            "postgresql://tidegate@127.0.0.1:1/tidegate",
        ),
        ("TIDEGATE__POSTGRES__PASSWORD", "none"),
        // Any free port: several may run at once. The log names it.
        ("TIDEGATE__HOST__HTTP", "127.0.0.1:0"),
    ];
    let replaced = [
        "TIDEGATE__POSTGRES__URL_FILE",
        "TIDEGATE__POSTGRES__PASSWORD_FILE",
    ];
    let ours = move |name: &OsString| {
        let known = places.iter().map(|(name, _)| *name).chain(replaced);
        known.into_iter().any(|known| name == known)
    };
    let environment = std::env::vars_os().filter(move |(name, _)| !ours(name));
    environment.chain(places.map(|(name, value)| (name.into(), value.into())))
}

/// SQL to run first.
struct Init {
    path: PathBuf,
    sql: String,
}

impl Init {
    fn read(path: PathBuf) -> Result<Self, CliError> {
        match std::fs::read_to_string(&path) {
            Ok(sql) => Ok(Self { path, sql }),
            Err(error) => {
                let path = path.display();
                Err(CliError::Usage(format!("{path}: cannot be read: {error}")))
            }
        }
    }

    async fn run(self, url: &str) -> Result<(), CliError> {
        dev::execute(url, &self.sql).await.map_err(|error| {
            let words = match error.as_db_error() {
                Some(error) => error.message().to_owned(),
                None => error.to_string(),
            };
            CliError::Failed(format!("{}: {words}", self.path.display()))
        })
    }
}

async fn run_on(
    config: Config,
    addresses: Addresses,
    init: Option<Init>,
    stop: CancellationToken,
) -> Result<(), CliError> {
    greet(&config, &addresses)?;
    if let Some(init) = init {
        init.run(&addresses.postgres_url).await?;
    }
    log_warnings(&config);
    let options = RunOptions {
        migrate: true,
        ..RunOptions::default()
    };
    Ok(app::run_until(config, options, stop).await?)
}

fn greet(config: &Config, addresses: &Addresses) -> Result<(), CliError> {
    let topic = config.consumers.iter().flat_map(|c| &c.topics).next();
    let (kafka, postgres) = (&addresses.bootstrap_servers, &addresses.postgres_url);
    output::print(&format!(
        "Kafka (mock)  {kafka}
PostgreSQL    {postgres}

  psql {postgres}
  kcat -b {kafka} -P -t {} -H event-id=1

Both are thrown away at the end. Ctrl-C ends it.",
        topic.map_or("TOPIC", String::as_str)
    ))
}
