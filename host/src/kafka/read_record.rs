//! Reading one record: "is it the same log?"

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::Message as _;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use rdkafka::{ClientConfig, ClientContext, TopicPartitionList};
use tidegate_core::record::{Record, TopicPartition};

use super::context::LibraryLog;
use super::{KafkaError, convert, error, names, options};
use crate::config::KafkaConfig;

/// Never joined, never committed to: assigning a partition needs some group's name.
const GROUP: &str = "tidegate-read-record";
const TURN: Duration = Duration::from_millis(100);

/// What stands at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// This record.
    Record(Box<Record>),
    /// None: compacted, below the log's start, beyond its end, or a transaction's marker.
    Gone,
}

/// Reads the record at `offset`, with a short-lived client that joins no group.
///
/// # Errors
/// Kafka cannot be asked within `deadline`, or refuses.
pub async fn read_record(
    kafka: &KafkaConfig,
    tp: &TopicPartition,
    offset: i64,
    deadline: Duration,
) -> Result<Found, KafkaError> {
    names::check_topic(&tp.topic)?;
    let at = names::at(tp, offset)?;
    let config = options::consumer(kafka, GROUP, true);
    let (tp, last) = (tp.clone(), Instant::now() + deadline);
    let what = format!("the record at offset {offset} of {tp}");
    let late = || KafkaError::Timeout {
        what: what.clone(),
        after: deadline,
    };
    let (reply, answer) = tokio::sync::oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let client = connect(&config, &tp, &at);
        let found = client.as_ref().map_err(Clone::clone);
        let found = found.and_then(|client| look(client, &tp, offset, last));
        reply.send(found).ok();
        // The client's end takes a while; nobody waits for it.
        drop(client);
    });
    let answer = tokio::time::timeout(deadline + TURN, answer).await;
    answer
        .map_err(|_| late())?
        .map_err(|_| late())??
        .ok_or_else(late)
}

struct Quiet(LibraryLog);

impl ClientContext for Quiet {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.line(level, facility, message);
    }

    fn stats_raw(&self, _: &[u8]) {}

    fn error(&self, error: Client, reason: &str) {
        // Where the log ends, or that the offset is not in it, is an answer.
        if !matches!(
            error.rdkafka_error_code(),
            Some(Code::PartitionEOF | Code::AutoOffsetReset | Code::OffsetOutOfRange)
        ) {
            self.0.error(&error, reason);
        }
    }
}

impl ConsumerContext for Quiet {}

fn connect(
    config: &ClientConfig,
    tp: &TopicPartition,
    at: &TopicPartitionList,
) -> Result<BaseConsumer<Quiet>, KafkaError> {
    let owner: Arc<str> = format!("a look at {tp}").into();
    let quiet = Quiet(LibraryLog::new(Arc::clone(&owner)));
    let client: BaseConsumer<Quiet> = config
        .create_with_context(quiet)
        .map_err(|e| KafkaError::options(&*owner, &e))?;
    client
        .assign(at)
        .map_err(|e| KafkaError::refused("assigning a partition", &e))?;
    Ok(client)
}

/// What stands at `offset`; none if the time is over.
fn look(
    client: &BaseConsumer<Quiet>,
    tp: &TopicPartition,
    offset: i64,
    last: Instant,
) -> Result<Option<Found>, KafkaError> {
    while Instant::now() < last {
        match client.poll(TURN) {
            None => {}
            Some(Ok(message)) if message.offset() < offset => {}
            Some(Ok(message)) if message.offset() == offset => {
                let record = convert::record(&message, tp.clone());
                return Ok(Some(Found::Record(Box::new(record))));
            }
            Some(Ok(_) | Err(Client::PartitionEOF(_))) => return Ok(Some(Found::Gone)),
            Some(Err(e)) => match e.rdkafka_error_code() {
                Some(Code::AutoOffsetReset | Code::OffsetOutOfRange) => {
                    return Ok(Some(Found::Gone));
                }
                // The group is never used: what the broker thinks of it does not matter.
                Some(Code::GroupAuthorizationFailed) => {}
                Some(code) if error::remedy(code).is_some() => {
                    return Err(KafkaError::refused(format!("reading {tp}"), &e));
                }
                _ => {}
            },
        }
    }
    Ok(None)
}
