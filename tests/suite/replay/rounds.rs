//! Each round of a letter is published under its own id, however soon the next one follows.

use std::collections::BTreeMap;

use tidegate_tests::{Got, wait_eq, wait_for};

use super::{Rig, counts, rejected};
use crate::scene::PATIENCE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_that_is_not_published_yet_is_not_overwritten_by_its_replay() {
    let records = (0..100).map(|n| rejected(1, &format!("e{n:02}")).key(format!("k{}", n % 7)));
    let topic = format!("rounds-{:08x}", fastrand::u32(..));
    let rig = Rig::with("replay-unpublished", 1, records.collect(), |c| {
        c.dead_letter("topic", &topic)
    })
    .await;
    let first = rig
        .scene
        .env
        .db
        .query_text("SELECT id FROM tidegate.dead_letters ORDER BY \"offset\" LIMIT 1");
    let first = first.await.remove(0).remove(0).unwrap();
    for _ in 1..=2 {
        let (code, row) = rig.replay(&[]).await;
        assert_eq!((code, counts(&row)), (1, [100, 0, 100, 0, 0]), "{row}");
    }
    let kept = "SELECT count(*) FROM tidegate.dead_letter_rounds";
    assert_eq!(rig.number(kept).await, 200);
    let shown = rig.cli(&["dlt", "show", &first, "--format", "json"]).await;
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["former_ids"], shown["unpublished_rounds"]);
    assert_eq!(shown["former_ids"][0], first.as_str());

    rig.scene.env.kafka.create_topic(&topic, 1, &[]).await;
    let got = wait_for(PATIENCE, "all rounds", async || {
        let got = rig.scene.env.kafka.consume_all(&topic).await;
        (got.len() >= 300).then_some(got)
    })
    .await;
    let mut rounds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut ids: Vec<String> = Vec::new();
    for got in &got {
        let header = |name: &str| Got::header(got, name).unwrap();
        rounds
            .entry(header("event-id"))
            .or_default()
            .push(header("tidegate-replay-round"));
        ids.push(header("tidegate-dead-letter-id"));
    }
    assert_eq!(rounds.len(), 100);
    assert!(
        rounds.values().all(|rounds| rounds == &["0", "1", "2"]),
        "{rounds:?}"
    );
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 300);
    let left = "SELECT (SELECT count(*) FROM tidegate.dead_letter_rounds)
              + (SELECT count(*) FROM tidegate.dead_letters WHERE published_at IS NULL)";
    wait_eq(PATIENCE, "rounds left", 0, async || rig.number(left).await).await;
    let known = "SELECT unnest(former_ids || id) FROM tidegate.dead_letters ORDER BY 1";
    let known = rig.scene.env.db.query_text(known).await;
    let known: Vec<_> = known.concat().into_iter().flatten().collect();
    assert_eq!(ids, known);
}
