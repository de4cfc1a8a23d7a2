//! Warns, once, where topics keep records for longer than event ids are remembered. Nothing waits for it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::config::{Config, ConsumerConfig};
use crate::kafka;

/// How long between two questions, while Kafka does not answer.
const AGAIN: Duration = Duration::from_secs(60);

/// Asks Kafka about every consumer's topics until it has answered or `stop` comes.
pub(super) async fn warn(config: Config, stop: CancellationToken) {
    let all = async {
        for consumer in config.consumers.iter().filter(|c| c.dedup.enabled) {
            warn_of(&config, consumer).await;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = all => {}
    }
}

async fn warn_of(config: &Config, consumer: &ConsumerConfig) {
    for topic in &consumer.topics {
        let asked = std::slice::from_ref(topic);
        loop {
            match kafka::retention(&config.kafka, asked).await {
                Ok(found) => {
                    let warning = found
                        .first()
                        .and_then(|kept| kept.outlives(topic, consumer.dedup.ttl.default));
                    if let Some(warning) = warning {
                        tracing::warn!(consumer = consumer.name, "{warning}");
                    }
                    break;
                }
                Err(error) if error.is_transient() => {
                    tracing::debug!(consumer = consumer.name, %error, "the topic's retention is asked for again");
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) => {
                    tracing::debug!(consumer = consumer.name, %error, "whether event ids outlive the topic's records is not known");
                    break;
                }
            }
        }
    }
}
