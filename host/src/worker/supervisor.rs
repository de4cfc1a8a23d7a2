//! One consumer: answers the group's events with partition tasks, and owns them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tidegate_core::record::TopicPartition;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::KafkaConfig;
use crate::kafka::GroupEvent;
use crate::worker::owner::{Hold, own};
use crate::worker::shared::Shared;

/// Runs one consumer until `stop`, or until its Kafka client fails for good: the error says how.
pub async fn supervise(
    shared: Arc<Shared>,
    kafka: Arc<KafkaConfig>,
    mut events: mpsc::Receiver<GroupEvent>,
    stop: CancellationToken,
) -> Result<(), String> {
    let mut owned = Owned {
        shared,
        kafka,
        tasks: HashMap::new(),
    };
    let result = loop {
        let event = tokio::select! {
            () = stop.cancelled() => break Ok(()),
            event = events.recv() => event,
        };
        match event {
            Some(GroupEvent::Assigned(partitions)) => owned.take(partitions),
            Some(GroupEvent::Revoked(partitions)) => {
                let deadline = Instant::now() + owned.shared.config.drain_timeout;
                owned.give_back(partitions, Hold::Draining(deadline)).await;
            }
            Some(GroupEvent::Lost(partitions)) => owned.give_back(partitions, Hold::Lost).await,
            Some(GroupEvent::Failed(error)) => break Err(error.to_string()),
            None => break Err("the Kafka client ended by itself".to_owned()),
        }
    };
    owned.shared.ending();
    owned.end_all().await;
    result
}

struct Owned {
    shared: Arc<Shared>,
    kafka: Arc<KafkaConfig>,
    tasks: HashMap<TopicPartition, Task>,
}

struct Task {
    hold: watch::Sender<Hold>,
    join: JoinHandle<()>,
}

impl Owned {
    fn take(&mut self, partitions: Vec<TopicPartition>) {
        for source in partitions {
            let (hold, held) = watch::channel(Hold::Held);
            let run = own(
                self.shared.clone(),
                self.kafka.clone(),
                source.clone(),
                held,
            );
            self.tasks.insert(
                source,
                Task {
                    hold,
                    join: tokio::spawn(run),
                },
            );
        }
    }

    async fn give_back(&mut self, partitions: Vec<TopicPartition>, how: Hold) {
        self.end(&partitions, how).await;
        if let Err(error) = self.shared.kafka.release(partitions).await {
            tracing::warn!(consumer = %self.shared.name, %error, "Kafka did not take the partitions back");
        }
    }

    async fn end_all(&mut self) {
        let all: Vec<_> = self.tasks.keys().cloned().collect();
        let deadline = Instant::now() + self.shared.config.drain_timeout;
        self.end(&all, Hold::Draining(deadline)).await;
    }

    /// Ends the tasks of `partitions` and waits for them, to the deadline and a little more; what does not
    /// end by then is aborted, which rolls its transaction back.
    async fn end(&mut self, partitions: &[TopicPartition], how: Hold) {
        let limit = match how {
            Hold::Draining(deadline) => deadline.saturating_duration_since(Instant::now()),
            Hold::Held | Hold::Lost => Duration::from_secs(1),
        };
        let mut tasks: Vec<_> = partitions
            .iter()
            .filter_map(|p| self.tasks.remove(p))
            .collect();
        for task in &tasks {
            task.hold.send_replace(how);
        }
        // A task whose hold is gone takes its partition for lost: the holds stay until the tasks have ended.
        join_all(
            tasks
                .iter_mut()
                .map(|task| finish(&mut task.join, limit + Duration::from_millis(500))),
        )
        .await;
        for source in partitions {
            self.shared.disowns(source);
        }
    }
}

async fn finish(join: &mut JoinHandle<()>, limit: Duration) {
    if tokio::time::timeout(limit, &mut *join).await.is_err() {
        tracing::warn!("a partition did not end by its deadline; its batch is rolled back");
        join.abort();
        let _aborted = join.await;
    }
}
