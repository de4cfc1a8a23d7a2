//! librdkafka's options: what the host owns, what it sets unless told otherwise, what is passed through.

use std::collections::BTreeMap;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError as Client;

use crate::config::KafkaConfig;

/// Options that `[kafka.librdkafka]` may not set, and why.
const RESERVED: &[(&str, &str)] = &[
    ("bootstrap.servers", "it is [kafka] bootstrap_servers"),
    ("metadata.broker.list", "it is [kafka] bootstrap_servers"),
    ("group.id", "it is the consumer's group"),
    ("enable.auto.commit", COMMITS),
    ("auto.commit.enable", COMMITS),
    ("auto.commit.interval.ms", COMMITS),
    ("enable.auto.offset.store", COMMITS),
    ("offset.store.method", COMMITS),
    (
        "auto.offset.reset",
        "where to start is the consumer's `start`, and where to go on is in PostgreSQL",
    ),
    ("isolation.level", "the host reads committed records only"),
    (
        "partition.assignment.strategy",
        "the host's rebalancing is cooperative-sticky",
    ),
    (
        "group.protocol",
        "the host's rebalancing is the classic protocol's",
    ),
    (
        "group.remote.assignor",
        "the host's rebalancing is the classic protocol's",
    ),
    (
        "enable.partition.eof",
        "the host decides it for each client",
    ),
    ("check.crcs", "the host always checks what it reads"),
    (
        "allow.auto.create.topics",
        "the host never creates topics by reading",
    ),
    (
        "statistics.interval.ms",
        "the host reads librdkafka's statistics at its own pace",
    ),
    ("log_level", "the log's level is the host's"),
    (
        "log.queue",
        "librdkafka's log lines go through the host's log",
    ),
    ("plugin.library.paths", "the host loads no native code"),
    ("acks", DEAD_LETTERS),
    ("request.required.acks", DEAD_LETTERS),
    ("enable.idempotence", DEAD_LETTERS),
    ("transactional.id", DEAD_LETTERS),
    (
        "delivery.report.only.error",
        "the host learns from its report that a dead letter is published",
    ),
    ("message.timeout.ms", DELIVERY),
    ("delivery.timeout.ms", DELIVERY),
];

const COMMITS: &str = "the host commits an offset only after the database has";
const DELIVERY: &str = "the host decides how long a dead letter may take, and sends it again";
const DEAD_LETTERS: &str = "dead letters are published idempotently, with acks=all";

/// What a consumer gets unless the file says otherwise. Prefetching is kept small: a partition is paused
/// when its queue is full, and librdkafka throws away what it had prefetched for it.
const CONSUMER: &[(&str, &str)] = &[
    ("client.id", "tidegate"),
    ("topic.metadata.refresh.interval.ms", "10000"),
    ("reconnect.backoff.max.ms", "5000"),
    ("queued.min.messages", "5000"),
    ("queued.max.messages.kbytes", "8192"),
    ("fetch.queue.backoff.ms", "5"),
    ("fetch.wait.max.ms", "100"),
    ("fetch.message.max.bytes", "524288"),
];

const CONSUMER_OWN: &[(&str, &str)] = &[
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("auto.offset.reset", "error"),
    ("isolation.level", "read_committed"),
    ("check.crcs", "true"),
    ("allow.auto.create.topics", "false"),
    ("partition.assignment.strategy", "cooperative-sticky"),
];

const PRODUCER: &[(&str, &str)] = &[
    ("client.id", "tidegate"),
    ("reconnect.backoff.max.ms", "5000"),
    ("topic.metadata.refresh.interval.ms", "10000"),
    ("topic.metadata.propagation.max.ms", "5000"),
    // A letter is its record and the error's headers: larger than what the source's limit let in.
    ("message.max.bytes", "16777216"),
    ("queue.buffering.max.messages", "10000"),
    ("queue.buffering.max.kbytes", "65536"),
    // Where Java's producers put the key.
    ("partitioner", "murmur2_random"),
];

const PRODUCER_OWN: &[(&str, &str)] = &[
    ("enable.idempotence", "true"),
    ("acks", "all"),
    ("delivery.report.only.error", "false"),
    // Sooner than the publisher gives a letter up, so that what it gives up is not under way.
    ("message.timeout.ms", "30000"),
];

/// A member of `group`, or with `eof` a reader that wants to know where the log ends.
pub(super) fn consumer(kafka: &KafkaConfig, group: &str, eof: bool) -> ClientConfig {
    let mut config = client(kafka, CONSUMER, CONSUMER_OWN);
    config.set("group.id", group);
    config.set("enable.partition.eof", if eof { "true" } else { "false" });
    config
}

/// A client that asks about settings.
pub(super) fn admin(kafka: &KafkaConfig) -> ClientConfig {
    client(kafka, &[("client.id", "tidegate")], &[])
}

/// The dead letters' producer.
pub(super) fn producer(kafka: &KafkaConfig) -> ClientConfig {
    client(kafka, PRODUCER, PRODUCER_OWN)
}

fn client(kafka: &KafkaConfig, defaults: &[(&str, &str)], own: &[(&str, &str)]) -> ClientConfig {
    let mut config = ClientConfig::new();
    // What closed a connection is said no louder.
    config.set_log_level(RDKafkaLogLevel::Info);
    for (name, value) in defaults {
        config.set(*name, *value);
    }
    for (name, value) in &kafka.librdkafka {
        config.set(name, value);
    }
    for (name, value) in own {
        config.set(*name, *value);
    }
    config.set("bootstrap.servers", &kafka.bootstrap_servers);
    config
}

/// Looks through `[kafka.librdkafka]`: each option that is reserved, unknown or ill-formed, with the reason.
/// Values never appear in a reason: they may be secrets.
pub fn check_options(librdkafka: &BTreeMap<String, String>) -> Vec<(String, String)> {
    librdkafka
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), problem(name, value)?)))
        .collect()
}

fn problem(name: &str, value: &str) -> Option<String> {
    if let Some((_, why)) = RESERVED.iter().find(|(reserved, _)| *reserved == name) {
        return Some(format!("the host owns it: {why}"));
    }
    if name.contains('\0') || value.contains('\0') {
        return Some("it holds a NUL character".to_owned());
    }
    let mut config = ClientConfig::new();
    match config.set(name, value).create_native_config() {
        Ok(_) => None,
        Err(Client::ClientConfig(_, text, ..)) if value.is_empty() => Some(text),
        Err(Client::ClientConfig(_, text, ..)) => Some(text.replace(value, "…")),
        Err(other) => Some(super::error::text(&other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(options: &[(&str, &str)]) -> Vec<(String, String)> {
        let options = options
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        check_options(&options.collect())
    }

    #[test]
    fn reserved_unknown_and_ill_formed_options_are_all_reported() {
        let problems = check(&[
            ("group.id", "x"),
            ("session.timeout.ms", "6000"),
            ("session.timeout.msec", "6000"),
            ("max.poll.interval.ms", "soon"),
            ("sasl.password", "secret"),
            ("client.id", "a\0b"),
            ("delivery.report.only.error", "true"),
            ("delivery.timeout.ms", "0"),
        ]);
        let names: Vec<_> = problems.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "client.id",
                "delivery.report.only.error",
                "delivery.timeout.ms",
                "group.id",
                "max.poll.interval.ms",
                "session.timeout.msec"
            ]
        );
        assert!(problems[3].1.contains("the consumer's group"));
        assert!(!problems[4].1.contains("soon"), "{problems:?}");
    }

    #[test]
    fn everything_the_host_sets_is_known_to_librdkafka() {
        let kafka = KafkaConfig {
            bootstrap_servers: "localhost:9092".to_owned(),
            librdkafka: BTreeMap::new(),
        };
        consumer(&kafka, "g", false).create_native_config().unwrap();
        producer(&kafka).create_native_config().unwrap();
        for (name, _) in RESERVED {
            assert!(
                !CONSUMER
                    .iter()
                    .chain(PRODUCER)
                    .any(|(default, _)| default == name)
            );
        }
    }
}
