//! The rule for event ids is changed under a consumer that has a position: it takes effect there, and the log stays the
//! same.

use tidegate_tests::{Consumer, Raw, Rec};

use crate::reader::{ACCOUNTS, Reader};
use crate::rows::{Counts, settled};

/// A payment whose id stands in a header, in the value and beside its key.
fn rec(nth: usize) -> Rec {
    let id = format!("c0ffee00-aaaa-4bbb-8ccc-{nth:012}");
    let value = serde_json::json!({ "amount_minor": 1, "account_id": 1, "id": &id }).to_string();
    let rec = Rec::new(value).to(0).event_id(&id);
    Rec {
        key: Some(format!("key-{nth}").into_bytes()),
        ..rec
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_rule_for_ids_takes_effect_where_the_consumer_stands_and_is_told_once() {
    let reader = Reader::new("rule", 1).await;
    reader.ledger().await;
    let kafka = &reader.env.kafka;
    kafka
        .produce(&reader.topic, (0..10).map(rec).collect())
        .await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);

    type Change = (&'static str, fn(Consumer) -> Consumer);
    let changes: [Change; 6] = [
        ("json:/id", |c| c.dedup("id", "json:/id")),
        ("key, header:event-id", |c| {
            c.dedup("id", Raw("[\"key\", \"header:event-id\"]"))
        }),
        ("header:event-id as uuid", |c| c.dedup("id_format", "uuid")),
        ("position", |c| c.dedup("id", "position")),
        ("dedup off", |c| c.set("dedup", "off")),
        ("header:event-id", |c| c),
    ];
    let mut before = "header:event-id";
    for (nth, (rule, change)) in changes.into_iter().enumerate() {
        let config = reader.env.config().consumer(change(reader.consumer()));
        let host = reader.env.host(config.clone()).start().await;
        let handled = 11 + 2 * nth;
        kafka.produce(&reader.topic, vec![rec(handled)]).await;
        settled(&reader.env.db, Counts::done(handled)).await;
        let told = format!("`{before}` then, `{rule}` from here on");
        assert_eq!(host.log_count(&told), 1, "{}", host.log());
        assert_eq!(host.log_count("partition stopped"), 0);
        assert_eq!(host.terminate().await, 0);

        // By the same rule again, there is nothing to tell.
        let host = reader.env.host(config).start().await;
        kafka.produce(&reader.topic, vec![rec(handled + 1)]).await;
        settled(&reader.env.db, Counts::done(handled + 1)).await;
        assert_eq!(host.log_count("by another rule than before"), 0);
        assert_eq!(host.terminate().await, 0);
        before = rule;
    }
    let balance = format!("SELECT sum(balance)::bigint FROM accounts WHERE id <= {ACCOUNTS}");
    assert_eq!(reader.env.db.query_one_i64(&balance).await, 22);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_without_a_digest_goes_on_under_another_rule_and_says_that_it_cannot_tell_the_log() {
    let reader = Reader::new("undigested", 1).await;
    reader.ledger().await;
    let kafka = &reader.env.kafka;
    kafka
        .produce(&reader.topic, (0..10).map(rec).collect())
        .await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);
    // As a host without digests leaves it.
    let old =
        "UPDATE tidegate.progress SET digest_offset = NULL, last_digest = NULL, id_rule = NULL";
    reader.env.db.exec(old).await;
    let reader = reader.with(|c| c.dedup("id", "key"));
    let host = reader.start().await;
    reader.env.kafka.produce(&reader.topic, vec![rec(10)]).await;
    settled(&reader.env.db, Counts::done(11)).await;
    assert_eq!(host.log_count("the rule for ids may have changed"), 1);
    assert_eq!(host.terminate().await, 0);
}
