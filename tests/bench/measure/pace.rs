//! A producer that keeps a pace and the time of each record.

use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow};
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer as _, ThreadedProducer};
use tidegate_tests::Rec;

use crate::peer::Job;

/// How long the broker may take for the last records.
const FLUSH: Duration = Duration::from_secs(10);

/// All records of a load, ready to be sent.
pub(crate) struct Producer {
    shared: Arc<Shared>,
}

struct Shared {
    producer: ThreadedProducer<DefaultProducerContext>,
    topic: String,
    records: Vec<Rec>,
    times: Mutex<Vec<(String, i64)>>,
}

impl Producer {
    /// Connects. It waits for no company: each record goes at once.
    pub(crate) fn new(job: &Job<'_>) -> Result<Self> {
        let producer = ClientConfig::new()
            .set("bootstrap.servers", job.env.kafka.bootstrap())
            .set("acks", "all")
            .set("linger.ms", "0")
            .create()?;
        let shared = Shared {
            producer,
            topic: job.stock.topic.clone(),
            records: job.stock.payments.chunks(10_000).flatten().collect(),
            times: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Sends these records, evenly over the time that the pace takes, from a thread of its own. The times of paced
    /// ones are kept.
    pub(crate) async fn send(
        &self,
        part: impl RangeBounds<usize>,
        per_second: Option<usize>,
    ) -> Result<()> {
        let (from, to) = (part.start_bound().cloned(), part.end_bound().cloned());
        let shared = Arc::clone(&self.shared);
        tokio::task::spawn_blocking(move || shared.send((from, to), per_second)).await?
    }

    /// Event ids, and when each paced record was sent, in microseconds since 1970.
    pub(crate) fn times(&self) -> Vec<(String, i64)> {
        let times = self.shared.times.lock();
        times.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    fn send(
        &self,
        part: (std::ops::Bound<usize>, std::ops::Bound<usize>),
        per_second: Option<usize>,
    ) -> Result<()> {
        let mut due = Instant::now();
        for record in &self.records[part] {
            if let Some(pace) = per_second {
                due += Duration::from_secs(1) / u32::try_from(pace)?;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                self.note(record)?;
            }
            self.produce(record)?;
        }
        Ok(self.producer.flush(FLUSH)?)
    }

    fn note(&self, record: &Rec) -> Result<()> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let id = String::from_utf8_lossy(event_id(record)?).into_owned();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push((id, i64::try_from(now.as_micros())?));
        Ok(())
    }

    fn produce(&self, record: &Rec) -> Result<()> {
        let header = Header {
            key: "event-id",
            value: Some(event_id(record)?),
        };
        let mut message = BaseRecord::to(&self.topic).headers(OwnedHeaders::new().insert(header));
        message.partition = record.partition;
        message.key = record.key.as_ref();
        message.payload = record.value.as_ref();
        let sent = self.producer.send(message);
        sent.map_err(|(e, _)| anyhow!("cannot produce: {e}"))
    }
}

fn event_id(record: &Rec) -> Result<&[u8]> {
    let header = record.headers.first().and_then(|(_, id)| id.as_deref());
    header.context("a record without an event id")
}
