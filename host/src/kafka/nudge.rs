//! Wakes librdkafka's fetching after a partition was started or resumed.
//!
//! librdkafka tells its broker threads nothing of either: one that waits for nothing else looks again when its
//! timer of a second has run out. Any request to the partition's leader wakes it, so the log's range is asked
//! for and thrown away, on a thread that may wait for the answer.

use std::sync::Weak;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use rdkafka::consumer::Consumer as _;
use tidegate_core::record::TopicPartition;

use super::context::Member;

/// Nudges that wait for the one under way. One more is not needed: those that wait wake their brokers too.
const WAITING: usize = 64;
const PATIENCE: Duration = Duration::from_secs(1);

/// The thread's handle; the thread ends with it.
pub(super) struct Nudge(SyncSender<TopicPartition>);

impl Nudge {
    /// Starts the thread.
    pub(super) fn spawn(consumer: &str, client: Weak<Member>) -> std::io::Result<Self> {
        let (sender, wanted) = sync_channel(WAITING);
        thread::Builder::new()
            .name(format!("nudge-{consumer}"))
            .spawn(move || nudge(&wanted, &client))?;
        Ok(Self(sender))
    }

    /// Has the leaders of `partitions` woken soon.
    pub(super) fn wake(&self, partitions: &[TopicPartition]) {
        for tp in partitions {
            self.0.try_send(tp.clone()).ok();
        }
    }
}

fn nudge(wanted: &Receiver<TopicPartition>, client: &Weak<Member>) {
    while let Ok(tp) = wanted.recv() {
        let Some(client) = client.upgrade() else {
            return;
        };
        // Whatever the answer: a leader that cannot give one has no records to fetch either.
        client
            .fetch_watermarks(&tp.topic, tp.partition, PATIENCE)
            .ok();
    }
}
