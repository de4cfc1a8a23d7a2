//! Two hosts: what a host has given back it no longer shows, and the sum counts each partition once.

use tidegate_tests::{Host, Rec, TestEnv, secs, test_env, wait_eq, wait_for};

const LAG: &str = "tidegate_position_lag_records";

/// Each host's partitions, by the lag that it shows.
async fn shown(hosts: &[&Host]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for host in hosts {
        all.push(host.scrape().await.label(LAG, "partition"));
    }
    all
}

/// Waits until the hosts show every partition, each on one of them.
async fn wait_parted(hosts: &[&Host], numbers: &[usize]) {
    let what = format!("partitions shown by the hosts: {numbers:?}");
    wait_for(secs(60), &what, async || {
        let shown = shown(hosts).await;
        let lens: Vec<_> = shown.iter().map(Vec::len).collect();
        let mut all = shown.concat();
        all.sort();
        (lens == numbers && all == ["0", "1", "2", "3"]).then_some(())
    })
    .await;
}

async fn sum(hosts: &[&Host]) -> f64 {
    let mut sum = 0.0;
    for host in hosts {
        sum += host.scrape().await.get(LAG, &[]).unwrap_or_default();
    }
    sum
}

/// Records that nobody handles: the handler's table is not there, so every partition stops at its first one.
async fn backlog(env: &TestEnv, topic: &str) {
    let pay = r#"{"amount_minor":1,"account_id":1}"#;
    let rec = |n: i32| Rec::new(pay).to(n % 4).event_id(&format!("e{n}"));
    env.kafka.produce(topic, (0..40).map(rec).collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lag_of_partitions_that_moved_is_shown_once() {
    let env = test_env("metrics-fleet").await;
    let topic = env.topic("t", 4).await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let config = env.config().watched().consumer(consumer);
    backlog(&env, &topic).await;
    let first = env.host(config.clone()).start().await;
    wait_parted(&[&first], &[4]).await;
    assert_eq!(sum(&[&first]).await, 40.0);

    let second = env.host(config).start().await;
    wait_parted(&[&first, &second], &[2, 2]).await;
    assert_eq!(sum(&[&first, &second]).await, 40.0);
    let scrape = first.scrape().await;
    assert_eq!(scrape.get("tidegate_assigned_partitions", &[]), Some(2.0));

    wait_eq(secs(60), "stopped partitions", Some(2.0), async || {
        let scrape = second.scrape().await;
        scrape.get("tidegate_stopped_partitions", &[])
    })
    .await;
    assert_eq!(second.terminate().await, 3);
    wait_parted(&[&first], &[4]).await;
    assert_eq!(sum(&[&first]).await, 40.0);
    assert_eq!(first.terminate().await, 3);
}
