//! The harness shown to do what the other modules rely on.

use tidegate_tests::{
    HostConfig, Ledger, Pattern, Rec, millis, payments, secs, services, test_env, wait_eq, wait_for,
};

/// A producer that needs the broker's advertised address: what came through the proxy stays behind it.
fn through(address: &str) -> rdkafka::ClientConfig {
    let mut config = rdkafka::ClientConfig::new();
    config
        .set("bootstrap.servers", address)
        .set("message.timeout.ms", "5000")
        .set("log_level", "0");
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_come_back_as_they_were_written() {
    let env = test_env("roundtrip").await;
    let topic = env.topic("t", 2).await;
    let first = Rec::new("v1")
        .key("k")
        .to(1)
        .header("a", "1")
        .null_header("b")
        .header("a", "2")
        .at(1_000);
    let tombstone = Rec::default().key("").to(1).event_id("e1");
    let at = env.kafka.produce(&topic, vec![first, tombstone]).await;
    assert_eq!(
        at.iter()
            .map(|at| (at.partition, at.offset))
            .collect::<Vec<_>>(),
        [(1, 0), (1, 1)]
    );

    let got = env.kafka.consume_all(&topic).await;
    assert_eq!(got.len(), 2);
    assert_eq!(
        (got[0].timestamp, got[0].text().as_deref()),
        (Some(1_000), Some("v1"))
    );
    let names: Vec<_> = got[0]
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "a"]);
    assert_eq!(got[0].header("a").as_deref(), Some("2"));
    assert_eq!(got[0].header("b"), None);
    assert_eq!(
        (got[1].key.as_deref(), got[1].value.as_deref()),
        (Some(&b""[..]), None)
    );
    assert_eq!(got[1].header("event-id").as_deref(), Some("e1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborted_transactions_are_not_seen() {
    let env = test_env("transactions").await;
    let topic = env.topic("t", 1).await;
    let aborted = env.kafka.begin(&topic, vec![Rec::new("no")]).await;
    aborted.abort().await;
    let committed = env.kafka.begin(&topic, vec![Rec::new("yes")]).await;
    assert_eq!(
        committed.at[0].offset, 2,
        "a record and a marker stand before it"
    );
    committed.commit().await;
    let seen: Vec<_> = env
        .kafka
        .consume_all(&topic)
        .await
        .iter()
        .filter_map(|got| got.text())
        .collect();
    assert_eq!(seen, ["yes"]);
    wait_eq(
        secs(5),
        "both markers to stand in the log",
        (0, 4),
        async || env.kafka.watermarks(&topic, 0).await,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn group_offsets_are_set_read_and_deleted() {
    let env = test_env("groups").await;
    let topic = env.topic("t", 2).await;
    let group = env.unique("g");
    assert_eq!(env.kafka.group_offset(&group, &topic, 0).await, None);
    env.kafka.commit_group_offset(&group, &topic, 1, 42).await;
    assert_eq!(env.kafka.group_offset(&group, &topic, 1).await, Some(42));
    assert_eq!(env.kafka.group_offset(&group, &topic, 0).await, None);
    assert_eq!(env.kafka.group_members(&group).await, 0);
    env.kafka.delete_group(&group).await;
    assert_eq!(env.kafka.group_offset(&group, &topic, 1).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_grow_shrink_and_are_made_again() {
    let env = test_env("topics").await;
    let topic = env.topic("t", 1).await;
    env.kafka
        .produce(&topic, vec![Rec::new("a"), Rec::new("b")])
        .await;
    env.kafka.delete_records(&topic, 0, 1).await;
    assert_eq!(env.kafka.watermarks(&topic, 0).await, (1, 2));
    env.kafka.add_partitions(&topic, 3).await;
    env.kafka.produce(&topic, vec![Rec::new("c").to(2)]).await;
    env.kafka.delete_topic(&topic).await;
    assert_eq!(env.kafka.consume_all(&topic).await, []);
    env.kafka
        .create_topic(&topic, 1, &[("cleanup.policy", "compact")])
        .await;
    let at = env
        .kafka
        .produce(&topic, vec![Rec::new("d").key("k")])
        .await;
    assert_eq!(at[0].offset, 0);
    assert!(!env.kafka.cluster_id().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn databases_are_apart() {
    let (one, two) = (test_env("apart").await, test_env("apart").await);
    one.db
        .exec("CREATE TABLE only_here (n bigint); INSERT INTO only_here VALUES (7)")
        .await;
    assert_eq!(one.db.query_one_i64("SELECT n FROM only_here").await, 7);
    assert!(two.db.try_exec("SELECT n FROM only_here").await.is_err());
    assert_eq!(two.db.query_i64("SELECT null::bigint").await, None);
    assert_eq!(
        one.db.query_text("SHOW fsync").await[0][0].as_deref(),
        Some("on")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_reply_leaves_the_commit_in_the_database() {
    let env = test_env("cut").await;
    env.db.exec("CREATE TABLE t (n bigint)").await;
    let proxy = env.pg_proxy().await;
    proxy.cut_on_reply_after("COMMIT", 3);
    for n in 0..5 {
        let (client, connection) =
            tokio_postgres::connect(&env.db.url_via(&proxy), tokio_postgres::NoTls)
                .await
                .unwrap();
        tokio::spawn(connection);
        client
            .batch_execute(&format!("BEGIN; INSERT INTO t VALUES ({n})"))
            .await
            .unwrap();
        let answer = client.batch_execute("COMMIT").await;
        assert_eq!(answer.is_err(), n < 3, "commit {n}: {answer:?}");
        assert_eq!(env.db.query_one_i64("SELECT count(*) FROM t").await, n + 1);
    }
    assert_eq!((proxy.cuts(), proxy.accepted()), (3, 5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_commit_waits_or_dies_with_its_client() {
    let env = test_env("hold").await;
    env.db.exec("CREATE TABLE t (n bigint)").await;
    let proxy = env.pg_proxy().await;
    for (released, rows) in [(false, 0), (true, 1)] {
        let hold = proxy.hold_when("COMMIT");
        let (client, connection) =
            tokio_postgres::connect(&env.db.url_via(&proxy), tokio_postgres::NoTls)
                .await
                .unwrap();
        let connection = tokio::spawn(connection);
        client
            .batch_execute("BEGIN; INSERT INTO t VALUES (1)")
            .await
            .unwrap();
        let committing = tokio::spawn(async move { client.batch_execute("COMMIT").await });
        hold.held(secs(5)).await;
        assert!(hold.is_held() && !committing.is_finished());
        assert_eq!(env.db.query_one_i64("SELECT count(*) FROM t").await, 0);
        if released {
            hold.release();
            committing.await.unwrap().unwrap();
        } else {
            connection.abort();
            committing.abort();
        }
        wait_eq(secs(5), "the transaction to end", 0, async || {
            let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'";
            env.db.query_one_i64(others).await
        })
        .await;
        assert_eq!(env.db.query_one_i64("SELECT count(*) FROM t").await, rows);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_modes_of_a_proxy_are_what_clients_see() {
    let env = test_env("modes").await;
    let proxy = env.pg_proxy().await;
    let connect =
        async || tokio_postgres::connect(&env.db.url_via(&proxy), tokio_postgres::NoTls).await;
    let (client, connection) = connect().await.unwrap();
    tokio::spawn(connection);
    proxy.delay(millis(100));
    let asked = std::time::Instant::now();
    client.batch_execute("SELECT 1").await.unwrap();
    assert!(
        asked.elapsed() >= millis(200),
        "both ways are late: {:?}",
        asked.elapsed()
    );

    proxy.blackhole();
    let answer = client.batch_execute("SELECT 1");
    let mut answer = std::pin::pin!(answer);
    assert!(
        tokio::time::timeout(millis(300), &mut answer)
            .await
            .is_err(),
        "nothing came back"
    );
    proxy.pass();
    answer.await.unwrap();

    proxy.refuse();
    wait_for(secs(5), "the connection to be cut", async || {
        client.is_closed().then_some(())
    })
    .await;
    assert!(connect().await.is_err());
    wait_eq(secs(5), "no connection to be open", 0, async || {
        proxy.connections()
    })
    .await;
    proxy.pass();
    assert!(connect().await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafka_clients_stay_behind_their_proxy() {
    use rdkafka::producer::{FutureProducer, FutureRecord};
    let env = test_env("kafka-proxy").await;
    let topic = env.topic("t", 1).await;
    let proxy = env.kafka_proxy().await;
    let producer: FutureProducer = through(&proxy.addr()).create().unwrap();
    let record = || FutureRecord::<str, str>::to(&topic).payload("x");
    producer.send(record(), secs(5)).await.unwrap();
    assert!(proxy.connections() >= 1);

    let hold = proxy.hold_when(Pattern::KafkaApi(0));
    let (sending, held) = (producer.send(record(), secs(5)), hold.held(secs(5)));
    let mut sending = std::pin::pin!(sending);
    tokio::select! {
        () = held => {}
        done = &mut sending => panic!("the request was not held: {done:?}"),
    }
    assert_eq!(env.kafka.watermarks(&topic, 0).await, (0, 1));
    hold.release();
    sending.await.unwrap();
    assert_eq!(env.kafka.watermarks(&topic, 0).await, (0, 2));

    proxy.refuse();
    assert!(
        producer.send(record(), secs(1)).await.is_err(),
        "there is no way past the proxy"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_books_count_each_event_once() {
    let env = test_env("books").await;
    let ledger = Ledger::create(&env.db, 3).await;
    let paid = payments(20, 3);
    let twice = [paid.clone(), paid.clone()].concat();
    for p in &paid {
        let sql = format!(
            "UPDATE accounts SET balance = balance + {} WHERE id = {}",
            p.amount_minor, p.account_id
        );
        env.db.exec(&sql).await;
    }
    ledger.wait_exact(&twice, secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_is_stopped_killed_and_its_log_read() {
    let env = test_env("process").await;
    let script = env.dir().join("stand-in");
    std::fs::write(&script, "#!/bin/sh\necho ready >&2\necho \"$@\"\ntrap 'exit 7' TERM\nwhile :; do sleep 0.05; done\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let config: HostConfig = env.config().set("host", "shutdown_timeout", "5s");
    let host = env.host(config).args(&["run"]).bin(&script).start().await;
    host.wait_log("ready", secs(5)).await;
    wait_for(secs(5), "the arguments", async || {
        host.stdout().contains("run -c ").then_some(())
    })
    .await;
    host.stop_signal();
    host.cont();
    assert!(host.is_running());
    let next = host.restart().await;
    assert!(!host.is_running());
    next.wait_log("ready", secs(5)).await;
    assert_eq!(next.terminate().await, 7);
    let toml = std::fs::read_to_string(next.config_path()).unwrap();
    assert!(toml.contains("shutdown_timeout") && toml.contains(&services().kafka));
}
