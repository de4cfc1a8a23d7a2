//! What `check --kafka` finds out: whether brokers answer, topics are there, and this user may read them.

use std::collections::BTreeSet;

use super::Finding;
use crate::cli::exit::Exit;
use crate::config::{Config, ConsumerConfig};
use crate::kafka::{KafkaError, cluster_id, group_offsets, retention, topic_partitions};

/// Asks for the cluster, then for every consumer's topics, group and dead letter topic. Joins no group.
pub(super) async fn findings(config: &Config) -> Vec<Finding> {
    let servers = &config.kafka.bootstrap_servers;
    let id = match cluster_id(&config.kafka).await {
        Ok(id) => id,
        // Nothing else would be answered either.
        Err(error) => {
            let text = format!("{servers}: {error}");
            return vec![Finding::Problem(Exit::of_kafka(&error), text)];
        }
    };
    let mut findings = vec![Finding::Fine(format!("{servers}: Kafka cluster {id}"))];
    let mut letters = BTreeSet::new();
    for consumer in &config.consumers {
        findings.extend(consumer_findings(config, consumer).await);
        letters.extend(consumer.dead_letter_topic.as_deref());
    }
    for topic in letters {
        findings.push(letters_finding(config, topic).await);
    }
    findings
}

async fn consumer_findings(config: &Config, consumer: &ConsumerConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = &consumer.name;
    for topic in &consumer.topics {
        findings.push(match readable(config, consumer, topic).await {
            Ok(partitions) => Finding::Fine(format!(
                "consumer {name:?}: topic {topic:?} has {partitions} partitions, readable by group {:?}",
                consumer.group
            )),
            Err(error) => {
                let text = format!("consumer {name:?}: {error}");
                Finding::Problem(Exit::of_kafka(&error), text)
            }
        });
        findings.extend(outlived(config, consumer, topic).await);
    }
    findings
}

/// A topic that keeps records for longer than their ids are remembered. Not to be told how long it keeps them is fine.
async fn outlived(config: &Config, consumer: &ConsumerConfig, topic: &String) -> Option<Finding> {
    if !consumer.dedup.enabled {
        return None;
    }
    let topics = std::slice::from_ref(topic);
    let kept = retention(&config.kafka, topics).await.ok()?;
    let warning = kept.first()?.outlives(topic, consumer.dedup.ttl.default)?;
    Some(Finding::Warning(format!(
        "consumer {:?}: {warning}",
        consumer.name
    )))
}

/// How many partitions a topic has, all of which were asked for what they hold and what the group has committed.
async fn readable(
    config: &Config,
    consumer: &ConsumerConfig,
    topic: &str,
) -> Result<usize, KafkaError> {
    let partitions = topic_partitions(&config.kafka, topic).await?;
    let count = partitions.len();
    group_offsets(&config.kafka, &consumer.group, partitions).await?;
    Ok(count)
}

/// A dead letter topic that is missing holds nothing up: letters wait in PostgreSQL.
async fn letters_finding(config: &Config, topic: &str) -> Finding {
    match topic_partitions(&config.kafka, topic).await {
        Ok(partitions) => Finding::Fine(format!(
            "dead letter topic {topic:?} has {} partitions",
            partitions.len()
        )),
        Err(error) => Finding::Warning(format!(
            "dead letter topic {topic:?}: {error}; until it can be written to, letters stay in PostgreSQL alone"
        )),
    }
}
