//! `consumer list`, `consumer pause` and `consumer resume`.

use clap::Subcommand;
use tidegate_core::control::State;

use super::views::ConsumerView;
use super::{CliError, FormatArgs, chosen, open, output, render};
use crate::config::Config;
use crate::inbox::{ConsumerRow, Inbox};

/// Consumers.
#[derive(Debug, Subcommand)]
pub(super) enum ConsumersCommand {
    /// List the consumers: running, paused or braked, and the hosts that run them
    List {
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Hold a consumer back on all hosts from their next batch on; offsets and dead letters stay as they are
    Pause {
        /// The consumer
        name: String,
        /// Why, for whoever looks next
        #[arg(long, default_value = "by an operator")]
        reason: String,
    },
    /// Let a paused or braked consumer run again
    Resume {
        /// The consumer
        name: String,
    },
}

/// Carries the command out.
pub(super) async fn execute(config: Config, command: ConsumersCommand) -> Result<(), CliError> {
    match command {
        ConsumersCommand::List { format } => {
            let rows = views(&config, &open(&config).await?).await?;
            output::print(&render::list(format.format, &rows, "no consumers"))
        }
        ConsumersCommand::Pause { name, reason } => {
            chosen(&config, Some(&name))?;
            let inbox = open(&config).await?;
            if inbox.pause(&name, &reason).await? {
                return output::print(&format!("consumer {name:?} is paused"));
            }
            let state = inbox.control(&name).await?.state;
            output::print(&format!("consumer {name:?} is {} already", state.as_str()))
        }
        ConsumersCommand::Resume { name } => {
            chosen(&config, Some(&name))?;
            let resumed = open(&config).await?.resume(&name).await?;
            let what = if resumed {
                "runs again"
            } else {
                "runs already"
            };
            output::print(&format!("consumer {name:?} {what}"))
        }
    }
}

/// The modules that a brake holds back; hosts that run another go on.
fn braked(row: &ConsumerRow) -> Vec<String> {
    match row.control.state {
        State::Braked => row.control.braked.0.iter().map(hex::encode).collect(),
        State::Running | State::Paused => Vec::new(),
    }
}

async fn views(config: &Config, inbox: &Inbox) -> Result<Vec<ConsumerView>, CliError> {
    let (controls, hosts) = (inbox.controls().await?, inbox.live_hosts(None).await?);
    let view = |name: &String| {
        let row = controls.iter().find(|row| row.name == *name);
        let state = row.map_or(State::Running, |row| row.control.state);
        let hosts = hosts.iter().filter(|host| host.consumer == *name);
        ConsumerView {
            name: name.clone(),
            state: state.as_str().to_owned(),
            reason: row.and_then(|row| row.control.reason.clone()),
            braked_modules: row.map_or_else(Vec::new, braked),
            since: row.map(|row| row.changed_at.clone()),
            episode: row.map_or(0, |row| row.control.episode),
            hosts: hosts.map(|host| host.label.clone()).collect(),
        }
    };
    Ok(config.consumers.iter().map(|c| view(&c.name)).collect())
}
