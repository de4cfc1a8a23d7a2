//! How long topics keep their records, by the broker's word.

use rdkafka::admin::{AdminClient, AdminOptions, ConfigResource, ResourceSpecifier};
use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use tidegate_core::retention::Retention;

use super::answers::ANSWER;
use super::offsets::Quiet;
use super::{KafkaError, names, options};
use crate::config::KafkaConfig;

/// The retention of each topic, in the order asked for.
///
/// # Errors
/// The broker cannot be asked, does not know a topic, or does not let this user see its settings (DESCRIBE_CONFIGS).
pub async fn retention(
    kafka: &KafkaConfig,
    topics: &[String],
) -> Result<Vec<Retention>, KafkaError> {
    for topic in topics {
        names::check_topic(topic)?;
    }
    let what = format!("the retention of {}", topics.join(", "));
    let (config, topics) = (options::admin(kafka), topics.to_vec());
    let (owner, closed) = (what.clone(), KafkaError::Closed(what.clone()));
    let runtime = tokio::runtime::Handle::current();
    // The client's end waits for its thread.
    let answer = tokio::task::spawn_blocking(move || {
        let client: AdminClient<Quiet> = config
            .create_with_context(Quiet::default())
            .map_err(|error| KafkaError::options(owner, &error))?;
        Ok::<_, KafkaError>(runtime.block_on(ask(&client, &topics)))
    });
    let answer = answer.await.map_err(|_| closed)??;
    answer.map_err(|error| KafkaError::refused(what, &error))
}

async fn ask(client: &AdminClient<Quiet>, topics: &[String]) -> Result<Vec<Retention>, Client> {
    let wanted: Vec<_> = topics
        .iter()
        .map(|topic| ResourceSpecifier::Topic(topic))
        .collect();
    let options = AdminOptions::new().request_timeout(Some(ANSWER));
    let answers = client.describe_configs(&wanted, &options).await?;
    let read = answers.into_iter().map(|answer| match answer {
        Ok(resource) => read(&resource),
        Err(code) => Err(Client::AdminOp(code)),
    });
    read.collect()
}

fn read(resource: &ConfigResource) -> Result<Retention, Client> {
    let value = |name| resource.get(name).and_then(|entry| entry.value.as_deref());
    let read = Retention::read(value("cleanup.policy"), value("retention.ms"));
    read.ok_or(Client::AdminOp(Code::InvalidConfig))
}
