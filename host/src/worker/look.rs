//! Looking at a position before it is taken: nothing is written, and nobody is disturbed.

use std::time::Duration;

use tidegate_core::progress::{LastRecord, Progress};
use tidegate_core::record::TopicPartition;
use tidegate_core::resume::{Facts, LogCheck, Look, Seen, Whose, look as decide};
use tokio::time::timeout;

use crate::config::KafkaConfig;
use crate::inbox::Standing;
use crate::worker::assignment::{NotPlaced, ask_again, check, facts, refused, register};
use crate::worker::shared::Shared;

/// How long the tenants may take to be known, before the position is looked at again later.
const TENANTS: Duration = Duration::from_secs(5);

/// A position that may be taken.
pub(super) struct Looked {
    /// What the taking is bound to.
    pub(super) seen: Seen,
    /// The record that the log was asked for, and its answer.
    record: Option<(LastRecord, LogCheck)>,
}

impl Looked {
    /// What is known of the last handled record, if it is still the one that was looked up.
    pub(super) fn of(self, last: Option<&LastRecord>) -> LogCheck {
        match self.record {
            Some((record, check)) if Some(&record) == last => check,
            _ => LogCheck::NotAsked,
        }
    }
}

/// Looks at `source` and says what its taking is bound to.
///
/// # Errors
/// It cannot be had now, or somebody must decide first. Nothing was taken.
pub(super) async fn look(
    shared: &Shared,
    kafka: &KafkaConfig,
    source: &TopicPartition,
    cluster_id: &str,
) -> Result<Looked, NotPlaced> {
    tenants_are_known(shared).await?;
    let (mut facts, mut sibling) = row(shared, source, cluster_id).await?;
    let mut registered = false;
    loop {
        match decide(&facts, sibling.as_ref()) {
            Look::Register if registered => {
                let again = "its row is not there; it is looked for again";
                return Err(NotPlaced::NotNow(again.to_owned()));
            }
            Look::Register => {
                register(shared, source, cluster_id).await?;
                (facts, sibling) = row(shared, source, cluster_id).await?;
                registered = true;
            }
            Look::CheckRecord(last) => facts.last = check(shared, kafka, source, &last).await?,
            Look::AskAgain => ask_again(shared, source, &mut facts).await?,
            Look::Refuse(reason) => return Err(NotPlaced::Stopped(reason.to_string())),
            Look::Take(seen) => {
                let last = facts.row.and_then(|row| row.last);
                let record = last.map(|last| (last, facts.last));
                return Ok(Looked { seen, record });
            }
        }
    }
}

/// The row is read before K: an owner that commits meanwhile looks like no rewind. Of another's position Kafka is not
/// even asked: the topic need not be there.
async fn row(
    shared: &Shared,
    source: &TopicPartition,
    cluster_id: &str,
) -> Result<(Facts, Option<Whose>), NotPlaced> {
    let standing = shared.inbox.look(&shared.key(source)).await;
    let (row, sibling) = match standing.map_err(refused)? {
        Standing::Row(row) => (Some(row), None),
        Standing::Sibling(whose) => (None, Some(whose)),
        Standing::Nothing => (None, None),
    };
    let whose = row.as_ref().map(Progress::whose).or(sibling.clone());
    let another = whose.and_then(|whose| whose.another_than(&shared.config.group, cluster_id));
    match another {
        Some(reason) => Err(NotPlaced::Stopped(reason.to_string())),
        None => Ok((facts(shared, source, cluster_id, row).await?, sibling)),
    }
}

/// A host that cannot read who its records' tenants are could run none of them.
async fn tenants_are_known(shared: &Shared) -> Result<(), NotPlaced> {
    if shared.config.tenants.is_none() {
        return Ok(());
    }
    let mut rosters = shared.rosters();
    let known = timeout(TENANTS, rosters.wait_for(Option::is_some)).await;
    match known {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(NotPlaced::NotNow(
            "its tenants could not be read yet".to_owned(),
        )),
    }
}
