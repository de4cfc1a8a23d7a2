//! Groups: their committed offsets, really changed on the broker.

use std::sync::{Arc, PoisonError};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::Offset;

use super::{Kafka, REQUEST, blocking, config, list_of, options};
use crate::wait::{secs, wait_for};

impl Kafka {
    /// Sets a group's offset as an operator's rewind does; waits up to 15 s until the group has no member.
    pub async fn commit_group_offset(&self, group: &str, topic: &str, partition: i32, offset: i64) {
        let what = format!("group {group} to be empty, so that its offset can be set");
        wait_for(secs(15), &what, async || {
            self.try_commit_group_offset(group, topic, partition, offset)
                .await
                .ok()
        })
        .await;
    }

    /// Tries to set a group's offset; the broker refuses while the group has members.
    pub async fn try_commit_group_offset(
        &self,
        group: &str,
        topic: &str,
        partition: i32,
        offset: i64,
    ) -> KafkaResult<()> {
        let consumer = self.group(group);
        let list = list_of(topic, partition, Offset::Offset(offset));
        blocking(move || consumer.commit(&list, CommitMode::Sync)).await
    }

    /// A group's committed offset, if the broker says that it has one; asks for up to 20 s until it can say.
    pub async fn group_offset(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        let consumer = self.group(group);
        let found = wait_for(
            secs(20),
            &format!("the offset of group {group}"),
            async || {
                let (asking, list) = (consumer.clone(), list_of(topic, partition, Offset::Invalid));
                blocking(move || asking.committed_offsets(list, REQUEST))
                    .await
                    .ok()
            },
        )
        .await;
        match found.find_partition(topic, partition)?.offset() {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        }
    }

    /// How many members a group has; none if the broker does not know it.
    pub async fn group_members(&self, group: &str) -> usize {
        let (admin, name) = (self.admin.clone(), group.to_owned());
        let count = move || {
            let list = admin.inner().fetch_group_list(Some(&name), REQUEST).ok()?;
            Some(list.groups().iter().map(|g| g.members().len()).sum())
        };
        blocking(count).await.unwrap_or(0)
    }

    /// Deletes a group with its offsets, as expiry does; waits up to 15 s until it has no member.
    pub async fn delete_group(&self, group: &str) {
        let what = format!("group {group} to be empty, so that it can be deleted");
        wait_for(secs(15), &what, async || {
            let results = self.admin.delete_groups(&[group], &options()).await.ok()?;
            results.iter().all(Result::is_ok).then_some(())
        })
        .await;
    }

    /// Tries to delete a group once; whether the broker did.
    pub async fn try_delete_group(&self, group: &str) -> bool {
        let results = self.admin.delete_groups(&[group], &options()).await;
        results.is_ok_and(|results| results.iter().all(Result::is_ok))
    }

    /// A consumer that carries the group's name and never joins it.
    fn group(&self, group: &str) -> Arc<BaseConsumer> {
        let mut known = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let consumer = config(&self.bootstrap)
                .set("group.id", group)
                .set("enable.auto.commit", "false")
                .create();
            Arc::new(consumer.unwrap_or_else(|e| panic!("cannot make a consumer: {e}")))
        };
        known.entry(group.to_owned()).or_insert_with(make).clone()
    }
}
