//! One consumer's handles on the counters and histograms, made once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::{Counter, Histogram};
use tidegate_core::limits::{LOG_BYTES, LOG_LINES, Limit};
use tidegate_core::progress::Counts;
use tidegate_core::record::TopicPartition;
use tidegate_core::verdict::Verdict;
use uuid::Uuid;

use super::codes::Codes;
use super::places::{Place, Places, Stay};
use super::registry::Registry;
use super::table::{self as names, Metric};
use super::tally::{Tally, TenantCounts, Times};
use crate::config::ConsumerConfig;

/// The most tenants of a consumer that are told apart.
const TENANTS: usize = 200;

/// What one consumer measures.
pub struct Meters {
    consumer: Arc<str>,
    registry: Registry,
    topics: HashMap<String, Topic>,
    codes: Codes,
    tenants: Codes,
    batch: Batch,
    guest_cpu: Histogram,
    guest_memory: Histogram,
    published: Counter,
    /// Dead letter topics that have a label of their own.
    letter_topics: Codes,
    places: Arc<Places>,
    /// Batches whose COMMIT was not answered: one a partition at most.
    unknown: Mutex<HashMap<TopicPartition, Tally>>,
}

/// Counters of one topic.
struct Topic {
    outcomes: [Counter; 3],
    duplicates: [Counter; 3],
    taken_over: Counter,
}

/// Histograms of a committed batch.
struct Batch {
    records: Histogram,
    seconds: Histogram,
    queue: Histogram,
    begin: Histogram,
    guest: Histogram,
    statements: Histogram,
    commit: Histogram,
    age: Histogram,
}

impl Meters {
    /// Registers everything that `config`'s consumer measures.
    pub fn new(registry: &Registry, config: &ConsumerConfig) -> Arc<Self> {
        let name = config.name.as_str();
        let histogram = |metric: &'static Metric| registry.histogram(metric, &[name]);
        let topic = |topic: &String| (topic.clone(), Topic::new(registry, name, topic));
        // From zero on, so that a rate is seen from the first one.
        for verdict in Verdict::NAMES {
            registry
                .counter(&names::RETRIES, &[name, verdict])
                .increment(0);
        }
        for limit in Limit::ALL
            .map(Limit::code)
            .iter()
            .chain(&[LOG_LINES, LOG_BYTES])
        {
            registry
                .counter(&names::LIMITS, &[name, limit])
                .increment(0);
        }
        for topic in config.dead_letter_topic.as_deref().into_iter().chain([""]) {
            registry
                .counter(&names::PUBLISH_FAILURES, &[name, topic])
                .increment(0);
        }
        Arc::new(Self {
            consumer: name.into(),
            topics: config.topics.iter().map(topic).collect(),
            codes: Codes::default(),
            tenants: Codes::with_room(TENANTS),
            batch: Batch::new(registry, name),
            guest_cpu: histogram(&names::GUEST_CPU),
            guest_memory: histogram(&names::GUEST_MEMORY),
            published: registry.counter(&names::PUBLISHED, &[name]),
            letter_topics: Codes::with_room(TENANTS),
            places: Arc::default(),
            unknown: Mutex::default(),
            registry: registry.clone(),
        })
    }

    /// The server's own word: this batch is committed.
    pub fn committed(&self, tally: &Tally, times: Times) {
        self.count(tally);
        self.batch.observe(tally, times);
    }

    /// COMMIT was not answered: the partition's next fence finds out, by N under the same token.
    pub fn unanswered(&self, tally: Tally) {
        self.unanswered_ones().insert(tally.source.clone(), tally);
    }

    fn unanswered_ones(&self) -> MutexGuard<'_, HashMap<TopicPartition, Tally>> {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fence found N beyond where this token's owner knew it: the batch whose answer was lost has landed. It is
    /// counted now, without its times.
    pub fn landed(&self, source: &TopicPartition, token: Uuid, next: i64) {
        let tally = self.unanswered_ones().remove(source);
        if let Some(tally) = tally.filter(|t| t.token == token && t.next == next) {
            self.count(&tally);
        }
    }

    fn count(&self, tally: &Tally) {
        let topic = &*tally.source.topic;
        if let Some(counters) = self.topics.get(topic) {
            counters.add(&tally.counts);
        }
        for (kind, code) in &tally.causes {
            let labels = [
                &*self.consumer,
                topic,
                kind.as_str(),
                self.codes.label(code),
            ];
            self.registry
                .counter(&names::DEAD_LETTERS, &labels)
                .increment(1);
        }
        for counts in &tally.tenants {
            self.count_tenant(counts);
        }
        for age in &tally.ages {
            self.batch.age.record(*age);
        }
    }

    fn count_tenant(&self, counts: &TenantCounts) {
        let tenant = self.tenants.label(counts.tenant.as_str());
        let outcomes = [
            ("done", counts.done),
            ("skipped", counts.skipped),
            ("rejected", counts.rejected),
            ("duplicate", counts.duplicate),
        ];
        for (outcome, count) in outcomes.into_iter().filter(|(_, count)| *count > 0) {
            let labels = [&*self.consumer, tenant, outcome];
            let counter = self.registry.counter(&names::TENANT_RECORDS, &labels);
            counter.increment(count);
        }
    }

    /// A dead letter was replayed, and this came of it: a word of few.
    pub fn replayed(&self, result: &'static str) {
        let labels = [&*self.consumer, result];
        self.registry.counter(&names::REPLAYS, &labels).increment(1);
    }

    /// A record of `topic` was skipped because a replay of its event had been handled.
    pub fn duplicate_of_replay(&self, topic: &str) {
        if let Some(counters) = self.topics.get(topic) {
            counters.duplicates[2].increment(1);
        }
    }

    /// An attempt broke and was rolled back: [`Verdict::name`].
    pub fn retried(&self, verdict: &'static str) {
        let labels = [&*self.consumer, verdict];
        self.registry.counter(&names::RETRIES, &labels).increment(1);
    }

    /// A guest ran into the limit of this code, so often.
    pub fn limited(&self, code: &'static str, times: u64) {
        let labels = [&*self.consumer, code];
        self.registry
            .counter(&names::LIMITS, &labels)
            .increment(times);
    }

    /// A guest instance, of a tenant's if it has one, has ended that had used this CPU time and this memory, in bytes.
    pub fn guest_ended(&self, tenant: Option<&str>, (cpu, memory): (Duration, usize)) {
        self.guest_cpu.record(cpu);
        self.guest_memory.record(float(memory));
        if let Some(tenant) = tenant {
            let labels = [&*self.consumer, self.tenants.label(tenant)];
            let micros = u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX);
            self.registry
                .counter(&names::TENANT_CPU, &labels)
                .increment(micros);
        }
    }

    /// So many dead letters are published and marked.
    pub fn published(&self, letters: u64) {
        self.published.increment(letters);
    }

    /// The relay failed and leaves off for a while: at this topic, or without one at the database.
    pub fn publishing_failed(&self, topic: &str) {
        let labels = [&*self.consumer, self.letter_topics.label(topic)];
        self.registry
            .counter(&names::PUBLISH_FAILURES, &labels)
            .increment(1);
    }

    /// A partition is assigned here until the answer is dropped.
    pub fn enter(&self, source: &TopicPartition) -> Stay {
        // Of an earlier token: whether it landed is not found out here any more.
        self.unanswered_ones().remove(source);
        self.places.enter(source)
    }

    /// Where an assigned partition stands.
    pub fn place(&self, source: &TopicPartition) -> Arc<Place> {
        self.places.of(source).unwrap_or_default()
    }

    /// Where every assigned partition stands.
    pub fn places(&self) -> Vec<(TopicPartition, Arc<Place>)> {
        self.places.all()
    }

    /// Waits until another partition is assigned.
    pub async fn place_added(&self) {
        self.places.added.notified().await;
    }
}

impl Topic {
    fn new(registry: &Registry, consumer: &str, topic: &str) -> Self {
        let of = |metric: &'static Metric, word: &str| {
            registry.counter(metric, &[consumer, topic, word])
        };
        Self {
            outcomes: ["done", "skipped", "rejected"].map(|word| of(&names::RECORDS, word)),
            duplicates: ["redelivered", "republished", "replayed"]
                .map(|word| of(&names::DUPLICATES, word)),
            taken_over: registry.counter(&names::TAKEN_OVER, &[consumer, topic]),
        }
    }

    fn add(&self, counts: &Counts) {
        let number = |count: i64| u64::try_from(count).unwrap_or_default();
        let [done, skipped, rejected] = &self.outcomes;
        done.increment(number(counts.done));
        skipped.increment(number(counts.skipped));
        rejected.increment(number(counts.rejected));
        let [redelivered, republished, _] = &self.duplicates;
        redelivered.increment(number(counts.redelivered));
        republished.increment(number(counts.republished));
        self.taken_over.increment(number(counts.taken_over));
    }
}

impl Batch {
    fn new(registry: &Registry, consumer: &str) -> Self {
        let of = |metric: &'static Metric| registry.histogram(metric, &[consumer]);
        let phase = |word: &str| registry.histogram(&names::PHASE_SECONDS, &[consumer, word]);
        Self {
            records: of(&names::BATCH_RECORDS),
            seconds: of(&names::BATCH_SECONDS),
            queue: phase("queue"),
            begin: phase("begin"),
            guest: phase("guest"),
            statements: phase("statements"),
            commit: phase("commit"),
            age: of(&names::DUPLICATE_AGE),
        }
    }

    fn observe(&self, tally: &Tally, times: Times) {
        let total = times.begin + times.guests + times.end;
        let began = Instant::now().checked_sub(total).unwrap_or(tally.fetched);
        self.records.record(float(tally.records));
        self.seconds.record(total);
        self.queue
            .record(began.saturating_duration_since(tally.fetched));
        self.begin.record(times.begin);
        self.guest.record(times.guests);
        self.statements
            .record(times.end.saturating_sub(times.commit));
        self.commit.record(times.commit);
    }
}

/// Nothing that is counted so comes near 2^52.
fn float(count: usize) -> f64 {
    count as f64
}
