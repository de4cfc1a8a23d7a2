//! Whether a consumer's positions may be put elsewhere: only while nothing handles its records.

use std::time::Duration;

use tidegate_core::control::{Digest, State};
use tidegate_core::record::TopicPartition;
use tokio::time::Instant;

use super::super::CliError;
use crate::config::{Config, ConsumerConfig};
use crate::inbox::{HostRow, Inbox};
use crate::kafka::{KafkaError, group_members, group_offsets, put_group_offsets};

/// How long the owners of a consumer that is held back may take to tell Kafka.
const OWNERS: Duration = Duration::from_secs(30);
/// How often Kafka is asked meanwhile.
const TURN: Duration = Duration::from_millis(300);

/// Who will tell Kafka of a new position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Teller {
    /// The group is empty: the command.
    Command,
    /// The group has members, and the consumer is held back: each partition's owner.
    Owners,
}

/// Finds out who tells Kafka, and refuses a consumer that runs.
pub(super) async fn teller(
    inbox: &Inbox,
    config: &Config,
    consumer: &ConsumerConfig,
) -> Result<Teller, CliError> {
    let members = group_members(&config.kafka, &consumer.group)
        .await
        .map_err(failed)?;
    let control = inbox.control(&consumer.name).await?;
    let hosts = inbox.live_hosts(Some(&consumer.name)).await?;
    let goes_on = |host: &HostRow| {
        let of_module = |module: &Digest| control.state_of(module) == State::Running;
        host.module.as_ref().is_none_or(of_module)
    };
    let held_back = control.state != State::Running && !hosts.iter().any(goes_on);
    match (members.is_empty(), held_back) {
        (true, _) if hosts.is_empty() || held_back => Ok(Teller::Command),
        (false, true) => Ok(Teller::Owners),
        _ => Err(runs(consumer, &hosts, &members)),
    }
}

fn runs(consumer: &ConsumerConfig, hosts: &[HostRow], members: &[String]) -> CliError {
    let (name, group) = (&consumer.name, &consumer.group);
    let hosts: Vec<&str> = hosts.iter().map(|host| host.label.as_str()).collect();
    let list = |what: &str, names: String| match names.is_empty() {
        true => format!("no {what}"),
        false => format!("{what}: {names}"),
    };
    CliError::Failed(format!(
        "consumer {name:?} runs ({}; {}): nothing was changed; hold it back first with `tidegate consumer pause {name}`, or stop its hosts (one that was killed counts as running for some seconds)",
        list("hosts seen", hosts.join(", ")),
        list(&format!("members of group {group:?}"), members.join(", "))
    ))
}

/// Has Kafka's offset follow positions that were set, and tells the rows that it did. What cannot be told now is told
/// by whoever takes the position: the row says that Kafka is to be told.
pub(super) async fn tell(
    teller: Teller,
    inbox: &Inbox,
    (config, consumer): (&Config, &ConsumerConfig),
    places: &[(TopicPartition, i64)],
) -> Result<(), CliError> {
    match teller {
        Teller::Command => put(inbox, (config, consumer), places).await,
        Teller::Owners => wait(inbox, (config, consumer), places).await,
    }
}

async fn put(
    inbox: &Inbox,
    (config, consumer): (&Config, &ConsumerConfig),
    places: &[(TopicPartition, i64)],
) -> Result<(), CliError> {
    put_group_offsets(&config.kafka, &consumer.group, places)
        .await
        .map_err(|error| later(&error.to_string()))?;
    for (source, next) in places {
        let names = (consumer.name.as_str(), &*source.topic);
        inbox.position_told(names, source.partition, *next).await?;
    }
    Ok(())
}

/// Waits until every owner has told Kafka: then the row holds what it acknowledged.
async fn wait(
    inbox: &Inbox,
    (config, consumer): (&Config, &ConsumerConfig),
    places: &[(TopicPartition, i64)],
) -> Result<(), CliError> {
    let until = Instant::now() + OWNERS;
    loop {
        let partitions = places.iter().map(|(source, _)| source.clone()).collect();
        let answers = group_offsets(&config.kafka, &consumer.group, partitions)
            .await
            .map_err(failed)?;
        let rows = inbox.progress_rows().await?;
        let untold = |(source, next): &&(TopicPartition, i64)| {
            let answer = answers.iter().find(|answer| answer.partition == *source);
            let kafka = answer.and_then(|answer| answer.committed);
            let row = rows
                .iter()
                .find(|row| row.key.consumer == consumer.name && row.key.source == *source);
            kafka != Some(*next) && row.is_none_or(|row| row.committed.is_none())
        };
        let Some((source, _)) = places.iter().find(untold) else {
            return Ok(());
        };
        if Instant::now() >= until {
            return Err(later(&format!(
                "the owner of {source} has not done so within {OWNERS:?}"
            )));
        }
        tokio::time::sleep(TURN).await;
    }
}

fn later(why: &str) -> CliError {
    CliError::Failed(format!(
        "the positions are set, but Kafka was not told of all of them yet: {why}; the host that takes a position tells it, and until then the row decides alone"
    ))
}

pub(super) fn failed(error: KafkaError) -> CliError {
    CliError::Kafka(error)
}
