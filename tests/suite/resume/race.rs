//! An old owner's offset commit that comes late is never taken for an operator's rewind.
//!
//! Claims are over at once: what is taken for a rewind runs twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tidegate_tests::{Pattern, millis, payments, wait_eq, wait_for};

use crate::reader::{ACCOUNTS, Reader};
use crate::rows::{Counts, PATIENCE, settled, wait_blocked};

/// A member of the group that consumes another topic: the broker takes its commits as it takes an old owner's.
struct OldOwner {
    consumer: Arc<BaseConsumer>,
    over: Arc<AtomicBool>,
    polling: Option<JoinHandle<()>>,
}

impl OldOwner {
    async fn join(reader: &Reader) -> Self {
        let elsewhere = reader.env.topic("elsewhere", 1).await;
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", reader.env.kafka.bootstrap())
            .set("group.id", reader.name())
            .set("enable.auto.commit", "false")
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("heartbeat.interval.ms", "100")
            .create()
            .unwrap();
        consumer.subscribe(&[&elsewhere]).unwrap();
        let (consumer, over) = (Arc::new(consumer), Arc::new(AtomicBool::new(false)));
        let (poller, until) = (consumer.clone(), over.clone());
        let polling = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                drop(poller.poll(millis(50)));
            }
        });
        let owner = OldOwner {
            consumer,
            over,
            polling: Some(polling),
        };
        wait_for(PATIENCE, "the old owner to be a member", async || {
            let assigned = owner.consumer.assignment().unwrap();
            (assigned.count() == 1).then_some(())
        })
        .await;
        owner
    }

    /// Commits and waits for the broker's acknowledgement; tried again while the group rebalances.
    async fn commit(&self, topic: &str, offset: i64) {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, 0, Offset::Offset(offset))
            .unwrap();
        wait_for(PATIENCE, "the late commit to be acknowledged", async || {
            let (consumer, list) = (self.consumer.clone(), list.clone());
            let commit = move || consumer.commit(&list, CommitMode::Sync);
            tokio::task::spawn_blocking(commit).await.unwrap().ok()
        })
        .await;
    }
}

impl Drop for OldOwner {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        drop(self.polling.take().map(JoinHandle::join));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_acknowledged_between_the_new_owners_start_and_its_token_is_no_rewind() {
    let reader = Reader::forgetful("late-ack", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(25, ACCOUNTS));
    reader.pay(&paid[..20]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(20)).await;
    assert_eq!(host.terminate().await, 0);
    reader.set_group(10).await;
    reader
        .env
        .db
        .exec("UPDATE tidegate.progress SET committed = 10")
        .await;
    reader.wait_expired(20).await;

    // K = C = 10, N = 20. The old owner's commit of 20 is on its way; its last transaction holds the row's lock.
    let old = OldOwner::join(&reader).await;
    let last = reader.env.db.client().await;
    let acknowledge = "BEGIN; UPDATE tidegate.progress SET committed = 20";
    last.batch_execute(acknowledge).await.unwrap();
    let host = host.restart().await;
    wait_blocked(&reader.env.db, 1).await;
    old.commit(&reader.topic, 20).await;
    last.batch_execute("COMMIT").await.unwrap();

    // Had the new owner read K before it took the token, it would see 10 < 20.
    reader.pay(&paid[20..]).await;
    settled(&reader.env.db, Counts::done(25)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.log_count("rewound"), 0);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_owners_commit_that_the_broker_gets_after_the_takeover_puts_nothing_back() {
    let reader = Reader::forgetful("late-commit", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(35, ACCOUNTS));
    let proxy = reader.env.kafka_proxy().await;
    let old = reader.env.host(reader.config().bootstrap(&proxy.addr()));
    let old = old.start().await;
    reader.pay(&paid[..10]).await;
    settled(&reader.env.db, Counts::done(10)).await;
    let hold = proxy.hold_when(Pattern::KafkaApi(8));
    reader.pay(&paid[10..20]).await;
    ledger.wait_exact(&paid[..20], PATIENCE).await;
    hold.held(PATIENCE).await;
    reader.wait_expired(20).await;

    // Its heartbeats stand behind the commit: the group gives the partition to the other one.
    let new = reader.start().await;
    new.wait_log("position taken", PATIENCE).await;
    reader.pay(&paid[20..30]).await;
    settled(&reader.env.db, Counts::done(30)).await;
    assert_eq!(reader.group_offset().await, Some(30));

    hold.release();
    wait_eq(PATIENCE, "both to be members", 2, async || {
        reader.env.kafka.group_members(reader.name()).await
    })
    .await;
    reader.pay(&paid[30..]).await;
    settled(&reader.env.db, Counts::done(35)).await;
    ledger.assert_exact(&paid).await;
    for host in [&old, &new] {
        assert_eq!(host.log_count("rewound"), 0);
    }
    assert_eq!(old.terminate().await, 0);
    assert_eq!(new.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(35));
}
