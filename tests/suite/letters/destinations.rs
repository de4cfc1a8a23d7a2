//! Each dead letter topic is a destination of its own: what one does holds up no other's letters, and what somebody mends
//! is tried again.

use tidegate_tests::{Got, Host, HostConfig, wait_eq, wait_for};

use crate::scene::{PATIENCE, Scene, done_and_rejected};
use crate::tenants::tenant_pay;

/// Waits for so many records of a topic; their event ids in order.
async fn arrived(scene: &Scene, topic: &str, n: usize) -> Vec<String> {
    let got: Vec<Got> = wait_for(PATIENCE, "letters", async || {
        let got = scene.env.kafka.consume_all(topic).await;
        (got.len() >= n).then_some(got)
    })
    .await;
    got.iter().map(|g| g.header("event-id").unwrap()).collect()
}

/// The reasons for which letters were refused and are tried again.
async fn refusals(scene: &Scene) -> Vec<String> {
    let sql =
        "SELECT tenant || ': ' || refusal FROM tidegate.dead_letters WHERE refusal IS NOT NULL";
    let rows = scene.env.db.query_text(sql).await;
    rows.into_iter()
        .map(|mut row| row.remove(0).unwrap())
        .collect()
}

async fn listed(scene: &Scene, config: &HostConfig) -> serde_json::Value {
    let list = [
        "dlt", "list", "--limit", "1", "--format", "json", "--tenant", "a",
    ];
    let list = scene.env.cli(&list, config).await;
    serde_json::from_str(&list.stdout).unwrap_or_else(|_| panic!("{list:?}"))
}

/// The line that says that a topic refuses.
async fn refused(host: &Host) -> String {
    let text = "dead letters cannot be published now";
    host.wait_log(text, PATIENCE).await;
    let log = host.log();
    log.lines()
        .find(|line| line.contains(text))
        .unwrap()
        .to_owned()
}

/// How often publishing to a topic failed.
async fn failures(host: &Host, topic: &str) -> i64 {
    let name = "tidegate_dead_letter_publish_failures_total";
    host.scrape().await.count(name, &[("topic", topic)])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_topic_holds_back_its_own_letters_alone() {
    let scene = Scene::new("letters-apart", 1, 9).await;
    let (missing, b) = (scene.env.unique("missing"), scene.env.topic("b", 1).await);
    let toml = format!(
        "[consumer.tenants]\nfrom = \"header:tenant\"\n[consumer.tenant.a]\ndead_letter_topic = {missing:?}\n\
         [consumer.tenant.b]\ndead_letter_topic = {b:?}\n[consumer.tenant.c]\n"
    );
    let consumer = scene
        .consumer("rejects")
        .await
        .raw(&toml)
        .set("brake", "off");
    let config = scene.env.config().watched();
    // How long the client waits for a topic that it does not know.
    let config = config
        .librdkafka("topic.metadata.propagation.max.ms", "1000")
        .consumer(consumer);
    let record = |(n, tenant): (i64, &str)| {
        tenant_pay(tenant, 1, &format!("{tenant}{n:02}"), "reject").key("k")
    };
    // The first letters of the partition are those of the topic that is missing.
    let tenants = (1..=90).map(|n| match n {
        ..=30 => "a",
        n => ["a", "b", "c"][usize::try_from(n % 3).unwrap()],
    });
    let records: Vec<_> = (1..).zip(tenants).collect();
    let of = |tenant: &str| {
        records
            .iter()
            .filter(|r| r.1 == tenant)
            .map(|r| format!("{}{:02}", r.1, r.0))
            .collect::<Vec<_>>()
    };
    scene
        .produce(records.iter().copied().map(record).collect())
        .await;
    let host = scene.env.host(config.clone()).start().await;
    scene.wait_counts(done_and_rejected(0, 90)).await;
    assert_eq!(arrived(&scene, &b, 20).await, of("b"));
    let own = format!("{}.dlt", scene.topic);
    assert_eq!(arrived(&scene, &own, 20).await, of("c"));
    // The topic that refuses is told by itself: in the log, in the metrics, in the first letter's row.
    let line = refused(&host).await;
    assert!(
        line.contains(&missing) && line.contains("create it"),
        "{line}"
    );
    let told = wait_for(PATIENCE, "the refusal", async || {
        let told = refusals(&scene).await;
        (!told.is_empty()).then_some(told)
    })
    .await;
    assert!(
        told.len() == 1 && told[0].starts_with("a: ") && told[0].contains("create it"),
        "{told:?}"
    );
    assert!(failures(&host, &missing).await > 0);
    assert_eq!(
        (failures(&host, &b).await, failures(&host, &own).await),
        (0, 0)
    );

    scene.env.kafka.create_topic(&missing, 1, &[]).await;
    assert_eq!(arrived(&scene, &missing, 50).await, of("a"));
    host.wait_log("takes letters again", PATIENCE).await;
    wait_eq(PATIENCE, "letters that are refused", 0, async || {
        refusals(&scene).await.len()
    })
    .await;
}

/// The topic allows no letter to be older than itself: as where a clock is wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_refused_for_a_clock_is_published_once_that_is_put_right() {
    let scene = Scene::new("letters-clock", 1, 9).await;
    let strict = scene.env.unique("strict");
    let none = [
        ("message.timestamp.type", "CreateTime"),
        ("message.timestamp.before.max.ms", "0"),
    ];
    scene.env.kafka.create_topic(&strict, 1, &none).await;
    let toml = format!(
        "[consumer.tenants]\nfrom = \"header:tenant\"\n[consumer.tenant.a]\ndead_letter_topic = {strict:?}\n"
    );
    let consumer = scene.consumer("rejects").await.raw(&toml);
    // The letter is a while under way.
    let config = scene
        .env
        .config()
        .librdkafka("linger.ms", "200")
        .consumer(consumer);
    let records = (1..=3).map(|n| tenant_pay("a", 1, &format!("e{n}"), "reject"));
    scene.produce(records.collect()).await;
    let host = scene.env.host(config.clone()).start().await;
    scene.wait_counts(done_and_rejected(0, 3)).await;
    let line = refused(&host).await;
    assert!(
        line.contains("InvalidTimestamp") && line.contains("clock"),
        "{line}"
    );
    let told = wait_for(PATIENCE, "the refusal", async || {
        refusals(&scene).await.pop()
    })
    .await;
    assert!(told.contains("message.timestamp.before.max.ms"), "{told}");
    let unpublished = "SELECT count(*) FROM tidegate.dead_letters WHERE unpublishable IS NOT NULL OR published_at IS NOT NULL";
    assert_eq!(scene.env.db.query_one_i64(unpublished).await, 0);
    let list = scene.env.cli(&["dlt", "list"], &config).await;
    assert!(list.stdout.contains("refused"), "{list:?}");
    assert!(listed(&scene, &config).await[0].get("refusal").is_some());

    let lenient = [("message.timestamp.before.max.ms", "86400000")];
    scene.env.kafka.alter_topic(&strict, &lenient).await;
    assert_eq!(arrived(&scene, &strict, 3).await, ["e1", "e2", "e3"]);
    wait_eq(PATIENCE, "letters that are refused", 0, async || {
        refusals(&scene).await.len()
    })
    .await;
    assert!(host.is_running());
}
