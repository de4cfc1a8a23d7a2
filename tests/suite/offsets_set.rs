//! `tidegate offsets set`: one partition's position, forward or back, on a consumer that is held back or stopped.

use serde_json::{Value, json};
use tidegate_tests::{Host, Ledger, Payment, payments, wait_eq, wait_for};

use crate::reader::{ACCOUNTS, Reader, wait_stopped, wait_taken};
use crate::rows::{AccountLock, Counts, PATIENCE, settled, wait_blocked};

/// `offsets set`, which must be refused.
async fn refused(reader: &Reader, partition: &str, to: &[&str], why: (i32, &str)) {
    let args = reader.set_args(partition, to);
    let output = reader.env.cli(&args, &reader.config()).await;
    let text = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(output.code, why.0, "{text}");
    assert!(output.stderr.contains(why.1), "{text}");
}

/// The first ten payments handled by a host, which runs on.
async fn ten_handled(reader: &Reader, paid: &[Payment]) -> Host {
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    host
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forward_the_records_between_are_skipped_and_the_row_is_told_before_and_after() {
    let reader = Reader::forgetful("forward", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(25, ACCOUNTS));
    let host = ten_handled(&reader, &paid).await;
    assert_eq!(host.terminate().await, 0);
    reader.pay(&paid[10..20]).await;

    let output = reader.set(&["--to-offset", "15", "--format", "json"]).await;
    let rows: Value = serde_json::from_str(&output.stdout).unwrap();
    let cluster = reader.env.kafka.cluster_id().await;
    let position =
        |next: i64| json!({"group": reader.name(), "cluster_id": cluster, "next_offset": next});
    let row = json!([{
        "consumer": reader.name(), "topic": reader.topic, "partition": 0, "low": 0, "high": 20,
        "before": position(10), "after": position(15), "kafka_before": 10, "kafka_after": 15,
        "note": rows[0]["note"],
    }]);
    assert_eq!(rows, row);
    let note = rows[0]["note"].as_str().unwrap();
    assert!(note.contains("skipped 10 to 14: dead letter "), "{note}");
    let place = reader.place(0).await.unwrap();
    assert_eq!(
        (place.next, place.committed, place.owned),
        (15, Some(15), false)
    );
    assert_eq!(reader.group_offset().await, Some(15));

    let host = host.restart().await;
    reader.pay(&paid[20..]).await;
    reader.wait_place(0, 25, 20).await;
    ledger
        .assert_exact(&[&paid[..10], &paid[15..]].concat())
        .await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(25));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn back_an_idle_host_reads_the_records_again_by_itself_and_the_inbox_knows_them() {
    let reader = Reader::new("back", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(12, ACCOUNTS));
    let host = ten_handled(&reader, &paid).await;

    reader.set(&["--to-offset", "4"]).await;
    wait_taken(&host, 2).await;
    let again = |records, republished| Counts {
        republished,
        ..Counts::done(records)
    };
    settled(&reader.env.db, again(10, 6)).await;
    reader.set(&["--earliest"]).await;
    settled(&reader.env.db, again(10, 16)).await;
    reader.pay(&paid[10..]).await;
    settled(&reader.env.db, again(12, 16)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.log_count("rewound"), 0);
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(12));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_set_back_kafkas_offset_is_written_down_and_a_later_rewind_of_the_group_counts() {
    let reader = Reader::new("then-rewind", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    let host = ten_handled(&reader, &paid).await;
    reader.set(&["--to-offset", "4"]).await;
    reader.wait_place(0, 10, 10).await;
    assert_eq!(host.terminate().await, 0);
    reader.set_group(7).await;

    let host = host.restart().await;
    host.wait_log("the group was rewound to 7", PATIENCE).await;
    let counts = Counts {
        republished: 9,
        ..Counts::done(10)
    };
    settled(&reader.env.db, counts).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_host_ends_its_batch_and_goes_on_at_the_new_position() {
    let reader = Reader::new("busy", 1).await;
    let reader = reader.with(|c| c.batch("max_records", 1));
    let ledger = Ledger::create(&reader.env.db, ACCOUNTS + 1).await;
    let mut paid = payments(30, ACCOUNTS);
    paid[5].account_id = ACCOUNTS + 1;
    let lock = AccountLock::take(&reader.env.db, ACCOUNTS + 1).await;
    reader.pay(&paid[..25]).await;
    let host = reader.start().await;
    wait_eq(PATIENCE, "N", Some(5), async || {
        Some(reader.place(0).await?.next)
    })
    .await;
    wait_blocked(&reader.env.db, 1).await;

    let (_, ()) = tokio::join!(reader.set(&["--latest"]), async {
        wait_blocked(&reader.env.db, 2).await;
        lock.release().await;
    });
    host.wait_log("fenced", PATIENCE).await;
    wait_taken(&host, 2).await;
    reader.pay(&paid[25..]).await;
    let place = wait_for(PATIENCE, "N = C = 30", async || {
        let place = reader.place(0).await?;
        (place.next == 30 && place.committed == Some(30)).then_some(place)
    })
    .await;
    // The batch under way is kept, the gap is whole, and nothing of it came after.
    let before = usize::try_from(place.done).unwrap() - 5;
    assert!((6..25).contains(&before), "{place:?}");
    ledger
        .assert_exact(&[&paid[..before], &paid[25..]].concat())
        .await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_retention_stopped_goes_on_without_a_restart() {
    let reader = Reader::new("stopped", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    let host = ten_handled(&reader, &paid).await;
    assert_eq!(host.terminate().await, 0);
    reader.pay(&paid[10..]).await;
    reader.env.kafka.delete_records(&reader.topic, 0, 15).await;
    let host = host.restart().await;
    wait_stopped(&host, "but the log begins at 15 (it holds 15 to 20)").await;

    let pause = ["consumer", "pause", reader.name()];
    reader.command(&pause, &reader.config()).await;
    refused(&reader, "0", &["--to-offset", "14"], (1, "holds 15 to 20")).await;
    reader.set(&["--to-offset", "16"]).await;
    reader.wait_place(0, 20, 14).await;
    ledger
        .assert_exact(&[&paid[..10], &paid[16..]].concat())
        .await;
    assert_eq!(host.terminate().await, 0, "nothing is stopped any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_consumers_group_that_is_outside_the_log_is_overruled_without_a_restart() {
    let reader = Reader::new("outside", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    reader.pay(&paid).await;
    reader.set_group(50).await;
    let host = reader.start().await;
    wait_stopped(&host, "the group's offset is 50, but the log holds 0 to 10").await;
    host.wait_log("run `tidegate offsets set`", PATIENCE).await;
    assert_eq!(reader.place(0).await, None);

    let output = reader.set(&["--to-offset", "4", "--format", "json"]).await;
    let rows: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(rows[0]["before"], Value::Null);
    assert_eq!(rows[0]["after"]["next_offset"], json!(4));
    reader.wait_place(0, 10, 6).await;
    ledger.assert_exact(&paid[4..]).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(10), "50 is put back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_position_leaves_latest_to_the_other_partitions() {
    let reader = Reader::new("latest", 2).await;
    let reader = reader.with(|c| c.set("start", "latest"));
    let (ledger, paid) = (reader.ledger().await, payments(30, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    reader.pay_to(1, &paid[10..20]).await;
    assert_eq!(reader.env.cli(&["migrate"], &reader.config()).await.code, 0);
    reader.set(&["--to-offset", "3"]).await;
    reader.pay_to(1, &paid[20..]).await;

    let host = reader.start().await;
    reader.wait_place(0, 10, 7).await;
    reader.wait_place(1, 20, 10).await;
    ledger
        .assert_exact(&[&paid[3..10], &paid[20..]].concat())
        .await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_set_is_refused_and_nothing_is_changed() {
    let reader = Reader::new("unset", 2).await;
    reader.ledger().await;
    reader.pay(&payments(10, ACCOUNTS)).await;
    let config = reader.config();
    assert_eq!(reader.env.cli(&["migrate"], &config).await.code, 0);
    let outside = (1, "[0], which holds 0 to 10: nothing was changed");
    refused(&reader, "0", &["--to-offset", "11"], outside).await;
    refused(&reader, "2", &["--earliest"], (1, "has no partition 2")).await;
    refused(&reader, "0", &["--to-offset", "-1"], (2, "-1")).await;
    refused(&reader, "0", &[], (2, "--to-offset")).await;
    let two = ["--earliest", "--latest"];
    refused(&reader, "0", &two, (2, "cannot be used with")).await;

    let elsewhere = "offsets set NAME --topic elsewhere --partition 0 --earliest";
    let args: Vec<&str> = elsewhere
        .split(' ')
        .map(|word| if word == "NAME" { reader.name() } else { word })
        .collect();
    let output = reader.env.cli(&args, &config).await;
    assert_eq!(output.code, 2, "{}{}", output.stdout, output.stderr);
    assert!(
        output.stderr.contains("does not read topic"),
        "{}",
        output.stderr
    );
    assert_eq!(reader.place(0).await, None);
    assert_eq!(reader.place(1).await, None);
}
