//! What a log may hold beside plain records: transactions and their markers, gaps, nulls. Consumption goes on past all.

use tidegate_tests::{Rec, payments};

use crate::reader::{ACCOUNTS, Reader};
use crate::rows::{Counts, PATIENCE, recs, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markers_are_passed_and_aborted_transactions_are_never_handled() {
    let reader = Reader::new("markers", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(22, ACCOUNTS));
    let kafka = &reader.env.kafka;
    reader.pay(&paid[..2]).await;
    let committed = kafka.begin(&reader.topic, recs(&paid[2..5])).await;
    committed.commit().await;
    let aborted = kafka.begin(&reader.topic, recs(&paid[5..10])).await;
    aborted.abort().await;
    reader.pay(&paid[10..12]).await;
    let committed = kafka.begin(&reader.topic, recs(&paid[12..15])).await;
    let last = committed.at[2].offset;
    committed.commit().await;
    assert_eq!(
        last, 16,
        "12 records and 2 markers stand before these three"
    );

    // N is the offset behind the last record. The log's end is one more: the marker of the last transaction.
    let host = reader.start().await;
    let kept = [&paid[..5], &paid[10..15]].concat();
    let at = |next, done| Counts {
        next,
        committed: next,
        ..Counts::done(done)
    };
    settled(&reader.env.db, at(17, 10)).await;
    ledger.assert_exact(&kept).await;
    assert_eq!(kafka.watermarks(&reader.topic, 0).await, (0, 18));
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(17));

    // It goes on from a marker's place, past an aborted transaction at the end.
    let aborted = kafka.begin(&reader.topic, recs(&paid[15..18])).await;
    aborted.abort().await;
    let host = host.restart().await;
    reader.pay(&paid[18..]).await;
    settled(&reader.env.db, at(26, 14)).await;
    ledger
        .assert_exact(&[&kept[..], &paid[18..]].concat())
        .await;
    assert_eq!(kafka.watermarks(&reader.topic, 0).await, (0, 26));
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_behind_an_open_transaction_wait_for_its_end() {
    let reader = Reader::new("open", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(12, ACCOUNTS));
    let host = reader.start().await;
    reader.pay(&paid[..4]).await;
    settled(&reader.env.db, Counts::done(4)).await;
    let kafka = &reader.env.kafka;
    let first = kafka.begin(&reader.topic, recs(&paid[4..6])).await;
    reader.pay(&paid[6..8]).await;
    let second = kafka.begin(&reader.topic, recs(&paid[8..10])).await;
    reader.pay(&paid[10..]).await;
    // Markers are behind all of them: 12 records, then two markers.
    second.commit().await;
    settled(&reader.env.db, Counts::done(4)).await;
    first.abort().await;
    let kept = [&paid[..4], &paid[6..]].concat();
    ledger.wait_exact(&kept, PATIENCE).await;
    let after = Counts {
        next: 12,
        committed: 12,
        ..Counts::done(10)
    };
    settled(&reader.env.db, after).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn null_keys_null_values_and_odd_headers_are_passed_byte_for_byte() {
    let reader = Reader::new("nulls", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(4, ACCOUNTS));
    let id = |n: usize| paid[n].event_id.as_str();
    let odd = paid[0]
        .rec()
        .header("a", "1")
        .null_header("a")
        .header("", [0xff]);
    let keyless = Rec {
        key: None,
        ..paid[1].rec()
    };
    let records = vec![
        odd,
        Rec::default()
            .key("k")
            .event_id("tombstone")
            .header("a", "2")
            .null_header("b"),
        keyless,
        paid[2].rec().event_id(id(2)),
        Rec::new("{}").null_header("event-id"),
        Rec::default(),
        paid[3].rec().key(""),
    ];
    let records = records.into_iter().map(|rec| rec.to(0)).collect();
    reader.env.kafka.produce(&reader.topic, records).await;

    let host = reader.start().await;
    let after = Counts {
        next: 7,
        committed: 7,
        rejected: 3,
        ..Counts::done(4)
    };
    settled(&reader.env.db, after).await;
    ledger.assert_exact(&paid).await;
    let letters = r#"
        SELECT "offset", code, key IS NULL, value IS NULL, array_length(header_names, 1)
          FROM tidegate.dead_letters ORDER BY "offset""#;
    let text = |cells: [&str; 5]| cells.map(|cell| (cell != "-").then(|| cell.to_owned()));
    assert_eq!(
        reader.env.db.query_text(letters).await,
        [
            text(["1", "malformed", "f", "t", "3"]),
            text(["4", "bad-event-id", "t", "f", "1"]),
            text(["5", "bad-event-id", "t", "t", "-"]),
        ]
    );
    let same = r"
        SELECT count(*) FROM tidegate.dead_letters
         WHERE header_names = ARRAY['event-id', 'a', 'b']::bytea[]
           AND header_values IS NOT DISTINCT FROM ARRAY['tombstone', '2', NULL]::bytea[]";
    assert_eq!(reader.env.db.query_one_i64(same).await, 1);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_knows_tombstones_skips_them() {
    let reader = Reader::new("tombstones", 1).await;
    let table = "CREATE TABLE orders (order_id text PRIMARY KEY, status text, version bigint)";
    reader.env.db.exec(table).await;
    let order = |version: i64, status: &str| {
        let value = serde_json::json!({"order_id": "o1", "status": status, "version": version});
        let rec = Rec::new(value.to_string()).key("o1").to(0);
        rec.event_id(&format!("e{version}"))
    };
    let tombstone = Rec::default().key("o1").to(0).event_id("gone");
    let records = vec![order(1, "new"), tombstone, order(2, "paid")];
    reader.env.kafka.produce(&reader.topic, records).await;
    let orders = reader.env.consumer(&reader.topic, "orders-rust").await;
    let host = reader.env.host(reader.env.config().consumer(orders));
    let host = host.start().await;
    let after = Counts {
        next: 3,
        committed: 3,
        skipped: 1,
        ..Counts::done(2)
    };
    settled(&reader.env.db, after).await;
    let status = reader.env.db.query_text("SELECT status FROM orders").await;
    assert_eq!(status, [[Some("paid".to_owned())]]);
    assert_eq!(host.terminate().await, 0);
}
