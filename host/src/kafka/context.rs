//! What librdkafka calls back: it is only noted here, and acted on by the poll thread between two polls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientContext, TopicPartitionList};
use tidegate_core::record::TopicPartition;

use super::noise::Noise;
use super::pulse::Pulse;
use super::statistics::{self, Fetched};
use super::trouble::LastFailure;
use super::{names, trouble};

/// How librdkafka marks the line that says so.
const SESSION_ENDED: &str = "SESSTMOUT";

/// The client of one group member.
pub(super) type Member = BaseConsumer<Context>;

/// What librdkafka has said since the poll thread last looked.
#[derive(Debug)]
pub(super) enum Signal {
    /// Partitions to take. librdkafka waits for `incremental_assign`.
    Assign(Vec<TopicPartition>),
    /// Partitions to hand over. librdkafka waits for `incremental_unassign`.
    Revoke {
        partitions: Vec<TopicPartition>,
        lost: bool,
    },
    /// The text of the error that `poll` returns next.
    Error(String),
    /// How far fetching has come.
    Fetched(Vec<Fetched>),
}

/// The consumer's callbacks.
pub(super) struct Context {
    consumer: Arc<str>,
    pulse: Arc<Pulse>,
    signals: Mutex<Vec<Signal>>,
    /// Nobody looks at signals any more: rebalances are answered at once.
    closing: AtomicBool,
    log: LibraryLog,
}

impl Context {
    pub(super) fn new(consumer: Arc<str>, pulse: Arc<Pulse>) -> Self {
        Self {
            log: LibraryLog::new(Arc::clone(&consumer)),
            consumer,
            pulse,
            signals: Mutex::default(),
            closing: AtomicBool::new(false),
        }
    }

    /// What has been said since the last call.
    pub(super) fn take(&self) -> Vec<Signal> {
        let mut signals = self.signals.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *signals)
    }

    /// From now on rebalances are answered at once.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Release);
    }

    fn note(&self, signal: Signal) {
        let mut signals = self.signals.lock().unwrap_or_else(PoisonError::into_inner);
        signals.push(signal);
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        // A standby has nothing to lose, so that no callback tells that its session has ended.
        if facility == SESSION_ENDED {
            self.pulse.set_joined(false);
        }
        self.log.line(level, facility, message);
    }

    fn stats_raw(&self, json: &[u8]) {
        self.note(Signal::Fetched(statistics::read(json)));
    }

    fn error(&self, error: Client, reason: &str) {
        self.note(Signal::Error(self.log.in_full(&error, reason)));
    }
}

impl ConsumerContext for Context {
    fn rebalance(&self, client: &Member, what: RDKafkaRespErr, list: &mut TopicPartitionList) {
        let assign = what == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
        if self.closing.load(Ordering::Acquire) {
            answer_at_once(client, assign, &self.consumer);
        } else if assign {
            self.note(Signal::Assign(names::partitions(list)));
        } else {
            self.note(Signal::Revoke {
                partitions: names::partitions(list),
                lost: client.assignment_lost(),
            });
        }
    }
}

/// A closing client takes any answer for "give everything back".
fn answer_at_once(client: &Member, assign: bool, consumer: &str) {
    let none = TopicPartitionList::new();
    let result = if assign {
        client.incremental_assign(&none)
    } else {
        client.incremental_unassign(&none)
    };
    if let Err(error) = result {
        tracing::warn!(consumer, %error, "a rebalance while closing could not be answered");
    }
}

/// librdkafka's own log lines, repeated ones thinned out.
pub(super) struct LibraryLog {
    owner: Arc<str>,
    noise: Noise,
    last: LastFailure,
}

impl LibraryLog {
    pub(super) fn new(owner: Arc<str>) -> Self {
        Self {
            owner,
            noise: Noise::default(),
            last: LastFailure::default(),
        }
    }

    /// An error's words; of all brokers' being down, with why the last one was.
    fn in_full(&self, error: &Client, reason: &str) -> String {
        let last = self.last.text();
        let last = last.filter(|_| error.rdkafka_error_code() == Some(Code::AllBrokersDown));
        match last {
            Some(last) => format!("{reason}, the last one so: {last}"),
            None => reason.to_owned(),
        }
    }

    /// An error that passes by itself, or once somebody has done what is to be done.
    pub(super) fn error(&self, error: &Client, reason: &str) {
        let code = error.rdkafka_error_code();
        let facility = code.map(|code| format!("{code:?}"));
        let facility = facility.as_deref().unwrap_or("ERROR");
        let mut text = self.in_full(error, reason);
        if let Some(remedy) = code.and_then(trouble::remedy) {
            text = format!("{text}; {remedy}");
        }
        self.line(RDKafkaLogLevel::Warning, facility, &text);
    }

    /// One line. librdkafka's errors are mostly a broker's absence, which it mends itself: warnings.
    pub(super) fn line(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        let owner = &*self.owner;
        self.last.keep(facility, message);
        let loud = matches!(
            level,
            RDKafkaLogLevel::Emerg
                | RDKafkaLogLevel::Alert
                | RDKafkaLogLevel::Critical
                | RDKafkaLogLevel::Error
                | RDKafkaLogLevel::Warning
        );
        // CONFWARN: an option that is another kind of client's; the same table serves all kinds.
        // FAIL: what the error callback is told too.
        if !loud || matches!(facility, "CONFWARN" | "FAIL") {
            tracing::debug!(target: "librdkafka", owner, facility, "{message}");
        } else if let Some(held_back) = self.noise.let_through(facility, Instant::now()) {
            tracing::warn!(target: "librdkafka", owner, facility, held_back, "{message}");
        }
    }
}
