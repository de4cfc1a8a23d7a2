//! Which partition's offset is out of range: asked of the broker, on a thread of its own.

use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::consumer::Consumer as _;
use tidegate_core::record::TopicPartition;

use super::context::Member;

const EACH: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(2);

/// A partition that waits for an offset its log does not have.
pub(super) struct OutOfRange {
    pub(super) partition: TopicPartition,
    pub(super) expected: i64,
    pub(super) why: String,
    /// Whether the position is beyond its log, not only at its end.
    pub(super) certain: bool,
}

/// At most one look at the logs' ranges at a time.
#[derive(Default)]
pub(super) struct Probe {
    running: Option<Receiver<(Vec<OutOfRange>, bool)>>,
    due: Option<Instant>,
}

impl Probe {
    /// Some position is out of range: look which.
    pub(super) fn wanted(&mut self, now: Instant) {
        self.due.get_or_insert(now);
    }

    /// Starts a look that is due, and returns what the last one found.
    pub(super) fn turn(
        &mut self,
        client: &Arc<Member>,
        positions: impl FnOnce() -> Vec<(TopicPartition, i64)>,
    ) -> Vec<OutOfRange> {
        let now = Instant::now();
        let Some(running) = &self.running else {
            if self.due.is_some_and(|due| due <= now) {
                self.start(client, positions());
            }
            return Vec::new();
        };
        let (found, certain) = match running.try_recv() {
            Ok(result) => result,
            Err(TryRecvError::Empty) => return Vec::new(),
            Err(TryRecvError::Disconnected) => (Vec::new(), false),
        };
        self.running = None;
        if found.is_empty() && !certain {
            self.due = Some(now + AGAIN);
        }
        found
    }

    fn start(&mut self, client: &Arc<Member>, positions: Vec<(TopicPartition, i64)>) {
        let (reply, running) = sync_channel(1);
        let client = Arc::downgrade(client);
        let look = move || drop(reply.send(look(&client, positions)));
        let thread = thread::Builder::new().name("kafka-range".to_owned());
        self.due = None;
        match thread.spawn(look) {
            Ok(_) => self.running = Some(running),
            Err(_) => self.due = Some(Instant::now() + AGAIN),
        }
    }
}

/// The positions out of range, and whether every log could be asked. If all could and no position is
/// beyond its log, those at the very end are taken: past a transaction's end marker, the client waits for
/// one more offset than the last record's. Where nobody is there either, anybody's log may have grown again: each is to
/// look at its position anew.
fn look(client: &Weak<Member>, positions: Vec<(TopicPartition, i64)>) -> (Vec<OutOfRange>, bool) {
    let (mut beyond, mut at_end, mut within) = (Vec::new(), Vec::new(), Vec::new());
    let mut certain = true;
    for (partition, expected) in positions {
        let Some(client) = client.upgrade() else {
            return (Vec::new(), true);
        };
        let Ok((low, high)) = client.fetch_watermarks(&partition.topic, partition.partition, EACH)
        else {
            certain = false;
            continue;
        };
        let certainly = expected < low || expected > high;
        let why = match certainly || expected == high {
            true => format!("offset {expected} is out of range: the log holds {low} to {high}"),
            false => format!(
                "some partition's offset was out of range, and this one's may have been: {expected}, where the log holds {low} to {high} now"
            ),
        };
        let out = OutOfRange {
            certain: certainly,
            why,
            partition,
            expected,
        };
        if certainly {
            beyond.push(out);
        } else if expected == high {
            at_end.push(out);
        } else {
            within.push(out);
        }
    }
    let found = match (beyond.is_empty() && certain, at_end.is_empty()) {
        (false, _) => beyond,
        (true, false) => at_end,
        // The log may have been cut and have grown again since.
        (true, true) => within,
    };
    (found, certain)
}
