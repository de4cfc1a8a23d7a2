//! The sandbox: a guest that traps, loops or hoards gets its verdict; the host and the other partitions go on.

mod files;

use tidegate_tests::{Consumer, digest, guest_bytes, wait_for};

use crate::scene::{PATIENCE, Scene, done_and_rejected, numbers, pay};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trap_is_a_verdict_and_other_partitions_are_unharmed() {
    let message = misbehaves("sandbox-trap", "trap", "trap", "trap").await;
    assert!(message.contains("told to trap"), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_loop_ends_at_its_cpu_limit_and_other_partitions_are_unharmed() {
    misbehaves("sandbox-loop", "endless-loop", "loop", "cpu-limit").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_bomb_ends_at_its_memory_limit_and_other_partitions_are_unharmed() {
    misbehaves("sandbox-bomb", "memory-bomb", "bomb", "memory-limit").await;
}

/// Partition 0 carries two bad records among good ones, partition 1 only good ones. Answers the first letter's words.
async fn misbehaves(name: &str, guest: &str, trick: &str, code: &str) -> String {
    let scene = Scene::new(name, 2, 200).await;
    let is_bad = |n: i64| n == 3 || n == 60;
    let record = |n: i64| match n {
        _ if is_bad(n) => pay(n, &format!("e{n}"), trick),
        1..=100 => pay(n, &format!("e{n}"), ""),
        _ => pay(n, &format!("e{n}"), "").to(1),
    };
    scene.produce((1..=200).map(record).collect()).await;
    let consumer = scene.consumer(guest).await;
    let consumer = consumer.limits("cpu", "200ms").limits("memory", "16MiB");
    let host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(198, 2)).await;
    let mut journal = scene.journal().await;
    let second: Vec<_> = journal.iter().copied().filter(|n| *n > 100).collect();
    assert_eq!(second, (101..=200).collect::<Vec<_>>());
    journal.retain(|n| *n <= 100);
    let good = (1..=100).filter(|n| !is_bad(*n));
    assert_eq!(journal, good.collect::<Vec<_>>());
    assert_eq!(scene.codes().await, [code, code]);
    let letters = scene.letters().await;
    let places: Vec<_> = letters.iter().map(|l| (l.partition, l.offset)).collect();
    assert_eq!(places, [(0, 2), (0, 59)]);

    scene.produce(vec![pay(3, "after", "")]).await;
    scene.wait_counts(done_and_rejected(199, 2)).await;
    assert!(host.is_running());
    // A panic of the host's own would stand at a line's beginning; the guest's words do not.
    let log = host.log();
    assert!(
        !log.lines().any(|line| line.starts_with("thread '")),
        "{log}"
    );
    letters[0].message.clone()
}

/// Whatever a guest remembers begins anew with each transaction, also with the one after a rollback.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_global_never_outlives_its_transaction() {
    let scene = Scene::new("sandbox-state", 1, 100).await;
    seen(&scene).await;
    // The 40th names an account that is not there: its batch rolls back and is split around it.
    let account = |n: i64| if n == 40 { 1_000 } else { n };
    let records = (1..=100).map(|n| pay(account(n), &format!("e{n}"), ""));
    scene.produce(records.collect()).await;
    let consumer = scene.consumer("keeps-state").await;
    let _host = scene.run(consumer.batch("max_records", 30)).await;
    scene.wait_counts(done_and_rejected(99, 1)).await;

    let sql = "SELECT s.\"offset\", s.counter, row_number() OVER (PARTITION BY s.xmin::text ORDER BY s.\"offset\")
                 FROM seen s ORDER BY 1";
    let rows = numbers(scene.env.db.query_text(sql).await);
    assert_eq!(rows.len(), 99);
    for row in &rows {
        assert_eq!(
            row[1], row[2],
            "the counter starts at 1 in each transaction: {rows:?}"
        );
    }
    assert!(
        rows.iter().any(|row| row[1] > 5),
        "an instance serves its batch: {rows:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_an_instance_a_record_a_global_never_outlives_its_record() {
    let scene = Scene::new("sandbox-record", 1, 50).await;
    seen(&scene).await;
    let records = (1..=50).map(|n| pay(n, &format!("e{n}"), ""));
    scene.produce(records.collect()).await;
    let consumer: Consumer = scene.consumer("keeps-state").await;
    let _host = scene.run(consumer.set("instance", "record")).await;
    scene.wait_counts(done_and_rejected(50, 0)).await;
    let sql = "SELECT count(*), min(counter), max(counter) FROM seen";
    let rows = numbers(scene.env.db.query_text(sql).await);
    assert_eq!(rows, [[50, 1, 1]]);
}

async fn seen(scene: &Scene) {
    let table = "CREATE TABLE seen (\"offset\" bigint PRIMARY KEY, counter bigint NOT NULL)";
    scene.env.db.exec(table).await;
}

/// 3 MiB of output become a bounded part of the log, with a line that says what was dropped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_prints_a_lot_writes_a_bounded_log() {
    let scene = Scene::new("sandbox-prints", 1, 3).await;
    let records = vec![pay(1, "e1", ""), pay(2, "e2", "print"), pay(3, "e3", "")];
    scene.produce(records).await;
    let consumer = scene.consumer("prints-a-lot").await;
    let host = scene.run(consumer.limits("log_bytes", "20KiB")).await;
    scene.wait_counts(done_and_rejected(3, 0)).await;
    assert_eq!(scene.journal().await, [1, 2, 3]);
    host.wait_log("dropped", PATIENCE).await;
    let log = host.log();
    let printed = log.matches("xxxxxxxxxx").count() * 10;
    assert!(
        (1_000..=21_000).contains(&printed),
        "{printed} bytes of output"
    );
    assert!(log.len() < 100_000, "{} bytes of log", log.len());
    assert_eq!(host.log_count("beyond the limit"), 1);
    let place = format!(
        r#"topic="{}" partition=0 offset=1 event_id="e2""#,
        scene.topic
    );
    let said = ["xxxxxxxxxx", "beyond the limit"];
    let mut guests = log.lines().filter(|l| said.iter().any(|s| l.contains(s)));
    assert!(guests.all(|line| line.contains(&place)), "{log}");
}

/// A record that never ends computing does not keep another consumer of the same host from starting or working.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_consumer_works_while_one_computes_for_seconds() {
    let scene = Scene::new("sandbox-busy", 2, 60).await;
    let other = scene.env.topic("other", 1).await;
    let records = [pay(1, "e1", "loop"), pay(2, "e2", "loop").to(1)];
    scene.produce(records.to_vec()).await;
    let busy = scene.consumer("endless-loop").await;
    let busy = busy.limits("cpu", "3s").limits("wall", "20s");
    let name = scene.env.unique("calm");
    let calm = Consumer::new(&name).topic(&other).set("start", "earliest");
    let calm = calm.handler(tidegate_tests::guest("rejects").await);
    let config = scene.env.config().consumer(busy).consumer(calm);
    let _host = scene.env.host(config).start().await;
    let records = (11..=60).map(|n| pay(n, &format!("e{n}"), ""));
    scene.env.kafka.produce(&other, records.collect()).await;
    wait_for(PATIENCE, "the calm consumer", async || {
        (scene.counts_of(&name).await.done == 50).then_some(())
    })
    .await;
    assert_eq!(
        scene.counts().await,
        done_and_rejected(0, 0),
        "the busy one still computes"
    );
    scene.wait_counts(done_and_rejected(0, 2)).await;
    assert_eq!(scene.codes().await, ["cpu-limit"; 2]);
    let module = digest(&guest_bytes("endless-loop").await);
    let sql = "SELECT DISTINCT encode(module_digest, 'hex') FROM tidegate.dead_letters";
    assert_eq!(scene.env.db.query_text(sql).await, [[Some(module)]]);
}
