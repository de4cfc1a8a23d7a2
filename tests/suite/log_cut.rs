//! A log that is cut below its position while the host runs: stopped in plain words, as when it is cut while none does.

use tidegate_tests::{Host, OwnBroker, Payment, payments, wait_for};

use crate::reader::{ACCOUNTS, Reader, wait_stopped};
use crate::rows::{Counts, PATIENCE, settled};

/// A reader on a broker of its own, twenty records handled, the broker down and its log lost.
async fn lost(name: &str) -> (Reader, OwnBroker, Host, Vec<Payment>) {
    let mut broker = OwnBroker::start(name).await;
    let reader = Reader::on(name, &broker).await;
    reader.ledger().await;
    let paid = payments(60, ACCOUNTS);
    reader.pay(&paid[..20]).await;
    let config = reader
        .config()
        .set("host", "http", "127.0.0.1:0")
        .librdkafka("session.timeout.ms", "60000")
        .librdkafka("reconnect.backoff.max.ms", "500");
    let host = reader.env.host(config).start().await;
    settled(&reader.env.db, Counts::done(20)).await;
    broker.kill();
    broker.lose_log(&reader.topic, 0);
    (reader, broker, host, paid)
}

/// Stopped, not ready, and nothing of the new log is handled.
async fn is_stopped(reader: &Reader, host: &Host, why: &str) {
    wait_stopped(host, why).await;
    let ready = host.wait_status("/readyz", 503).await;
    assert!(ready.body.contains("is stopped"), "{}", ready.body);
    let done = "SELECT sum(done)::bigint FROM tidegate.progress";
    assert_eq!(reader.env.db.query_one_i64(done).await, 20);
    assert_eq!(host.terminate().await, 3, "a partition was stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_comes_back_shorter_than_its_position_stops_with_both_positions() {
    let (reader, mut broker, host, paid) = lost("shorter").await;
    broker.start_again();
    reader.pay(&paid[20..25]).await;
    let why = "the next offset is 20, but the log ends at 5 (it holds 0 to 5)";
    is_stopped(&reader, &host, why).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_comes_back_with_other_records_beyond_its_position_stops_with_both_positions() {
    let (reader, mut broker, host, paid) = lost("regrown").await;
    // The host meets the new log only once it has grown beyond where the host stands.
    host.stop_signal();
    broker.start_again();
    reader.pay(&paid[20..]).await;
    wait_for(PATIENCE, "the new log", async || {
        (reader.env.kafka.watermarks(&reader.topic, 0).await == (0, 40)).then_some(())
    })
    .await;
    host.cont();
    let why = "the next offset is 20, and this log holds 0 to 40";
    is_stopped(&reader, &host, why).await;
}
