//! A pause is seen in the metrics, and is no failure.

use tidegate_tests::{Ledger, secs, test_env, wait_eq};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_consumer_is_shown_as_paused_and_is_ready() {
    let env = test_env("metrics-state").await;
    let (topic, _ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 10).await);
    let consumer = env.consumer(&topic, "credit-rust").await;
    let (name, config) = (consumer.name.clone(), env.config().watched());
    let config = config.consumer(consumer);
    let host = env.host(config.clone()).start().await;
    host.wait_status("/readyz", 200).await;
    let states = async || {
        let scrape = host.scrape().await;
        ["running", "paused", "braked"].map(|state| {
            let labels = [("consumer", name.as_str()), ("state", state)];
            scrape.count("tidegate_consumer_state", &labels)
        })
    };
    assert_eq!(states().await, [1, 0, 0]);
    let done = env.cli(&["consumer", "pause", &name], &config).await;
    assert_eq!(done.code, 0, "{}", done.stderr);
    wait_eq(secs(60), "the state", [0, 1, 0], &states).await;
    assert_eq!(host.ask("/readyz").await.status, 200);
    let done = env.cli(&["consumer", "resume", &name], &config).await;
    assert_eq!(done.code, 0, "{}", done.stderr);
    wait_eq(secs(60), "the state", [1, 0, 0], &states).await;
    assert_eq!(host.terminate().await, 0);
}
