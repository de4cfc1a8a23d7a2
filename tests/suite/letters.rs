//! Dead letters: which records become one before any try, and what a letter keeps and publishes.

mod bytes;
mod destinations;
mod publishing;

use tidegate_tests::Rec;

use crate::scene::{Counts, Scene, done_and_rejected, pay};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_without_a_usable_event_id_are_dead_letters_and_spare_their_batch() {
    let scene = Scene::new("letters-id", 1, 40).await;
    let (longest, too_long) = ("x".repeat(512), "x".repeat(513));
    let bare = |account: i64| without_headers(pay(account, "", ""));
    let bad = vec![
        bare(1),
        bare(2).null_header("event-id"),
        bare(3).event_id(""),
        bare(4).event_id(&too_long),
        bare(5).header("event-id", b"a\xff\xfe".to_vec()),
        bare(6).event_id("a").header("k", "1").event_id("b"),
        bare(7).header("event-id", b"a\0b".to_vec()),
        bare(8).event_id("a").null_header("event-id"),
    ];
    let good = vec![
        bare(21).event_id(&longest),
        bare(22).event_id("same").header("k", "1").event_id("same"),
        bare(23).event_id(" "),
        bare(24).event_id("ключ 🔑 'quoted' \"twice\" $1 \\"),
    ];
    let words = [
        "there is no event id",
        "is null",
        "is empty",
        "513 bytes; at most 512",
        "not UTF-8",
        "ambiguous",
        "NUL",
        "ambiguous",
    ];
    let (n_bad, n_good) = (bad.len(), good.len());
    scene.produce(interleaved(bad, good)).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    let expected = done_and_rejected(count(n_good), count(n_bad));
    scene.wait_counts(expected).await;

    assert_eq!(scene.journal().await, [21, 22, 23, 24]);
    let letters = scene.letters().await;
    for (letter, words) in letters.iter().zip(words) {
        assert_eq!(letter.code, "bad-event-id", "{letter:?}");
        assert!(letter.message.contains(words), "{words}: {letter:?}");
        assert_eq!((&letter.event_id, letter.attempts), (&None, 0));
    }
    let claims = "SELECT count(*) FROM tidegate.processed_events";
    assert_eq!(scene.env.db.query_one_i64(claims).await, count(n_good));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_values_are_dead_letters_with_the_handlers_code() {
    let scene = Scene::new("letters-json", 1, 3).await;
    let values: [&[u8]; 5] = [b"", b"{", b"\xff\xfe", b"true", b"{\"amount_minor\":\"1\"}"];
    let mut records: Vec<_> = (0..)
        .zip(values)
        .map(|(n, value)| Rec::new(value).to(0).event_id(&format!("bad-{n}")))
        .collect();
    records.push(Rec::default().to(0).key("k").event_id("tombstone"));
    records.insert(3, pay(1, "good", ""));
    scene.produce(records).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(1, 6)).await;
    assert_eq!(scene.codes().await, ["malformed"; 6]);
    assert_eq!(scene.journal().await, [1]);
    let ids: Vec<_> = scene
        .letters()
        .await
        .into_iter()
        .map(|l| l.event_id.unwrap())
        .collect();
    assert_eq!(
        ids,
        ["bad-0", "bad-1", "bad-2", "bad-3", "bad-4", "tombstone"]
    );
}

/// The id stands in the payload: a value that is no JSON has none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_in_a_payload_that_cannot_be_read_is_a_bad_event_id() {
    let scene = Scene::new("letters-pointer", 1, 9).await;
    let value = |account: i64, id: &str| {
        Rec::new(format!(
            r#"{{"amount_minor":1,"account_id":{account},"meta":{{"id":{id}}}}}"#
        ))
        .to(0)
    };
    let records = vec![
        value(1, "\"e1\""),
        Rec::new("{").to(0),
        value(2, "null"),
        value(3, "{}"),
        value(4, "12345678901234567890123456789012345678.50"),
        value(5, "12345678901234567890123456789012345678.5"),
        value(6, "true"),
        Rec::default().to(0),
        value(7, "\"e1\""),
    ];
    scene.produce(records).await;
    let consumer = scene.consumer("rejects").await;
    let _host = scene.run(consumer.dedup("id", "json:/meta/id")).await;
    // Digits are compared as they are written: .50 and .5 are two events.
    let expected = Counts {
        republished: 1,
        ..done_and_rejected(3, 5)
    };
    scene.wait_counts(expected).await;
    assert_eq!(scene.journal().await, [1, 4, 5]);
    assert_eq!(scene.codes().await, ["bad-event-id"; 5]);
}

fn without_headers(rec: Rec) -> Rec {
    Rec {
        headers: Vec::new(),
        ..rec
    }
}

/// One of each in turn, as far as there are both.
fn interleaved(bad: Vec<Rec>, good: Vec<Rec>) -> Vec<Rec> {
    let mut good = good.into_iter();
    let mut all = Vec::new();
    for rec in bad {
        all.push(rec);
        all.extend(good.next());
    }
    all.extend(good);
    all
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap()
}
