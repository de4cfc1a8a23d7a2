//! Whether a consumer's positions are this host's to work on: a host of another group or cluster works on nothing of the
//! consumer's, neither its letters nor its brake, and is not one of its hosts.

use std::time::Duration;

use tidegate_core::failure::Failure;
use tidegate_core::resume::Whose;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::worker::shared::Shared;

/// How long the cluster's id may take at one look.
const CLUSTER: Duration = Duration::from_secs(1);

/// Whether some position of the consumer's topics is its group's on this cluster, or nobody's yet. Not before the
/// cluster is known.
pub(super) async fn is_ours(shared: &Shared, cluster: &OnceCell<String>) -> Result<bool, Failure> {
    let ask = cluster.get_or_try_init(|| shared.kafka.cluster_id());
    let Ok(Ok(cluster_id)) = timeout(CLUSTER, ask).await else {
        return Ok(false);
    };
    let whose = Whose {
        group: shared.config.group.clone(),
        cluster_id: cluster_id.clone(),
    };
    let topics = &shared.config.topics;
    shared.inbox.is_theirs(&shared.name, topics, &whose).await
}
