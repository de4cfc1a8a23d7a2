//! `check`: everything that can be found out without consuming.

mod database;
mod kafka;
mod modules;
mod rights;

use clap::Args;

use super::exit::Exit;
use super::{CliError, output};
use crate::config::Config;
use crate::inbox::InboxError;

/// What was found out about one thing.
pub(super) enum Finding {
    /// As it should be.
    Fine(String),
    /// Allowed and seldom meant.
    Warning(String),
    /// `run` would fail, so.
    Problem(Exit, String),
}

impl Finding {
    /// What `run` would meet when it has begun.
    pub(super) fn problem(text: String) -> Self {
        Finding::Problem(Exit::Failed, text)
    }

    /// What the database says, or that it says nothing.
    fn inbox(error: &InboxError) -> Self {
        Finding::Problem(Exit::of_inbox(error), error.to_string())
    }

    fn line(&self) -> String {
        match self {
            Finding::Fine(text) => format!("ok       {text}"),
            Finding::Warning(text) => format!("warning  {text}"),
            Finding::Problem(_, text) => format!("problem  {text}"),
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
    let mut report = Report {
        problems: 0,
        exit: Exit::Fine,
    };
    report.add(about_configuration(&config))?;
    for loaded in modules::load_all(&config).await {
        let name = &loaded.consumer.name;
        report.add([match loaded.outcome {
            Ok(digest) => Finding::Fine(format!(
                "consumer {name:?}: {} loads, sha256 {digest}",
                loaded.handler.display()
            )),
            Err(text) => Finding::Problem(Exit::Unusable, format!("consumer {name:?}: {text}")),
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

/// Prints findings as they come, counts the problems and keeps the gravest.
struct Report {
    problems: usize,
    exit: Exit,
}

impl Report {
    fn add(&mut self, findings: impl IntoIterator<Item = Finding>) -> Result<(), CliError> {
        for finding in findings {
            if let Finding::Problem(exit, _) = &finding {
                self.problems += 1;
                self.exit = self.exit.max(*exit);
            }
            output::print(&finding.line())?;
        }
        Ok(())
    }

    fn end(self) -> Result<(), CliError> {
        match self.problems {
            0 => Ok(()),
            number => Err(CliError::Problems {
                number,
                exit: self.exit,
            }),
        }
    }
}
