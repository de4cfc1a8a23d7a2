//! `check`: everything that can be found out without consuming.

mod database;
mod kafka;
mod modules;
mod rights;

use clap::Args;

use super::{CliError, output};
use crate::config::Config;

/// What was found out about one thing.
pub(super) enum Finding {
    /// As it should be.
    Fine(String),
    /// Allowed and seldom meant.
    Warning(String),
    /// `run` would fail.
    Problem(String),
}

impl Finding {
    fn line(&self) -> String {
        match self {
            Finding::Fine(text) => format!("ok       {text}"),
            Finding::Warning(text) => format!("warning  {text}"),
            Finding::Problem(text) => format!("problem  {text}"),
        }
    }
}

/// Arguments of `check`.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct CheckArgs {
    /// Connect to PostgreSQL too: schema, connection limit, collations
    #[arg(long)]
    database: bool,
    /// Connect to Kafka too: brokers, topics, rights; joins no group
    #[arg(long)]
    kafka: bool,
}

/// Reports on the configuration (read already), the handlers and, if asked to, the servers.
pub(super) async fn check(config: Config, args: CheckArgs) -> Result<(), CliError> {
    let mut report = Report::default();
    report.add(about_configuration(&config))?;
    for loaded in modules::load_all(&config).await {
        let name = &loaded.consumer.name;
        report.add([match loaded.outcome {
            Ok(digest) => Finding::Fine(format!(
                "consumer {name:?}: {} loads, sha256 {digest}",
                loaded.handler.display()
            )),
            Err(text) => Finding::Problem(format!("consumer {name:?}: {text}")),
        }])?;
    }
    if args.database {
        report.add(database::findings(&config).await)?;
    }
    if args.kafka {
        report.add(kafka::findings(&config).await)?;
    }
    report.end()
}

fn about_configuration(config: &Config) -> Vec<Finding> {
    let consumers = config.consumers.len();
    let noun = if consumers == 1 {
        "consumer"
    } else {
        "consumers"
    };
    let fine = Finding::Fine(format!("configuration: {consumers} {noun}"));
    let warnings = config.warnings.iter().cloned().map(Finding::Warning);
    std::iter::once(fine).chain(warnings).collect()
}

/// Prints findings as they come and counts the problems.
#[derive(Default)]
struct Report {
    problems: usize,
}

impl Report {
    fn add(&mut self, findings: impl IntoIterator<Item = Finding>) -> Result<(), CliError> {
        for finding in findings {
            self.problems += usize::from(matches!(finding, Finding::Problem(_)));
            output::print(&finding.line())?;
        }
        Ok(())
    }

    fn end(self) -> Result<(), CliError> {
        match self.problems {
            0 => Ok(()),
            1 => Err(CliError::Failed("1 problem".into())),
            n => Err(CliError::Failed(format!("{n} problems"))),
        }
    }
}
