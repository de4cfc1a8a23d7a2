//! A topic that holds a load, written once and read by every measurement of it.

use tidegate_tests::TestEnv;

use super::Load;
use super::payments::Payments;

/// Bytes on their way to the broker at a time.
const CHUNK: usize = 4 << 20;

/// A preloaded topic.
pub(crate) struct Stock {
    /// Its name.
    pub(crate) topic: String,
    /// What it holds.
    pub(crate) payments: Payments,
}

impl Stock {
    /// Makes the topic, and the one for its dead letters, and writes every record.
    pub(crate) async fn preload(env: &TestEnv, name: &str, load: &Load) -> Self {
        let stock = Self::empty(env, name, load).await;
        let producer = env.kafka.producer();
        let size = (CHUNK / load.value_bytes).clamp(64, 10_000);
        for records in stock.payments.chunks(size) {
            producer.send(&stock.topic, records).await;
        }
        stock
    }

    /// The topics alone.
    pub(crate) async fn empty(env: &TestEnv, name: &str, load: &Load) -> Self {
        let topic = env.topic(name, load.partitions).await;
        let letters = format!("{topic}.dlt");
        env.kafka.create_topic(&letters, 1, &[]).await;
        Self {
            topic,
            payments: Payments::new(*load),
        }
    }
}
