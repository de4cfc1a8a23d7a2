//! The log is not the one that was consumed: the partition says so and stops; `offsets adopt` lets the inbox decide.

use tidegate_tests::{Payment, payments};

use crate::reader::{ACCOUNTS, Reader, wait_stopped};
use crate::rows::{Counts, PATIENCE, letters, settled};

/// Deletes the topic and makes it again, empty.
async fn recreate(reader: &Reader) {
    reader.env.kafka.delete_topic(&reader.topic).await;
    reader.env.kafka.create_topic(&reader.topic, 1, &[]).await;
}

/// The payments under new ids.
fn renamed(paid: &[Payment]) -> Vec<Payment> {
    let renamed = paid.iter().map(|payment| Payment {
        event_id: format!("new-{}", payment.event_id),
        ..payment.clone()
    });
    renamed.collect()
}

/// Twenty records handled, and the host ended.
async fn handled(reader: &Reader, paid: &[Payment]) -> tidegate_tests::Host {
    reader.pay(&paid[..20]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(20)).await;
    assert_eq!(host.terminate().await, 0);
    host
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_made_anew_with_fewer_records_stops_and_is_read_from_its_beginning_once_adopted() {
    let reader = Reader::new("fewer", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    let host = handled(&reader, &paid).await;
    recreate(&reader).await;
    let fresh = renamed(&paid[..5]);
    reader.pay(&[&fresh[..], &paid[..5]].concat()).await;

    let host = host.restart().await;
    wait_stopped(
        &host,
        "the next offset is 20, but the log ends at 10 (it holds 0 to 10): this is another log",
    )
    .await;
    host.wait_log("tidegate offsets adopt", PATIENCE).await;
    settled(&reader.env.db, Counts::done(20)).await;

    reader.adopt(&reader.config()).await;
    let after = Counts {
        next: 10,
        committed: 10,
        done: 25,
        republished: 5,
        ..Counts::default()
    };
    settled(&reader.env.db, after).await;
    ledger.assert_exact(&[&paid[..], &fresh].concat()).await;
    assert_eq!(letters(&reader.env.db).await, 0);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_made_anew_with_more_records_stops_and_skips_none_of_them_once_adopted() {
    let reader = Reader::new("more", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(30, ACCOUNTS));
    let host = handled(&reader, &paid).await;
    recreate(&reader).await;
    let fresh = renamed(&paid);
    reader.pay(&fresh).await;

    let host = host.restart().await;
    let why = "the log is not the one that was consumed: the record handled last, at offset 19, is not there";
    wait_stopped(&host, why).await;
    settled(&reader.env.db, Counts::done(20)).await;

    reader.adopt(&reader.config()).await;
    let after = Counts {
        next: 30,
        committed: 30,
        ..Counts::done(50)
    };
    settled(&reader.env.db, after).await;
    ledger
        .assert_exact(&[&paid[..20], &fresh[..]].concat())
        .await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_made_anew_under_a_running_host_loses_no_record_silently() {
    let reader = Reader::new("running", 1).await;
    let reader = reader.with(|c| c.batch("max_records", 10));
    let (ledger, paid) = (reader.ledger().await, payments(30, ACCOUNTS));
    reader.pay(&paid[..20]).await;
    let config = reader
        .config()
        .librdkafka("topic.metadata.refresh.interval.ms", "300");
    let host = reader.env.host(config).start().await;
    settled(&reader.env.db, Counts::done(20)).await;
    recreate(&reader).await;
    let fresh = renamed(&paid);
    reader.pay(&fresh).await;

    wait_stopped(&host, "the log is not the one that was consumed").await;
    reader.adopt(&reader.config()).await;
    let after = Counts {
        next: 30,
        committed: 30,
        ..Counts::done(50)
    };
    settled(&reader.env.db, after).await;
    ledger
        .assert_exact(&[&paid[..20], &fresh[..]].concat())
        .await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_made_anew_before_a_running_host_looks_at_it_again_loses_no_record_silently() {
    let reader = Reader::new("quickly", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(30, ACCOUNTS));
    reader.pay(&paid[..20]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(20)).await;
    recreate(&reader).await;
    let fresh = renamed(&paid);
    reader.pay(&fresh).await;

    wait_stopped(&host, "the log is not the one that was consumed").await;
    reader.adopt(&reader.config()).await;
    let after = Counts {
        next: 30,
        committed: 30,
        ..Counts::done(50)
    };
    settled(&reader.env.db, after).await;
    ledger
        .assert_exact(&[&paid[..20], &fresh[..]].concat())
        .await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_adoption_a_rejected_record_has_a_letter_of_its_own_at_an_offset_that_had_one() {
    let reader = Reader::new("letters", 1).await;
    let (ledger, mut paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    paid[5].account_id = ACCOUNTS + 1;
    reader.pay(&paid).await;
    let host = reader.start().await;
    let before = Counts {
        rejected: 1,
        done: 19,
        ..Counts::done(20)
    };
    settled(&reader.env.db, before).await;
    assert_eq!(host.terminate().await, 0);
    recreate(&reader).await;
    let fresh = renamed(&paid[..10]);
    reader.pay(&fresh).await;

    let host = host.restart().await;
    wait_stopped(&host, "this is another log").await;
    reader.adopt(&reader.config()).await;
    let after = Counts {
        next: 10,
        committed: 10,
        rejected: 2,
        done: 28,
        ..Counts::default()
    };
    settled(&reader.env.db, after).await;
    let of = "SELECT log_epoch, event_id FROM tidegate.dead_letters
               WHERE status = 'open' AND \"offset\" = 5 ORDER BY log_epoch";
    let text =
        |epoch: &str, payment: &Payment| vec![Some(epoch.into()), Some(payment.event_id.clone())];
    assert_eq!(
        reader.env.db.query_text(of).await,
        [text("0", &paid[5]), text("1", &fresh[5])]
    );
    let good: Vec<_> = paid
        .iter()
        .chain(&fresh)
        .filter(|p| p.account_id <= ACCOUNTS)
        .cloned()
        .collect();
    ledger.assert_exact(&good).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_cluster_stops_until_its_groups_offset_is_adopted() {
    let reader = Reader::new("cluster", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(25, ACCOUNTS));
    let host = handled(&reader, &paid).await;
    // A mirror: its group stands three records lower than where the row says.
    reader.set_group(17).await;
    reader
        .env
        .db
        .exec("UPDATE tidegate.progress SET cluster_id = 'elsewhere'")
        .await;

    let host = host.restart().await;
    let here = reader.env.kafka.cluster_id().await;
    let why = format!(
        "the recorded position belongs to cluster `elsewhere`, but this is cluster `{here}`"
    );
    wait_stopped(&host, &why).await;
    settled(&reader.env.db, Counts::done(20)).await;

    reader.pay(&paid[20..]).await;
    reader.adopt(&reader.config()).await;
    let after = Counts {
        republished: 3,
        ..Counts::done(25)
    };
    settled(&reader.env.db, after).await;
    ledger.assert_exact(&paid).await;
    let cluster = "SELECT cluster_id FROM tidegate.progress";
    assert_eq!(
        reader.env.db.query_text(cluster).await,
        [[Some(here.clone())]]
    );
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_group_under_one_consumer_name_is_refused_until_it_is_adopted() {
    let reader = Reader::new("group", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(25, ACCOUNTS));
    let first = handled(&reader, &paid).await;
    let second = reader.env.unique("second");
    let config = reader
        .env
        .config()
        .consumer(reader.consumer().group(&second));
    let host = reader.env.host(config.clone()).start().await;
    let why = format!(
        "the recorded position belongs to group `{}`, but the consumer runs as group `{second}`",
        reader.name()
    );
    wait_stopped(&host, &why).await;
    settled(&reader.env.db, Counts::done(20)).await;
    let kafka = &reader.env.kafka;
    assert_eq!(kafka.group_offset(&second, &reader.topic, 0).await, None);

    // The second group has no offset: from the beginning, and every record is known already.
    reader.adopt(&config).await;
    reader.pay(&paid[20..]).await;
    let after = Counts {
        republished: 20,
        ..Counts::done(25)
    };
    settled(&reader.env.db, after).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(
        kafka.group_offset(&second, &reader.topic, 0).await,
        Some(25)
    );
    assert_eq!(host.terminate().await, 0);

    let first = first.restart().await;
    wait_stopped(&first, &format!("belongs to group `{second}`")).await;
    assert_eq!(first.terminate().await, 3, "a partition was stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_last_record_that_retention_took_proves_nothing_and_stops_nothing() {
    let reader = Reader::new("gone", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(25, ACCOUNTS));
    let host = handled(&reader, &paid).await;
    reader.env.kafka.delete_records(&reader.topic, 0, 20).await;

    let host = host.restart().await;
    let told = "the last handled record, at offset 19, is no longer in the log";
    host.wait_log(told, PATIENCE).await;
    reader.pay(&paid[20..]).await;
    settled(&reader.env.db, Counts::done(25)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.log_count(told), 1);
    assert_eq!(host.terminate().await, 0);
}
