//! Health: what is not ready is named, and ready comes back by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use serde_json::Value;
use tidegate_tests::{Answer, Ledger, TestEnv, ask, secs, test_env, try_ask, wait_for};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::rows::{Counts, settled};
use crate::scene::{Scene, done_and_rejected, pay};

fn problems(answer: &Answer) -> Vec<String> {
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let problems = body["problems"].as_array().unwrap().iter();
    problems.map(|p| p.as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_partition_is_not_ready_until_it_goes_again() {
    let scene = Scene::new("health-stopped", 2, 10).await;
    let consumer = scene.consumer("credit-rust").await;
    let config = scene.env.config().watched().consumer(consumer);
    let host = scene.env.host(config).start().await;
    assert_eq!(host.ask("/livez").await.status, 200);
    host.wait_status("/readyz", 200).await;
    assert_eq!(host.ask("/startupz").await.status, 200);

    scene
        .env
        .db
        .exec("ALTER TABLE accounts RENAME TO gone")
        .await;
    scene.produce(vec![pay(1, "a", "")]).await;
    let answer = host.wait_status("/readyz", 503).await;
    assert!(answer.head.contains("application/json"), "{answer:?}");
    let problems = problems(&answer);
    assert!(
        problems.len() == 1
            && problems[0].contains(&scene.topic)
            && problems[0].contains(&scene.consumer),
        "{problems:?}"
    );
    let scrape = host.scrape().await;
    let own = [("consumer", scene.consumer.as_str())];
    assert_eq!(scrape.get("tidegate_stopped_partitions", &own), Some(1.0));
    assert!(scrape.count("tidegate_retries_total", &[own[0], ("verdict", "stop")]) > 0);
    assert_eq!(
        host.ask("/livez").await.status,
        200,
        "no restart would help"
    );
    assert_eq!(
        host.ask("/startupz").await.status,
        200,
        "it has started once"
    );

    scene
        .env
        .db
        .exec("ALTER TABLE gone RENAME TO accounts")
        .await;
    host.wait_status("/readyz", 200).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    let scrape = host.scrape().await;
    assert_eq!(scrape.get("tidegate_stopped_partitions", &own), Some(0.0));
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_away_is_not_ready_and_metrics_still_answer() {
    let env = test_env("health-away").await;
    let (topic, _ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 10).await);
    let proxy = env.pg_proxy().await;
    proxy.refuse();
    let consumer = env.consumer(&topic, "credit-rust").await;
    let config = env.config().watched().postgres(&env.db.url_via(&proxy));
    let host = env.host(config.consumer(consumer)).start().await;
    // It waits for the database, and says so.
    let answer = host.ask("/startupz").await;
    assert_eq!((answer.status, problems(&answer).len()), (503, 1));
    assert_eq!(host.ask("/livez").await.status, 200);
    let scrape = host.scrape().await;
    assert_eq!(scrape.get("tidegate_ready", &[]), Some(0.0));

    proxy.pass();
    host.wait_status("/readyz", 200).await;
    env.kafka.produce(&topic, vec![pay(1, "a", "")]).await;
    settled(&env.db, Counts::done(1)).await;

    proxy.refuse();
    let answer = host.wait_status("/readyz", 503).await;
    assert!(problems(&answer)[0].contains("database"), "{answer:?}");
    let scrape = host.scrape().await;
    assert_eq!(
        scrape.count("tidegate_records_total", &[("outcome", "done")]),
        1
    );
    assert_eq!(scrape.get("tidegate_database_up", &[]), Some(0.0));
    assert_eq!(
        scrape.get("tidegate_open_dead_letters", &[]),
        None,
        "nobody knows now"
    );
    assert_eq!(scrape.get("tidegate_ready", &[]), Some(0.0));

    proxy.pass();
    host.wait_status("/readyz", 200).await;
    assert_eq!(
        host.scrape().await.get("tidegate_database_up", &[]),
        Some(1.0)
    );
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_is_ready_and_a_host_without_its_broker_is_not() {
    let env = test_env("health-group").await;
    let (topic, _ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 10).await);
    let proxy = env.kafka_proxy().await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let config = env.config().watched().consumer(consumer);
    let owner = env.host(config.clone()).start().await;
    owner.wait_status("/readyz", 200).await;
    let standby = env.host(config.bootstrap(&proxy.addr())).start().await;
    standby.wait_status("/readyz", 200).await;
    let assigned = async |host: &tidegate_tests::Host| {
        let scrape = host.scrape().await;
        scrape.get("tidegate_assigned_partitions", &[])
    };
    wait_for(secs(60), "one owner and one standby", async || {
        let both = (assigned(&owner).await?, assigned(&standby).await?);
        matches!(both, (1.0, 0.0) | (0.0, 1.0)).then_some(())
    })
    .await;
    proxy.refuse();
    let answer = standby.wait_status("/readyz", 503).await;
    assert!(problems(&answer)[0].contains("group"), "{answer:?}");
    assert_eq!(standby.ask("/livez").await.status, 200);
    proxy.pass();
    standby.wait_status("/readyz", 200).await;
    assert_eq!(owner.terminate().await, 0);
    assert_eq!(standby.terminate().await, 0);
}

async fn idle_host(env: &TestEnv) -> tidegate_tests::Host {
    let topic = env.topic("t", 1).await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    env.host(env.config().watched().consumer(consumer))
        .start()
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_said_in_plain_words() {
    let env = test_env("health-http").await;
    let host = idle_host(&env).await;
    let address = host.http().await;
    let answer = ask(&address, "GET", "/").await;
    assert_eq!(answer.status, 404);
    assert!(
        answer.head.contains("text/plain") && answer.body.contains("/metrics"),
        "{answer:?}"
    );
    let answer = ask(&address, "POST", "/metrics").await;
    assert_eq!(answer.status, 405);
    assert!(
        answer.head.to_lowercase().contains("allow: get"),
        "{answer:?}"
    );
    let answer = ask(&address, "GET", "/metrics").await;
    assert!(
        answer.head.contains("text/plain; version=0.0.4"),
        "{answer:?}"
    );

    // A second host at the same address is refused before it does anything.
    let topic = env.topic("other", 1).await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let config = env
        .config()
        .set("host", "http", &address)
        .consumer(consumer);
    let second = env.cli(&["run", "--migrate"], &config).await;
    assert_eq!(second.code, 2, "{}", second.stderr);
    assert!(second.stderr.contains("[host] http") && second.stderr.contains(&address));
    assert_eq!(host.terminate().await, 0);
    assert!(try_ask(&address, "GET", "/livez").await.is_err());
}

/// More connections than there are places, none of which ever sends a request: they end, and others are served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_say_nothing_end_and_keep_nobody_out() {
    let env = test_env("health-idle").await;
    let host = idle_host(&env).await;
    let address = host.http().await;
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(tokio::net::TcpStream::connect(&address).await.unwrap());
    }
    assert_eq!(ask(&address, "GET", "/livez").await.status, 200);
    for mut stream in silent {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut rest));
        ended.await.expect("the host ends it").ok();
    }
    assert_eq!(host.terminate().await, 0);
}

/// Sends half a request, waits until the host has had enough, and comes again.
async fn slow_client(address: String, there: Arc<AtomicUsize>) {
    let mut first = true;
    loop {
        let Ok(mut stream) = TcpStream::connect(&address).await else {
            continue;
        };
        let sent = stream.write_all(b"GET /livez HTTP/1.1\r\nX-Slow: ").await;
        if std::mem::take(&mut first) {
            there.fetch_add(1, Relaxed);
        }
        if sent.is_ok() {
            stream.read_u8().await.ok();
        }
        // It is the host that is to be kept busy, not this process, which has the probes to send too.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_is_answered_beside_a_thousand_slow_clients() {
    const CLIENTS: usize = 1000;
    let env = test_env("health-slow").await;
    let host = idle_host(&env).await;
    let address = host.http().await;
    let (there, mut clients) = (Arc::<AtomicUsize>::default(), JoinSet::new());
    for _ in 0..CLIENTS {
        clients.spawn(slow_client(address.clone(), Arc::clone(&there)));
    }
    wait_for(secs(60), "the clients", async || {
        (there.load(Relaxed) == CLIENTS).then_some(())
    })
    .await;
    // A prober's patience, a few times in a row.
    let mut row = 0;
    wait_for(secs(60), "five probes in a row", async || {
        let probe = try_ask(&address, "GET", "/livez");
        let answer = tokio::time::timeout(Duration::from_secs(1), probe).await;
        let answered = matches!(answer, Ok(Ok(Answer { status: 200, .. })));
        row = if answered { row + 1 } else { 0 };
        (row == 5).then_some(())
    })
    .await;
    assert_eq!(host.terminate().await, 0);
}
