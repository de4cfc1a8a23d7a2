//! Swapping a handler's file under a running host.

mod files;

use std::collections::BTreeSet;
use std::path::Path;

use tidegate_tests::{Rec, digest, guest_bytes, millis, wait_eq, wait_for};

use crate::scene::{Counts, PATIENCE, Scene, numbers, pay};

/// What the host says when a new module takes over.
pub(crate) const TAKEN: &str = "a new module takes over";

/// The same component with another digest: a custom section at its end.
pub(crate) fn with_section(component: &[u8], name: &str) -> Vec<u8> {
    let name = name.as_bytes();
    let short = |n: usize| u8::try_from(n).ok().filter(|n| *n < 128).unwrap();
    let mut bytes = component.to_vec();
    // Section 0, its length, the name's length, the name; nothing in it.
    bytes.extend([0, short(name.len() + 1), short(name.len())]);
    bytes.extend(name);
    bytes
}

/// Puts the bytes in the file's place in one stroke.
pub(crate) fn replace(file: &Path, bytes: &[u8]) {
    let new = file.with_extension("new");
    std::fs::write(&new, bytes).unwrap();
    std::fs::rename(&new, file).unwrap();
}

/// Two modules alternate: one writes down each record it handles, the other does not. So the table says which module
/// really handled a record, and the inbox which one it claims to have been.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_swaps_under_load_handle_every_record_once_by_the_module_that_its_row_names() {
    const SWAPS: usize = 20;
    let scene = Scene::new("swap-load", 2, 50_000).await;
    let table = "CREATE TABLE seen (\"offset\" bigint NOT NULL, counter bigint NOT NULL)";
    scene.env.db.exec(table).await;
    let file = scene.env.guest_copy("rejects", "handler.wasm").await;
    let modules = [
        guest_bytes("rejects").await,
        guest_bytes("keeps-state").await,
    ];
    let consumer = scene.consumer("rejects").await.handler(file.as_path());
    let consumer = consumer.batch("max_wait", "0ms").batch("max_records", 20);
    let host = scene.run(consumer).await;
    // The second module is compiled before the clock runs.
    for n in 0..2 {
        host.wait_log("position taken", PATIENCE).await;
        replace(&file, &modules[(n + 1) % 2]);
        wait_eq(PATIENCE, "the first swaps", n + 1, async || {
            host.log_count(TAKEN)
        })
        .await;
    }

    let producer = scene.env.kafka.producer();
    let mut produced = 0;
    for n in 0..SWAPS {
        replace(&file, &modules[(n + 1) % 2]);
        wait_for(PATIENCE, "a swap under load", async || {
            producer.send(&scene.topic, round(produced)).await;
            produced += ROUND;
            (host.log_count(TAKEN) >= n + 3).then_some(())
        })
        .await;
    }
    producer.send(&scene.topic, round(produced)).await;
    produced += ROUND;
    let expected = Counts {
        done: produced,
        ..Counts::default()
    };
    scene.wait_counts(expected).await;
    assert_eq!(host.log_count(TAKEN), SWAPS + 2);
    let mut journal = scene.journal().await;
    journal.sort_unstable();
    assert_eq!(journal, (1..=produced).collect::<Vec<_>>());
    assert_rows_name_their_module(&scene, &modules).await;
}

/// Records a round, half of them for each partition.
const ROUND: i64 = 10;

/// The next records, an account of their own each.
fn round(from: i64) -> Vec<Rec> {
    let one = |n: i64| pay(n, &format!("e{n}"), "").to(i32::try_from(n % 2).unwrap());
    (from + 1..=from + ROUND).map(one).collect()
}

async fn assert_rows_name_their_module(scene: &Scene, modules: &[Vec<u8>; 2]) {
    let by = |module: &[u8]| {
        let digest = digest(module);
        async move {
            let sql = format!(
                "SELECT \"offset\" FROM tidegate.processed_events
                  WHERE encode(module_digest, 'hex') = '{digest}' ORDER BY 1"
            );
            numbers(scene.env.db.query_text(&sql).await).concat()
        }
    };
    let (silent, writing) = (by(&modules[0]).await, by(&modules[1]).await);
    let seen = "SELECT \"offset\" FROM seen ORDER BY 1";
    let seen = numbers(scene.env.db.query_text(seen).await).concat();
    assert_eq!(
        writing, seen,
        "the rows that name the writing module are those it wrote"
    );
    assert!(silent.len() > 50 && writing.len() > 50, "both had work");
    let all = "SELECT count(*) FROM tidegate.processed_events";
    let all = usize::try_from(scene.env.db.query_one_i64(all).await).unwrap();
    assert_eq!(silent.len() + writing.len(), all);
}

/// A file written in place while records flow: whichever module handles a record, it is one of the two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_written_in_ten_chunks_is_loaded_once_it_is_whole() {
    let scene = Scene::new("swap-chunks", 1, 1).await;
    let file = scene.env.guest_copy("rejects", "handler.wasm").await;
    let old = guest_bytes("rejects").await;
    let new = with_section(&old, "new");
    let consumer = scene.consumer("rejects").await.handler(file.as_path());
    let host = scene.run(consumer.batch("max_wait", "0ms")).await;
    let mut served = Served::new(&scene);
    served.one().await;

    std::fs::write(&file, b"").unwrap();
    for chunk in new.chunks(new.len().div_ceil(10)) {
        let mut open = std::fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .unwrap();
        std::io::Write::write_all(&mut open, chunk).unwrap();
        drop(open);
        // About 200 ms of work between two chunks: 2 s in all.
        served.through(millis(200)).await;
    }
    served.until(&new).await;
    assert_eq!(host.log_count(TAKEN), 1);
    let expected: BTreeSet<_> = [digest(&old), digest(&new)].into();
    assert_eq!(served.digests().await, expected);
    served.assert_all_done().await;
}

/// Records that are produced one by one, each when the one before is done.
pub(crate) struct Served<'a> {
    scene: &'a Scene,
    count: i64,
}

impl<'a> Served<'a> {
    pub(crate) fn new(scene: &'a Scene) -> Self {
        Self { scene, count: 0 }
    }

    /// One more record, and its module's digest.
    pub(crate) async fn one(&mut self) -> String {
        self.count += 1;
        let id = format!("e{}", self.count);
        self.scene.produce(vec![pay(1, &id, "")]).await;
        let sql = format!(
            "SELECT encode(module_digest, 'hex') FROM tidegate.processed_events WHERE event_id = '{id}'"
        );
        let expected = Counts {
            done: self.count,
            ..Counts::default()
        };
        self.scene.wait_counts(expected).await;
        let rows = self.scene.env.db.query_text(&sql).await;
        rows[0][0].clone().unwrap()
    }

    /// Records for so long.
    pub(crate) async fn through(&mut self, time: std::time::Duration) {
        let began = std::time::Instant::now();
        while began.elapsed() < time {
            self.one().await;
        }
    }

    /// Records until one is handled by this module.
    pub(crate) async fn until(&mut self, module: &[u8]) {
        let wanted = digest(module);
        wait_for(PATIENCE, "the new module", async || {
            (self.one().await == wanted).then_some(())
        })
        .await;
    }

    /// The digests of all modules that handled a record.
    pub(crate) async fn digests(&self) -> BTreeSet<String> {
        let sql = "SELECT DISTINCT encode(module_digest, 'hex') FROM tidegate.processed_events";
        let rows = self.scene.env.db.query_text(sql).await;
        rows.into_iter()
            .map(|mut row| row.remove(0).unwrap())
            .collect()
    }

    pub(crate) async fn assert_all_done(&self) {
        assert_eq!(self.scene.balance(1).await, self.count);
        assert_eq!(self.scene.letters().await, []);
    }
}
