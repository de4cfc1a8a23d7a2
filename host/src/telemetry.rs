//! The log: stderr, filtered by `TIDEGATE_LOG`. stdout belongs to what commands print.
//!
//! Lines leave by a queue ([`outlet`]), so that neither a reader that stands still nor one that is gone stops a record,
//! a probe or a signal.

mod outlet;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Duration;

use tidegate_core::text::for_terminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use outlet::{Outlet, Writer};

/// The variable that filters the log.
pub const LOG_VARIABLE: &str = "TIDEGATE_LOG";

/// What is logged when [`LOG_VARIABLE`] is not set: the chatter of libraries is not news.
pub const DEFAULT_FILTER: &str = "info,rdkafka=warn,librdkafka=warn,refinery_core=warn";

/// How long the last lines may take at the end of the process.
const LAST: Duration = Duration::from_secs(1);

/// The process has one stderr.
static STDERR: OnceLock<Outlet> = OnceLock::new();

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
    /// The system gives no thread.
    #[error("the log's thread cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// This process's log. Dropping it writes what waits, for a second at most; what is logged afterwards is lost.
#[must_use = "the log ends when it is dropped"]
pub struct Log(Option<Writer>);

impl Drop for Log {
    fn drop(&mut self) {
        if let Some(writer) = self.0.take() {
            writer.close(LAST);
        }
    }
}

/// Sets up this process's log.
///
/// # Errors
/// A filter that cannot be read, or a second log.
pub fn init(format: LogFormat) -> Result<Log, TelemetryError> {
    let given = std::env::var(LOG_VARIABLE).unwrap_or_default();
    let directives = if given.trim().is_empty() {
        DEFAULT_FILTER
    } else {
        &given
    };
    let filter = EnvFilter::try_new(directives)
        .map_err(|error| TelemetryError::Filter(error.to_string()))?;
    let (outlet, writer) = Outlet::open(std::io::stderr(), tell_lost)?;
    let colours = format == LogFormat::Text && ansi();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // What cannot be formatted would be said on stderr by whoever logs.
        .log_internal_errors(false)
        .with_writer(Lines {
            to: outlet.clone(),
            colours,
        });
    let outcome = match format {
        LogFormat::Text => log.with_ansi(colours).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    outcome.map_err(|error| TelemetryError::Twice(error.to_string()))?;
    STDERR.get_or_init(|| outlet);
    std::panic::set_hook(Box::new(panicked));
    Ok(Log(Some(writer)))
}

/// Says `text` on stderr beside the log, behind what is logged already. Where stderr is not read, it is lost.
pub fn say(text: &str) {
    match STDERR.get() {
        Some(outlet) => outlet.offer(format!("{text}\n").as_bytes()),
        None => writeln!(std::io::stderr(), "{text}").unwrap_or_default(),
    }
}

/// How many lines of the log were lost since the start.
pub fn lost_lines() -> u64 {
    STDERR.get().map_or(0, Outlet::lost)
}

fn tell_lost(lines: u64) {
    tracing::warn!(
        lines,
        "lines of this log are lost: nobody read it, or it could not be written; records went on"
    );
}

/// The standard hook would wait for whoever reads stderr.
fn panicked(info: &std::panic::PanicHookInfo<'_>) {
    let backtrace = Backtrace::capture();
    match backtrace.status() {
        BacktraceStatus::Captured => tracing::error!("{info}\n{backtrace}"),
        _ => tracing::error!("{info}"),
    }
}

/// Makes lines of events: each is written at once, whole.
struct Lines {
    to: Outlet,
    colours: bool,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

struct Line<'a>(&'a Lines);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.0.to.offer(&shown(line, self.0.colours));
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A line as anybody's viewer shows it. Texts from outside are in it, such as names in an error: none may end the line for some
/// viewers, turn its direction or drive a terminal, but for the colours of our own.
fn shown(line: &[u8], colours: bool) -> Cow<'_, [u8]> {
    let plain = |b: &u8| (b' '..=b'~').contains(b) || *b == b'\n';
    if line.iter().all(plain) {
        return line.into();
    }
    let text = String::from_utf8_lossy(line);
    let pieces = text.split_inclusive('\u{1b}');
    let piece = |piece: &str| match piece.strip_suffix('\u{1b}') {
        Some(before) if colours => format!("{}\u{1b}", for_terminal(before)),
        _ => for_terminal(piece).into_owned(),
    };
    pieces.map(piece).collect::<String>().into_bytes().into()
}

/// Colours are for terminals whose owner did not refuse them.
fn ansi() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none()
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_line_shows_nothing_as_something_else() {
        let text =
            |line: &str, colours| String::from_utf8(shown(line.as_bytes(), colours).into_owned());
        assert_eq!(text("plain\n", false).as_deref(), Ok("plain\n"));
        let evil = "a\u{202e}b\u{2028}c\u{9b}d\n";
        let tame = Ok("a\\u202eb\\u2028c\\u009bd\n");
        assert_eq!(text(evil, false).as_deref(), tame);
        assert_eq!(text(evil, true).as_deref(), tame);
        let red = "\u{1b}[31mzażółć\u{1b}[0m\n";
        assert_eq!(text(red, true).as_deref(), Ok(red));
        assert_eq!(
            text(red, false).as_deref(),
            Ok("\\u001b[31mzażółć\\u001b[0m\n")
        );
    }
}
