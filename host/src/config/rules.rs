//! Rules across consumers and sections.

use std::time::Duration;

use super::consumer::ReadConsumer;
use super::problems::Problems;
use super::section::Section;
use super::{KafkaConfig, PostgresConfig};

/// Checks what no consumer can check alone.
pub(super) fn across(consumers: &[ReadConsumer], problems: &Problems) {
    for (n, this) in consumers.iter().enumerate() {
        for other in consumers.iter().take(n) {
            same_name(this, other, problems);
            same_group(this, other, problems);
        }
        own_dead_letters(this, consumers, problems);
    }
}

fn same_name(this: &ReadConsumer, other: &ReadConsumer, problems: &Problems) {
    if this.config.name == other.config.name && !this.config.name.is_empty() {
        let text = format!(
            "{}name: another consumer has it too; names are unique",
            this.label
        );
        problems.error(&this.name_at, text);
    }
}

/// Two consumers of one group would split a topic's partitions, each seeing half of the events.
fn same_group(this: &ReadConsumer, other: &ReadConsumer, problems: &Problems) {
    let (a, b) = (&this.config, &other.config);
    if a.group != b.group || a.group.is_empty() || a.name == b.name {
        return;
    }
    if let Some(topic) = a.topics.iter().find(|topic| b.topics.contains(topic)) {
        let text = format!(
            "{}group: {:?} reads {topic:?} for consumer {:?} too, and they would split its partitions; give each a group of its own",
            this.label, a.group, b.name
        );
        problems.error(&this.group_at, text);
    }
}

/// A dead letter topic that some consumer reads would feed letters back into the host.
fn own_dead_letters(this: &ReadConsumer, all: &[ReadConsumer], problems: &Problems) {
    let own = this.config.dead_letter_topic.iter();
    let own = own.map(|topic| ("dead_letter.topic".to_owned(), topic));
    let tenants = this.config.tenants.iter().flat_map(|t| &t.listed);
    let tenants = tenants.filter_map(|(name, tenant)| {
        let topic = tenant.dead_letter_topic.as_ref()?;
        Some((format!("tenant.{name}.dead_letter_topic"), topic))
    });
    for (key, topic) in own.chain(tenants) {
        let mut readers = all.iter();
        if let Some(reader) = readers.find(|other| other.config.topics.contains(topic)) {
            let text = format!(
                "{}{key}: {topic:?} is read by consumer {:?} of this file; letters would be handled as events; name another topic",
                this.label, reader.config.name
            );
            problems.error(&this.dead_letter_at, text);
        }
    }
}

/// What a guest's CPU limit is exceeded by before it is enforced, and what the host itself takes in between.
const SLACK: Duration = Duration::from_secs(5);

/// A session whose guest computes looks idle to the server: it must outlast one record's CPU time beside a
/// batch's own share, or the server ends the batch as that of a host gone silent, again and again.
pub(super) fn silence(
    consumers: &[ReadConsumer],
    section: &Section<'_>,
    postgres: &PostgresConfig,
    problems: &Problems,
) {
    let idle = postgres.idle_in_transaction_timeout;
    for (label, cpu, cpu_at) in consumers.iter().flat_map(|this| &this.cpu) {
        let computes = *cpu + SLACK;
        if computes + idle / 4 < idle {
            continue;
        }
        let key = "idle_in_transaction_timeout";
        let at = match section.has(key) {
            true => section.place(key),
            false => cpu_at.clone(),
        };
        let least = (computes * 4 / 3).as_secs() + 1;
        let text = format!(
            "{label}limits.cpu: {cpu:?}, {SLACK:?} more and a quarter of postgres.{key} ({idle:?}) must be less than {key}, or the server ends batches that still compute; set {key} to {least}s or more, or lower limits.cpu"
        );
        problems.error(&at, text);
    }
}

/// A statement that waits for a lock must end as one that waited, not as one that took too long.
pub(super) fn locks(section: &Section<'_>, postgres: &PostgresConfig) {
    let (lock, statement) = (postgres.lock_timeout, postgres.statement_timeout);
    if lock < statement {
        return;
    }
    let (key, word) = match section.has("lock_timeout") {
        true => ("lock_timeout", "lower it"),
        false => ("statement_timeout", "raise it, or lower lock_timeout"),
    };
    let text = format!(
        "lock_timeout ({lock:?}) must be shorter than statement_timeout ({statement:?}), or a wait for another transaction looks like the record's own fault; {word}"
    );
    section.error(key, text);
}

/// librdkafka's own default of `max.poll.interval.ms`, by which the group waits for members that rebalance.
const POLL_INTERVAL: Duration = Duration::from_secs(300);

/// The group gives a partition away once a member has taken longer than that to hand it over: a batch that is granted
/// more is fenced and rolled back at its end. Heartbeats go on meanwhile, so sessions do not matter.
pub(super) fn drains(consumers: &[ReadConsumer], kafka: &KafkaConfig, problems: &Problems) {
    let given = kafka.librdkafka.get("max.poll.interval.ms");
    let interval = given.and_then(|ms| ms.parse().ok());
    let interval = interval.map_or(POLL_INTERVAL, Duration::from_millis);
    for this in consumers
        .iter()
        .filter(|c| c.config.drain_timeout >= interval)
    {
        let text = format!(
            "{}drain_timeout: {:?} is not shorter than max.poll.interval.ms ({interval:?}), after which the group gives a revoked partition away: a batch that takes so long is rolled back; lower drain_timeout or raise max.poll.interval.ms",
            this.label, this.config.drain_timeout
        );
        problems.warn(&this.drain_at, text);
    }
}
