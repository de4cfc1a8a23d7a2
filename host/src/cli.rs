//! The command line: what can be asked, and which exit code answers.

mod check;
mod config_show;
mod consumers;
mod error;
pub mod exit;
mod guests;
mod harden;
mod inbox;
mod letters;
mod offsets;
mod output;
pub mod render;
mod run;
mod tenants;
pub mod views;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::config::{self, Config, defaults};
use crate::inbox::{Inbox, Wall};
use crate::kafka;
use crate::telemetry::{self, LogFormat};

pub use error::CliError;
use render::Format;

/// Kafka consumers whose business logic is a WebAssembly component.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Cli {
    /// The configuration file
    #[arg(short, long, global = true, default_value = defaults::CONFIG_FILE, value_name = "FILE")]
    config: PathBuf,
    /// How log lines on stderr look
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "Exit codes: 0 fine, 1 failed, 2 usage, configuration or how the database is set up, 3 stopped by a stop verdict.
Environment: TIDEGATE__SECTION__KEY overrides the file outside its consumers, TIDEGATE_LOG filters the log.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the file's consumers until SIGINT or SIGTERM
    Run {
        /// Bring the schema "tidegate" up to date first
        #[arg(long)]
        migrate: bool,
    },
    /// Check the configuration and load each handler; change nothing
    Check(check::CheckArgs),
    /// The configuration
    #[command(subcommand)]
    Config(config_show::ConfigCommand),
    /// Bring the schema "tidegate" up to date
    Migrate,
    /// Print the SQL that takes from everybody what no handler needs, and gives the host's login what it needs
    Harden(harden::HardenArgs),
    /// Run the consumers against a throw-away PostgreSQL and a mock broker
    Dev(DevArgs),
    /// The services of `dev`, until stdin ends
    #[command(hide = true)]
    DevServices(crate::dev::ServicesArgs),
    /// Consumers: their states and hosts, pausing and resuming
    #[command(subcommand)]
    Consumer(consumers::ConsumersCommand),
    /// Dead letters
    #[command(subcommand)]
    Dlt(letters::LettersCommand),
    /// The inbox
    #[command(subcommand)]
    Inbox(inbox::InboxCommand),
    /// Positions
    #[command(subcommand)]
    Offsets(offsets::OffsetsCommand),
    /// Tenants: who they are, and which may run
    #[command(subcommand)]
    Tenant(tenants::TenantsCommand),
}

/// Arguments of `dev`.
#[derive(Debug, Args)]
struct DevArgs {
    /// SQL to run in the new database first, such as the handler's tables
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// Partitions of each topic
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(i32).range(1..=64))]
    partitions: i32,
}

/// Arguments of every command that lists or shows.
#[derive(Clone, Copy, Debug, Args)]
struct FormatArgs {
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// The whole command, from arguments to exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let log = telemetry::init(cli.log_format).map_err(|error| CliError::Usage(error.to_string()));
    // What is said at the end leaves before the log ends.
    let (outcome, _log) = match log {
        Ok(log) => (execute(cli), Some(log)),
        Err(error) => (Err(error), None),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn execute(cli: Cli) -> Result<(), CliError> {
    if let Command::DevServices(args) = cli.command {
        return Ok(crate::dev::services(args)?);
    }
    let load = || config::load(&cli.config, std::env::vars_os(), kafka::check_options);
    // One thread more than guests may hold: commits and heartbeats never wait for a guest.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(crate::engine::compute_places() + 1)
        .enable_all()
        .build()
        .map_err(|error| CliError::Failed(format!("the async runtime cannot start: {error}")))?;
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::Run { migrate } => run::run(load()?, migrate).await,
            Command::Check(args) => check::check(load()?, args).await,
            Command::Config(command) => config_show::execute(&load()?, &command),
            Command::Migrate => run::migrate(load()?).await,
            Command::Harden(args) => harden::execute(&load()?, args).await,
            Command::Dev(args) => run::dev(&cli.config, args).await,
            Command::DevServices(_) => Ok(()),
            Command::Consumer(command) => consumers::execute(load()?, command).await,
            Command::Dlt(command) => letters::execute(load()?, command).await,
            Command::Inbox(command) => inbox::execute(load()?, command).await,
            Command::Offsets(command) => offsets::execute(load()?, command).await,
            Command::Tenant(command) => tenants::execute(load()?, command).await,
        }
    });
    // A call into librdkafka that a silent broker keeps waiting must not keep the process.
    runtime.shutdown_background();
    outcome
}

/// Access to the database of `config`, whose schema this binary knows.
async fn open(config: &Config) -> Result<Inbox, CliError> {
    let inbox = Inbox::new(&config.postgres, Wall::default())?;
    inbox.check_schema().await?;
    Ok(inbox)
}

/// The consumers of `config` that `name` means: the one of that name, or all.
fn chosen<'c>(
    config: &'c Config,
    name: Option<&str>,
) -> Result<Vec<&'c config::ConsumerConfig>, CliError> {
    let Some(name) = name else {
        return Ok(config.consumers.iter().collect());
    };
    match config
        .consumers
        .iter()
        .find(|consumer| consumer.name == name)
    {
        Some(consumer) => Ok(vec![consumer]),
        None => {
            let known: Vec<&str> = config.consumers.iter().map(|c| c.name.as_str()).collect();
            Err(CliError::Usage(format!(
                "there is no consumer {name:?} in the configuration; it has {}",
                known.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Cli::command().debug_assert();
    }
}
