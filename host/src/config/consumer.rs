//! Reads one `[[consumer]]`.

use std::path::Path;
use std::time::Duration;

use tidegate_core::backoff::RetryPolicy;
use tidegate_core::batch::BatchLimits;
use tidegate_core::brake::BrakePolicy;
use tidegate_core::resume::Start;

use super::dedup;
use super::guest;
use super::names;
use super::problems::{Place, Problems};
use super::section::Section;
use super::tree::{Table, Value};
use super::{ConsumerConfig, QueueLimits, defaults, tenants};

/// A consumer, and the places that rules across consumers point at.
pub(super) struct ReadConsumer {
    pub(super) config: ConsumerConfig,
    /// How errors name it, such as `consumer "billing": `.
    pub(super) label: String,
    pub(super) name_at: Place,
    pub(super) group_at: Place,
    pub(super) dead_letter_at: Place,
    /// Whose CPU limits there are: label, limit and place of each.
    pub(super) cpu: Vec<(String, Duration, Place)>,
    pub(super) drain_at: Place,
}

/// Reads the `n`th consumer, from 0.
pub(super) fn read(
    n: usize,
    (table, at): (&Table, &Place),
    base: &Path,
    problems: &Problems,
) -> ReadConsumer {
    let label = format!("consumer {}: ", n + 1);
    let names = (label, "consumer.".to_owned());
    let mut section = Section::new(Some(table), at.clone(), names, problems);
    let name = names::consumer(&section);
    let label = match name.as_str() {
        "" => format!("consumer {}: ", n + 1),
        name => format!("consumer {name:?}: "),
    };
    section.relabel(label.clone());
    let topics = names::topics(&section);
    let (dead_letter_topic, dead_letter_at, letters) = names::dead_letter(&section, &topics);
    let batch = batch(section.child("batch"));
    let (guest, cpu_at) = guest::read(&section, base);
    let mut cpu = vec![(label.clone(), guest.limits.cpu, cpu_at)];
    let tenants = tenants::read(&section, base, &guest, &mut cpu);
    let config = ConsumerConfig {
        group: names::group(&section, &name),
        guest,
        start: section.choice_or("start", &STARTS, Start::Earliest),
        dedup: dedup::read(&section),
        batch,
        queue: queue(section.child("queue"), batch),
        retry: retry(section.child("retry"), section.has("tenants")),
        brake: brake(&section),
        dead_letter_topic,
        letters,
        drain_timeout: section.duration(
            "drain_timeout",
            defaults::DRAIN_TIMEOUT,
            Duration::from_millis(100)..=Duration::from_secs(240),
        ),
        tenants,
        directory: base.to_owned(),
        name,
        topics,
    };
    tenants::check_topics(&section, &config);
    let read = ReadConsumer {
        config,
        label,
        name_at: section.place("name"),
        group_at: section.place("group"),
        dead_letter_at,
        cpu,
        drain_at: section.place("drain_timeout"),
    };
    section.finish();
    read
}

const STARTS: [(&str, Start); 2] = [("earliest", Start::Earliest), ("latest", Start::Latest)];

/// `key = "off"` in place of a table.
pub(super) fn is_off(section: &Section<'_>, key: &'static str) -> bool {
    match section.node(key).map(|node| &node.value) {
        Some(Value::Text(text)) if text == "off" => {
            section.show(key, "off");
            true
        }
        Some(Value::Text(text)) => {
            section.error(
                key,
                format!(r#"{text:?} is not known; write "off" or a table"#),
            );
            true
        }
        _ => false,
    }
}

fn batch(batch: Section<'_>) -> BatchLimits {
    let default = BatchLimits::default();
    let limits = BatchLimits {
        max_records: batch.count(
            "max_records",
            default.max_records,
            1..=defaults::BATCH_RECORDS_BOUND,
        ),
        max_bytes: batch.size("max_bytes", default.max_bytes, 1..=defaults::BYTES_BOUND),
        max_wait: batch.duration(
            "max_wait",
            default.max_wait,
            Duration::ZERO..=defaults::MAX_WAIT_BOUND,
        ),
    };
    batch.finish();
    limits
}

/// A queue holds at least one batch; by default the larger of two batches and the usual default.
fn queue(queue: Section<'_>, batch: BatchLimits) -> QueueLimits {
    let records = defaults::QUEUE_RECORDS.max(2 * batch.max_records);
    let bytes = defaults::QUEUE_BYTES.max(2 * batch.max_bytes);
    let limits = QueueLimits {
        max_records: queue.count(
            "max_records",
            records,
            1..=10 * defaults::BATCH_RECORDS_BOUND,
        ),
        max_bytes: queue.size("max_bytes", bytes, 1..=2 * defaults::BYTES_BOUND),
    };
    if limits.max_records < batch.max_records {
        let text = format!("is less than batch.max_records, {}", batch.max_records);
        queue.error("max_records", text);
    }
    if limits.max_bytes < batch.max_bytes {
        queue.error("max_bytes", "is less than batch.max_bytes");
    }
    queue.finish();
    limits
}

/// Where tenants share a partition, one that asks for another try holds up the others: not for long by default.
fn retry(retry: Section<'_>, tenants: bool) -> RetryPolicy {
    let mut default = RetryPolicy::default();
    if tenants {
        default.max = defaults::TENANTS_RETRY_MAX;
        default.max_elapsed = defaults::TENANTS_RETRY_ELAPSED;
    }
    let range = Duration::from_millis(1)..=defaults::WAIT_BOUND;
    let policy = RetryPolicy {
        initial: retry.duration("initial", default.initial, range.clone()),
        max: retry.duration("max", default.max, range),
        max_elapsed: retry.duration(
            "max_elapsed",
            default.max_elapsed,
            Duration::ZERO..=30 * defaults::WAIT_BOUND,
        ),
        max_attempts: attempts(&retry),
    };
    if policy.initial > policy.max {
        let key = if retry.has("initial") {
            "initial"
        } else {
            "max"
        };
        retry.error(key, "initial is longer than max");
    }
    retry.finish();
    policy
}

/// `max_attempts`; none unless it is given.
fn attempts(retry: &Section<'_>) -> Option<u32> {
    retry.node("max_attempts")?;
    let most = retry.count("max_attempts", 1, 1..=1_000_000);
    Some(u32::try_from(most).unwrap_or(u32::MAX))
}

/// `[consumer.brake]`, or `brake = "off"`.
fn brake(consumer: &Section<'_>) -> Option<BrakePolicy> {
    if is_off(consumer, "brake") {
        return None;
    }
    let brake = consumer.child("brake");
    let default = BrakePolicy::default();
    let policy = BrakePolicy {
        window: brake.count("window", default.window, 1..=defaults::BRAKE_WINDOW_BOUND),
        share: brake.share("share", default.share),
        traps: brake.count("traps", default.traps, 0..=defaults::BRAKE_WINDOW_BOUND),
    };
    brake.finish();
    Some(policy)
}
