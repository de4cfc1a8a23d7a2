//! One consumer: answers the group's events with partition tasks, and owns them.

use std::sync::Arc;
use std::time::Instant;

use tidegate_core::record::TopicPartition;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::config::KafkaConfig;
use crate::kafka::GroupEvent;
use crate::worker::owner::{Hold, own};
use crate::worker::shared::Shared;
use crate::worker::tasks::Tasks;

/// Runs one consumer until `stop`, or until its Kafka client fails for good: the error says how.
pub async fn supervise(
    shared: Arc<Shared>,
    kafka: Arc<KafkaConfig>,
    mut events: mpsc::Receiver<GroupEvent>,
    stop: CancellationToken,
) -> Result<(), String> {
    // Who begins at the end of its topics joins once it is written down where that was.
    tokio::select! {
        () = stop.cancelled() => return Ok(()),
        () = shared.registration.clone().done() => {}
    }
    shared
        .kafka
        .join()
        .await
        .map_err(|error| error.to_string())?;
    let mut owned = Owned {
        shared,
        kafka,
        tasks: Tasks::default(),
    };
    let result = loop {
        let event = tokio::select! {
            () = stop.cancelled() => break Ok(()),
            event = events.recv() => event,
            fallen = owned.tasks.fallen() => break Err(fallen),
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
    tasks: Tasks,
}

impl Owned {
    fn take(&mut self, partitions: Vec<TopicPartition>) {
        for source in partitions {
            let (shared, kafka) = (self.shared.clone(), self.kafka.clone());
            let (own_source, stay) = (source.clone(), shared.meters.enter(&source));
            self.tasks
                .start(source, |hold| own(shared, kafka, own_source, hold, stay));
        }
    }

    async fn give_back(&mut self, partitions: Vec<TopicPartition>, how: Hold) {
        self.end(&partitions, how).await;
        if let Err(error) = self.shared.kafka.release(partitions).await {
            tracing::warn!(consumer = %self.shared.name, %error, "Kafka did not take the partitions back");
        }
    }

    async fn end(&mut self, partitions: &[TopicPartition], how: Hold) {
        self.tasks.end(partitions, how).await;
        for source in partitions {
            self.shared.disowns(source);
        }
    }

    async fn end_all(&mut self) {
        let deadline = Instant::now() + self.shared.config.drain_timeout;
        let all = self.tasks.sources();
        self.end(&all, Hold::Draining(deadline)).await;
    }
}
