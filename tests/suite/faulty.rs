//! The host with faults armed, and the one consumer that the tests of points run it with.

use std::path::Path;

use tidegate_tests::{Consumer, FAULTS, Fault, Host, HostConfig, Rec, wait_for};

use crate::rows::PATIENCE;
use crate::scene::{Scene, numbers};

/// The host whose points can be armed.
const WITH_FAULTS: &str = env!("CARGO_BIN_EXE_tidegate-with-faults");

/// Records of a scene, and the most of one batch.
pub(crate) const RECORDS: i64 = 30;
const BATCH: i64 = 7;

/// Offsets of the records that the handler rejects. The second one writes first: its batch has to be split.
pub(crate) const POISON: [i64; 3] = [3, 17, 28];

/// A topic of one partition whose every record credits an account of its own: offset + 1.
pub(crate) struct Faulty {
    pub(crate) scene: Scene,
    consumer: Consumer,
}

impl Faulty {
    pub(crate) async fn new(name: &str, dedup: bool) -> Self {
        let scene = Scene::new(name, 1, RECORDS).await;
        let consumer = scene.env.consumer(&scene.topic, "rejects").await;
        let consumer = consumer.batch("max_records", BATCH);
        let consumer = if dedup {
            consumer
        } else {
            consumer.set("dedup", "off")
        };
        Self { scene, consumer }
    }

    pub(crate) fn config(&self) -> HostConfig {
        let config = self.scene.env.config();
        config
            .set("postgres", "prune_interval", "1h")
            .consumer(self.consumer.clone())
    }

    /// A host that comes back at once after a kill: a static member waits for no session to end.
    pub(crate) async fn start(&self, faults: &[Fault]) -> Host {
        self.start_as(self.config().librdkafka("group.instance.id", "a"), faults)
            .await
    }

    pub(crate) async fn start_as(&self, config: HostConfig, faults: &[Fault]) -> Host {
        let host = self.scene.env.host(config).bin(Path::new(WITH_FAULTS));
        host.env(FAULTS, &Fault::show(faults)).start().await
    }

    /// Writes the records of these offsets.
    pub(crate) async fn produce(&self, offsets: std::ops::Range<i64>) {
        self.scene.produce(offsets.map(record).collect()).await;
    }

    /// N, and that what was written is exactly what it says: the good records before it, once each and in order, the
    /// letters of the others.
    pub(crate) async fn next(&self, when: &str) -> i64 {
        // One statement: one snapshot. A COMMIT may still be on its way.
        let all = "SELECT coalesce((SELECT sum(next_offset) FROM tidegate.progress), 0),
                          coalesce((SELECT string_agg(account_id::text, ',' ORDER BY n) FROM journal), ''),
                          coalesce((SELECT string_agg(\"offset\"::text, ',' ORDER BY \"offset\") FROM tidegate.dead_letters), '')";
        let row = self.scene.env.db.query_text(all).await.remove(0);
        let next: i64 = row[0].as_ref().unwrap().parse().unwrap();
        let list = |i: usize| -> Vec<i64> {
            let text = row[i].as_deref().unwrap().split(',');
            text.filter(|n| !n.is_empty())
                .map(|n| n.parse().unwrap())
                .collect()
        };
        let good = (0..next).filter(|offset| !POISON.contains(offset));
        let good: Vec<i64> = good.map(|offset| offset + 1).collect();
        assert_eq!(list(1), good, "{when}: the journal, where N is {next}");
        let bad = POISON.iter().copied().filter(|offset| *offset < next);
        assert_eq!(
            list(2),
            bad.collect::<Vec<_>>(),
            "{when}: the letters, where N is {next}"
        );
        next
    }

    /// Waits until N is this.
    pub(crate) async fn wait_next(&self, records: i64) {
        let what = format!("N to be {records} in {}", self.scene.topic);
        wait_for(PATIENCE, &what, async || {
            (crate::rows::counts(&self.scene.env.db).await.next == records).then_some(())
        })
        .await;
    }

    /// All is done, exactly: effects, letters, counters, offsets, the dead letter topic.
    pub(crate) async fn wait_all(&self, when: &str) {
        let poison = POISON.len() as i64;
        let counts = crate::rows::Counts {
            next: RECORDS,
            committed: RECORDS,
            done: RECORDS - poison,
            rejected: poison,
            ..Default::default()
        };
        crate::rows::settled(&self.scene.env.db, counts).await;
        assert_eq!(self.next(when).await, RECORDS);
        let (kafka, name) = (&self.scene.env.kafka, &self.scene.consumer);
        let offset = kafka.group_offset(name, &self.scene.topic, 0).await;
        assert_eq!(offset, Some(RECORDS), "{when}: Kafka's offset");
        wait_for(PATIENCE, "every letter to be published", async || {
            let open = "SELECT count(*) FROM tidegate.dead_letters WHERE published_at IS NULL";
            let open = numbers(self.scene.env.db.query_text(open).await);
            (open[0][0] == 0).then_some(())
        })
        .await;
    }

    /// The offsets of the records whose letters are in the dead letter topic, as often as they are there.
    pub(crate) async fn published(&self) -> Vec<i64> {
        let topic = format!("{}.dlt", self.scene.topic);
        let letters = self.scene.env.kafka.consume_all(&topic).await;
        let offset = |value: Option<Vec<u8>>| -> i64 {
            let value: serde_json::Value = serde_json::from_slice(&value.unwrap()).unwrap();
            value["account_id"].as_i64().unwrap() - 1
        };
        letters.into_iter().map(|got| offset(got.value)).collect()
    }
}

fn record(offset: i64) -> Rec {
    let trick = match POISON.iter().position(|poison| *poison == offset) {
        None => "",
        Some(1) => "write-then-reject",
        Some(_) => "reject",
    };
    crate::scene::pay(offset + 1, &format!("e{offset}"), trick)
}
