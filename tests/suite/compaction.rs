//! A compacted log: gaps where records were, also where the last handled one was.

use tidegate_tests::{Payment, Rec, payments, secs, wait_eq};

use crate::reader::{ACCOUNTS, Reader};
use crate::rows::{Counts, PATIENCE, settled};

/// How long the broker's cleaner may take; it looks twice a second.
const CLEANED: std::time::Duration = secs(120);

/// Segments end when a record is a second younger than their first, by the records' own timestamps.
const COMPACTED: [(&str, &str); 5] = [
    ("cleanup.policy", "compact"),
    ("segment.ms", "1000"),
    ("min.cleanable.dirty.ratio", "0.01"),
    ("min.compaction.lag.ms", "0"),
    ("delete.retention.ms", "86400000"),
];

/// Minutes after some day.
fn rec(payment: &Payment, key: &str, minute: i64) -> Rec {
    let rec = payment.rec().key(key).to(0);
    rec.at(1_700_000_000_000 + minute * 60_000)
}

async fn wait_offsets(reader: &Reader, expected: &[i64]) {
    wait_eq(
        CLEANED,
        "the log to be compacted",
        expected.to_vec(),
        async || {
            let log = reader.env.kafka.consume_all(&reader.topic).await;
            log.iter().map(|got| got.offset).collect::<Vec<_>>()
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gaps_are_passed_and_a_compacted_last_record_stops_nothing() {
    let mut reader = Reader::new("compacted", 1).await;
    reader.topic = reader.env.unique("compacted");
    let (kafka, topic) = (&reader.env.kafka, &reader.topic);
    kafka.create_topic(topic, 1, &COMPACTED).await;
    let (ledger, paid) = (reader.ledger().await, payments(36, ACCOUNTS));
    let keys = ["a", "b", "c"];
    let first: Vec<_> = (0..30).map(|i| rec(&paid[i], keys[i % 3], 0)).collect();
    kafka.produce(topic, first).await;
    kafka.produce(topic, vec![rec(&paid[30], "d", 1)]).await;
    wait_offsets(&reader, &[27, 28, 29, 30]).await;

    let consumer = reader.env.consumer(topic, "credit-rust").await;
    let host = reader.env.host(reader.env.config().consumer(consumer));
    let host = host.start().await;
    let at = |next, done| Counts {
        next,
        committed: next,
        ..Counts::done(done)
    };
    settled(&reader.env.db, at(31, 4)).await;
    assert_eq!(host.terminate().await, 0);

    // Offset 30, the last handled, goes: 31 has its key, and 32 ends the segment of 31.
    for (i, key) in [(31, "d"), (32, "e")] {
        let minute = i64::try_from(i).unwrap();
        kafka.produce(topic, vec![rec(&paid[i], key, minute)]).await;
    }
    wait_offsets(&reader, &[27, 28, 29, 31, 32]).await;
    let host = host.restart().await;
    let told = "the last handled record, at offset 30, is no longer in the log";
    host.wait_log(told, PATIENCE).await;
    settled(&reader.env.db, at(33, 6)).await;
    ledger.assert_exact(&paid[27..33]).await;
    assert_eq!(host.terminate().await, 0);
}
