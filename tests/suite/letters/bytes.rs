//! What a letter keeps, and what is published: the record byte for byte.

use tidegate_tests::{Got, Rec, digest, guest_bytes, wait_for};

use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};

type Headers = Vec<(String, Option<Vec<u8>>)>;

/// A letter's stored columns.
struct Stored {
    id: String,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Headers,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_keeps_the_record_byte_for_byte_and_publishes_it_so() {
    let scene = Scene::new("letters-bytes", 1, 3).await;
    let all_bytes: Vec<u8> = (0..=255).collect();
    let foreign = |rec: Rec| {
        rec.header("b", all_bytes.clone())
            .header("a", "1")
            .null_header("a")
            .header("a", "")
            .header("ключ", "значение")
            .header("a", "1")
    };
    let odd = foreign(Rec::new(all_bytes.clone()).to(0).key(vec![0, 255, 1]))
        .header("tidegate-error-code", "forged")
        .header("Tidegate-Own", "forged")
        .null_header("tidegate-")
        .event_id("odd");
    let bare = Rec::default().to(0).event_id("bare");
    let empty = Rec::new("").to(0).key("").event_id("empty");
    let records = vec![odd, bare, empty];
    scene.produce(records.clone()).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(0, 3)).await;

    let stored = stored(&scene).await;
    for (stored, rec) in stored.iter().zip(&records) {
        assert_eq!((&stored.key, &stored.value), (&rec.key, &rec.value));
        assert_eq!(stored.headers, rec.headers);
    }
    let published = published(&scene, 3).await;
    for (stored, rec) in stored.iter().zip(&records) {
        let got = the_one(&published, &stored.id);
        assert_eq!((&got.key, &got.value), (&rec.key, &rec.value));
        let theirs = |(name, _): &&(String, _)| !name.to_lowercase().starts_with("tidegate-");
        let kept: Headers = rec.headers.iter().filter(theirs).cloned().collect();
        assert_eq!(got.headers[..kept.len()], kept);
        let own = &got.headers[kept.len()..];
        assert!(own.iter().all(|h| h.0.starts_with("tidegate-")), "{own:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_published_letter_tells_its_cause_in_headers_of_its_own() {
    let scene = Scene::new("letters-headers", 1, 3).await;
    let rejected = pay(1, "e1", "reject")
        .at(1_700_000_000_123)
        .header("tidegate-dead-letter-id", "forged");
    scene.produce(vec![pay(2, "e2", ""), rejected]).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(1, 1)).await;
    let id = stored(&scene).await.remove(0).id;
    let got = published(&scene, 1).await.remove(0);
    let attempts = scene.letters().await[0].attempts.to_string();
    let module = digest(&guest_bytes("rejects").await);
    let cluster = scene.env.kafka.cluster_id().await;
    let expected = [
        ("dead-letter-id", id.as_str()),
        ("consumer", &scene.consumer),
        ("cluster-id", &cluster),
        ("topic", &scene.topic),
        ("partition", "0"),
        ("offset", "1"),
        ("timestamp", "1700000000123"),
        ("timestamp-type", "create"),
        ("error-code", "rejected"),
        ("error-message", "told to reject"),
        ("attempts", &attempts),
        ("event-id", "e1"),
        ("module-digest", &module),
    ];
    for (name, value) in expected {
        let name = format!("tidegate-{name}");
        let values = got.headers.iter().filter(|h| h.0 == name);
        let values: Vec<_> = values.map(|h| h.1.clone().unwrap()).collect();
        assert_eq!(values, [value.as_bytes()], "{name}");
    }
    assert_eq!(id.len(), 64);
    assert!(id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
    let is_own = |h: &&(String, _)| h.0.starts_with("tidegate-");
    for (name, value) in got.headers.iter().filter(is_own) {
        let text = String::from_utf8(value.clone().unwrap());
        assert!(text.unwrap().len() <= 1024, "{name}");
    }
}

/// The module that handled the record is the letter's, and so in the inbox.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_and_its_claim_carry_the_modules_digest() {
    let scene = Scene::new("letters-digest", 1, 3).await;
    scene
        .produce(vec![pay(1, "e1", "reject"), pay(2, "e2", "")])
        .await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(1, 1)).await;
    let module = digest(&guest_bytes("rejects").await);
    for table in ["dead_letters", "processed_events"] {
        let sql = format!("SELECT DISTINCT encode(module_digest, 'hex') FROM tidegate.{table}");
        let rows = scene.env.db.query_text(&sql).await;
        assert_eq!(rows, [[Some(module.clone())]], "{table}");
    }
}

async fn stored(scene: &Scene) -> Vec<Stored> {
    let client = scene.env.db.client().await;
    let sql = "SELECT id, key, value, header_names, header_values FROM tidegate.dead_letters
                WHERE consumer_name = $1 ORDER BY partition, \"offset\"";
    let rows = client.query(sql, &[&scene.consumer]).await.unwrap();
    let read = |row: &tokio_postgres::Row| {
        let names: Vec<Vec<u8>> = row.get(3);
        let names = names.into_iter().map(|n| String::from_utf8(n).unwrap());
        let values: Vec<Option<Vec<u8>>> = row.get(4);
        Stored {
            id: row.get(0),
            key: row.get(1),
            value: row.get(2),
            headers: names.zip(values).collect(),
        }
    };
    rows.iter().map(read).collect()
}

async fn published(scene: &Scene, n: usize) -> Vec<Got> {
    let topic = format!("{}.dlt", scene.topic);
    wait_for(PATIENCE, "the letters to be published", async || {
        let got = scene.env.kafka.consume_all(&topic).await;
        assert!(got.len() <= n, "a letter is published once: {got:?}");
        (got.len() == n).then_some(got)
    })
    .await
}

fn the_one<'a>(published: &'a [Got], id: &str) -> &'a Got {
    let is_it = |got: &&Got| got.header("tidegate-dead-letter-id").as_deref() == Some(id);
    let found: Vec<_> = published.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{id} in {published:?}");
    found[0]
}
