//! What `offsets set` leaves out is kept as a dead letter: `--skip`, and every other way forward.

use tidegate_tests::{payments, wait_eq};

use crate::reader::{ACCOUNTS, Reader, wait_stopped};
use crate::rows::{Counts, PATIENCE, letters, recs, settled};

/// Partition, offset, code, status and message of each letter, by partition and offset.
async fn gaps(reader: &Reader) -> Vec<[String; 5]> {
    let sql = r#"SELECT partition, "offset", code, status, message FROM tidegate.dead_letters
                  WHERE key IS NULL AND value IS NULL ORDER BY partition, "offset", log_epoch"#;
    let rows = reader.env.db.query_text(sql).await;
    let text = |row: Vec<Option<String>>| {
        let cells: Vec<String> = row.into_iter().map(Option::unwrap).collect();
        cells.try_into().unwrap()
    };
    rows.into_iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skip_is_counted_from_the_position_and_leaves_one_open_letter() {
    let reader = Reader::new("skip", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);
    reader.pay(&paid[10..]).await;
    let set = reader.set(&["--skip", "3"]).await;
    assert!(set.stdout.contains("skipped 10 to 12"), "{}", set.stdout);
    assert_eq!(reader.positions().await, (13, Some(13), Some(13)));

    let host = host.restart().await;
    reader.wait_place(0, 20, 17).await;
    ledger
        .assert_exact(&[&paid[..10], &paid[13..]].concat())
        .await;
    let gaps = gaps(&reader).await;
    assert_eq!(gaps.len(), 1);
    let [partition, offset, code, status, message] = &gaps[0];
    assert_eq!(
        [partition, offset, code, status],
        ["0", "10", "skipped", "open"]
    );
    let range = format!("offsets 10 to 12 of {}[0] (3 offsets)", reader.topic);
    assert!(message.starts_with(&range), "{message}");
    assert!(message.contains("asked for by ") && message.contains('@'));

    // Who lists dead letters sees it.
    let listed = reader.command(&["dlt", "list"], &reader.config()).await;
    assert!(listed.stdout.contains("skipped"), "{}", listed.stdout);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_partition_of_a_topic_is_set_at_once_and_each_gap_has_its_letter() {
    let reader = Reader::new("all", 3).await;
    let (ledger, paid) = (reader.ledger().await, payments(30, ACCOUNTS));
    let (name, topic) = (reader.name(), reader.topic.as_str());
    for (partition, part) in (0..).zip(paid.chunks(10)) {
        reader.pay_to(partition, &part[..2]).await;
    }
    let host = reader.start().await;
    for partition in 0..3 {
        reader.wait_place(partition, 2, 2).await;
    }
    assert_eq!(host.terminate().await, 0);
    for (partition, part) in (0..).zip(paid.chunks(10)) {
        reader.pay_to(partition, &part[2..]).await;
    }
    let all = ["offsets", "set", name, "--topic", topic];
    // Outside the logs: none is set.
    let refused = [&all[..], &["--to-offset", "11"]].concat();
    let refused = reader.env.cli(&refused, &reader.config()).await;
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert_eq!(letters(&reader.env.db).await, 0);

    let set = [&all[..], &["--to-offset", "5"]].concat();
    let set = reader.command(&set, &reader.config()).await;
    assert_eq!(set.stdout.lines().count(), 4, "{}", set.stdout);
    let host = host.restart().await;
    for partition in 0..3 {
        reader.wait_place(partition, 10, 7).await;
    }
    let kept = paid.chunks(10).flat_map(|p| [&p[..2], &p[5..]].concat());
    ledger.assert_exact(&kept.collect::<Vec<_>>()).await;
    let gaps = gaps(&reader).await;
    let brief: Vec<_> = gaps.iter().map(|gap| [&*gap[0], &*gap[1]]).collect();
    assert_eq!(brief, [["0", "2"], ["1", "2"], ["2", "2"]]);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moment_is_the_first_record_at_it_or_after_and_the_end_is_said_plainly() {
    let reader = Reader::new("moment", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    let start = 1_767_225_600_000; // 2026-01-01T00:00:00Z
    let timed = recs(&paid).into_iter().zip(0..);
    let timed = timed.map(|(rec, second)| rec.to(0).at(start + second * 1_000));
    reader
        .env
        .kafka
        .produce(&reader.topic, timed.collect())
        .await;
    reader.command(&["migrate"], &reader.config()).await;
    for (moment, at) in [
        ("2026-01-01T00:00:04Z", 4),
        ("2026-01-01T01:00:04.001+01:00", 5),
        ("1767225606000", 6),
        ("2025-01-01T00:00:00Z", 0),
    ] {
        let set = reader.set(&["--to-timestamp", moment]).await;
        assert_eq!(reader.place(0).await.unwrap().next, at, "{moment}");
        assert_eq!(reader.group_offset().await, Some(at));
        assert!(!set.stdout.contains("the log's end"), "{}", set.stdout);
    }
    let json = ["--to-timestamp", "2026-02-01T00:00:00Z", "--format", "json"];
    let set = reader.set(&json).await;
    let note = "no record at 2026-02-01T00:00:00Z or later: the log's end";
    assert!(set.stdout.contains(note), "{}", set.stdout);
    assert_eq!(reader.positions().await, (10, Some(10), Some(10)));
    let args = reader.set_args("0", &["--to-timestamp", "yesterday"]);
    let refused = reader.env.cli(&args, &reader.config()).await;
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    assert!(refused.stderr.contains("2026-01-31T12:00:00Z"));

    reader
        .set(&["--to-timestamp", "2026-01-01T00:00:07Z"])
        .await;
    let host = reader.start().await;
    reader.wait_place(0, 10, 3).await;
    ledger.assert_exact(&paid[7..]).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_cannot_be_read_is_skipped_by_the_command_that_the_host_names() {
    let reader = Reader::new("unreadable", 2).await;
    let (ledger, paid) = (reader.ledger().await, payments(40, ACCOUNTS));
    for part in paid[..30].chunks(10) {
        reader.pay(part).await;
    }
    reader.env.kafka.corrupt(&reader.topic, 0, 10);
    let host = reader.start().await;
    wait_stopped(&host, "unreadable at 10").await;
    // The other partition goes on.
    reader.pay_to(1, &paid[30..]).await;
    reader.wait_place(1, 10, 10).await;
    reader.wait_place(0, 10, 10).await;
    let (name, topic) = (reader.name(), &reader.topic);
    for command in [
        format!("`tidegate consumer pause {name}`"),
        format!("`tidegate offsets set {name} --topic {topic} --partition 0 --skip COUNT`"),
    ] {
        host.wait_log(&command, PATIENCE).await;
    }

    reader.set(&["--skip", "10"]).await;
    reader.wait_place(0, 30, 20).await;
    ledger
        .assert_exact(&[&paid[..10], &paid[20..]].concat())
        .await;
    let gaps = gaps(&reader).await;
    assert_eq!(gaps.len(), 1);
    assert_eq!(
        gaps[0][..4],
        ["0", "10", "skipped", "open"].map(String::from)
    );
    assert!(gaps[0][4].contains("offsets 10 to 19"), "{}", gaps[0][4]);
    assert_eq!(host.terminate().await, 0, "nothing is stopped any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_letter_of_a_gap_is_published_as_any_other_and_names_what_is_missing() {
    let reader = Reader::new("published", 1).await;
    let topic = reader.env.topic("dlt", 1).await;
    let reader = reader.with(|c| c.dead_letter("topic", &topic));
    let (_ledger, paid) = (reader.ledger().await, payments(6, ACCOUNTS));
    reader.pay(&paid).await;
    reader.command(&["migrate"], &reader.config()).await;
    reader.set(&["--earliest"]).await;
    reader.set(&["--skip", "2"]).await;
    let host = reader.start().await;
    reader.wait_place(0, 6, 4).await;
    wait_eq(PATIENCE, "published letters", 1, async || {
        reader.env.kafka.consume_all(&topic).await.len()
    })
    .await;
    let got = reader.env.kafka.consume_all(&topic).await.remove(0);
    assert_eq!((got.key, got.value), (None, None));
    let said = got.headers.iter().any(|(_, value)| {
        let text = value.as_deref().map(String::from_utf8_lossy);
        text.is_some_and(|text| text.contains("offsets 0 to 1 of "))
    });
    assert!(said, "{:?}", got.headers);
    assert_eq!(host.terminate().await, 0);
}
