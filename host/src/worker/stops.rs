//! Writes down which partitions are stopped, and why, so that other processes see it: once when that changes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::failure::Failure;
use tidegate_core::record::TopicPartition;
use tokio_util::sync::CancellationToken;

use crate::worker::shared::Shared;

/// How long until a row that could not be written is tried again: where the login is what is missing, later.
const AGAIN: Duration = Duration::from_secs(3);

/// Keeps the rows of a consumer's partitions telling the truth until `stop`. What is stopped then stays so in its row: the
/// next owner finds out anew.
pub async fn keep(shared: Arc<Shared>, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = follow(&shared) => {}
    }
}

async fn follow(shared: &Shared) {
    let mut told = HashMap::new();
    loop {
        let stopped = shared.stopped_for();
        let late = match tell(shared, &mut told, &stopped).await {
            Ok(()) => None,
            Err(error) => {
                tracing::debug!(consumer = %shared.name, %error, "that a partition is stopped could not be written down now");
                Some(AGAIN)
            }
        };
        let again = async {
            match late {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = shared.stops.notified() => {}
            () = again => {}
        }
    }
}

async fn tell(
    shared: &Shared,
    told: &mut HashMap<TopicPartition, String>,
    stopped: &HashMap<TopicPartition, String>,
) -> Result<(), Failure> {
    let over: Vec<_> = told
        .keys()
        .filter(|source| !stopped.contains_key(*source))
        .cloned()
        .collect();
    for source in over {
        shared
            .inbox
            .stopped(&shared.key(&source), shared.host.id, None)
            .await?;
        told.remove(&source);
    }
    let news = stopped
        .iter()
        .filter(|(source, why)| told.get(*source) != Some(*why));
    for (source, why) in news.collect::<Vec<_>>() {
        let key = shared.key(source);
        shared
            .inbox
            .stopped(&key, shared.host.id, Some(why))
            .await?;
        told.insert(source.clone(), why.clone());
    }
    Ok(())
}
