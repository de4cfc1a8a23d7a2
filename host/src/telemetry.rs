//! The log: stderr, filtered by `TIDEGATE_LOG`. stdout belongs to what commands print.

use tracing_subscriber::EnvFilter;

/// The variable that filters the log.
pub const LOG_VARIABLE: &str = "TIDEGATE_LOG";

/// What is logged when [`LOG_VARIABLE`] is not set: the chatter of libraries is not news.
pub const DEFAULT_FILTER: &str = "info,rdkafka=warn,librdkafka=warn,refinery_core=warn";

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Why the log cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter cannot be read.
    #[error(
        "{LOG_VARIABLE} is not a log filter: {0}; write for example {LOG_VARIABLE}=info,tidegate=debug"
    )]
    Filter(String),
    /// Somebody set up another log in this process.
    #[error("the log was set up before: {0}")]
    Twice(String),
}

/// Sets up this process's log.
///
/// # Errors
/// A filter that cannot be read, or a second log.
pub fn init(format: LogFormat) -> Result<(), TelemetryError> {
    let given = std::env::var(LOG_VARIABLE).unwrap_or_default();
    let directives = if given.trim().is_empty() {
        DEFAULT_FILTER
    } else {
        &given
    };
    let filter = EnvFilter::try_new(directives)
        .map_err(|error| TelemetryError::Filter(error.to_string()))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let outcome = match format {
        LogFormat::Text => log.with_ansi(ansi()).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    outcome.map_err(|error| TelemetryError::Twice(error.to_string()))
}

/// Colours are for terminals whose owner did not refuse them.
fn ansi() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none()
}
