//! `tidegate offsets show` and `offsets adopt`: what they print, and what they refuse.

use serde_json::{Value, json};
use tidegate_tests::payments;

use crate::reader::{ACCOUNTS, Reader};
use crate::rows::{Counts, settled};

/// Ten records handled in partition 0 and none in partition 1, then three more written while no host runs.
async fn three_behind(name: &str) -> Reader {
    let reader = Reader::new(name, 2).await;
    let paid = payments(13, ACCOUNTS);
    reader.ledger().await;
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    reader.wait_place(1, 0, 0).await;
    assert_eq!(host.terminate().await, 0);
    reader.pay(&paid[10..]).await;
    reader
}

/// A table's lines as words.
fn words(table: &str) -> Vec<Vec<&str>> {
    let lines = table.lines().map(|line| line.split_whitespace().collect());
    lines.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn show_puts_kafkas_word_beside_the_progress_row() {
    let reader = three_behind("show").await;
    let (name, topic) = (reader.name(), reader.topic.as_str());
    let args = ["offsets", "show", "--format", "json"];
    let shown = reader.env.cli(&args, &reader.config()).await;
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let rows: Value = serde_json::from_str(&shown.stdout).unwrap();
    let row = |partition: i32, n: i64, high: i64| {
        json!({
            "consumer": name, "topic": topic, "partition": partition, "group": name,
            "kafka_committed": n, "next_offset": n, "acknowledged": n,
            "low": 0, "high": high, "lag": high - n,
            "done": n, "skipped": 0, "rejected": 0,
            "redelivered": 0, "republished": 0, "taken_over": 0,
            "state": "running", "owner": null, "failing_offset": null, "failing_attempts": null, "stopped_for": null,
        })
    };
    assert_eq!(rows, json!([row(0, 10, 13), row(1, 0, 0)]));

    let shown = reader.env.cli(&["offsets", "show"], &reader.config()).await;
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let lines = words(&shown.stdout);
    let first = [
        name, topic, "0", name, "10", "10", "10", "0", "13", "3", "10", "0", "0", "0", "0", "0",
        "running", "-", "-", "-", "-",
    ];
    assert_eq!(lines[1], first, "{}", shown.stdout);
    assert_eq!(lines.len(), 3, "{}", shown.stdout);
    let head = ["CONSUMER", "TOPIC", "PART", "GROUP", "KAFKA", "NEXT"];
    assert_eq!(lines[0][..6], head);
    assert!(lines[0].contains(&"LAG"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn show_works_while_the_host_runs_and_joins_no_group() {
    let reader = Reader::new("running", 1).await;
    let host = reader.start().await;
    reader.wait_place(0, 0, 0).await;
    let config = reader.config();
    let pause = ["consumer", "pause", reader.name()];
    reader.command(&pause, &config).await;
    let args = ["offsets", "show", "--format", "json"];
    let shown = reader.command(&args, &config).await;
    let rows: Value = serde_json::from_str(&shown.stdout).unwrap();
    let owner = rows[0]["owner"].as_str().unwrap();
    assert!(owner.ends_with(&format!(":{}", host.pid())), "{owner}");
    assert_eq!(rows[0]["state"], "paused");
    let members = reader.env.kafka.group_members(reader.name()).await;
    assert_eq!(members, 1);
    assert_eq!(host.log_count("partition given back"), 0);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adopt_prints_each_row_before_and_after() {
    let reader = three_behind("adopt").await;
    let (name, topic) = (reader.name(), reader.topic.as_str());
    let cluster = reader.env.kafka.cluster_id().await;
    reader.set_group(7).await;
    let elsewhere = "UPDATE tidegate.progress SET cluster_id = 'elsewhere'";
    reader.env.db.exec(elsewhere).await;
    let args = ["offsets", "adopt", name, "--partition", "0"];
    let json_args = [&args[..], &["--format", "json"]].concat();
    let adopted = reader.env.cli(&json_args, &reader.config()).await;
    assert_eq!(adopted.code, 0, "{}", adopted.stderr);
    let rows: Value = serde_json::from_str(&adopted.stdout).unwrap();
    let before = json!({"group": name, "cluster_id": "elsewhere", "next_offset": 10});
    let after = json!({"group": name, "cluster_id": cluster, "next_offset": 7});
    let row = json!([{
        "consumer": name, "topic": topic, "partition": 0, "low": 0, "high": 13,
        "before": before, "after": after, "kafka_before": 7, "kafka_after": 7, "note": "group offset",
    }]);
    assert_eq!(rows, row);
    let others = "SELECT count(*) FROM tidegate.progress WHERE cluster_id = 'elsewhere'";
    assert_eq!(
        reader.env.db.query_one_i64(others).await,
        1,
        "partition 1 was not asked for"
    );

    // No group any more: the beginning of the log, and every partition.
    reader.env.kafka.delete_group(name).await;
    let adopted = reader.adopt(&reader.config()).await;
    let lines = words(&adopted.stdout);
    assert_eq!(lines.len(), 3, "{}", adopted.stdout);
    let first = [
        name, topic, "0", "0", "13", "7", "0", "-", "0", name, name, &cluster, &cluster,
    ];
    assert_eq!(lines[1][..13], first, "{}", adopted.stdout);
    assert_eq!(lines[1][13..], ["beginning", "of", "the", "log"]);
    assert_eq!(lines[2][11], "elsewhere", "{}", adopted.stdout);
    let place = reader.place(0).await.unwrap();
    assert_eq!(
        (place.next, place.committed, place.owned),
        (0, Some(0), false)
    );
    assert_eq!(reader.group_offset().await, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_shown_or_adopted_is_refused_in_plain_words() {
    let reader = Reader::new("refused", 1).await;
    let (name, config) = (reader.name(), reader.config());
    let shown = reader.env.cli(&["offsets", "show"], &config).await;
    assert_eq!(shown.code, 2, "{}{}", shown.stdout, shown.stderr);
    assert!(
        shown.stderr.contains("tidegate migrate"),
        "{}",
        shown.stderr
    );

    assert_eq!(reader.env.cli(&["migrate"], &config).await.code, 0);
    let adopted = reader.env.cli(&["offsets", "adopt", name], &config).await;
    assert_eq!(adopted.code, 1, "{}{}", adopted.stdout, adopted.stderr);
    let why = "has no position in any topic yet";
    assert!(adopted.stderr.contains(why), "{}", adopted.stderr);

    let unknown = reader
        .env
        .cli(&["offsets", "adopt", "nobody"], &config)
        .await;
    assert_eq!(unknown.code, 2, "{}{}", unknown.stdout, unknown.stderr);
    assert!(unknown.stderr.contains("\"nobody\""), "{}", unknown.stderr);
    assert!(unknown.stderr.contains(name), "{}", unknown.stderr);
}
