//! Lag is what is left to handle: to the last stable offset, not into an open transaction, and no marker.

use tidegate_tests::{payments, wait_eq};

use crate::reader::{ACCOUNTS, Reader};
use crate::rows::{Counts, PATIENCE, recs, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lag_ends_at_the_last_stable_offset_and_a_gauge_tells_what_is_held_back() {
    let reader = Reader::new("metrics-lag", 1).await;
    let (_ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.env.host(reader.config().watched()).start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    let open = reader
        .env
        .kafka
        .begin(&reader.topic, recs(&paid[10..]))
        .await;
    let lags = async || {
        let scrape = host.scrape().await;
        let lag = |name: &str| scrape.get(name, &[("partition", "0")]);
        let names = [
            "tidegate_position_lag_records",
            "tidegate_committed_lag_records",
            "tidegate_held_back_records",
        ];
        names.map(lag)
    };
    // The log is ten records longer, but none of them may be read.
    assert_eq!(open.at[9].offset, 19);
    let held = [Some(0.0), Some(0.0), Some(10.0)];
    wait_eq(PATIENCE, "ten held back", held, &lags).await;
    open.commit().await;
    settled(
        &reader.env.db,
        Counts {
            next: 20,
            committed: 20,
            ..Counts::done(20)
        },
    )
    .await;
    // The transaction's marker stands behind the last record, and keeps nobody behind.
    wait_eq(PATIENCE, "no lag behind a marker", [Some(0.0); 3], &lags).await;
    let aborted = payments(25, ACCOUNTS).split_off(20);
    let aborted = reader.env.kafka.begin(&reader.topic, recs(&aborted)).await;
    let held = [Some(0.0), Some(0.0), Some(5.0)];
    wait_eq(PATIENCE, "five held back", held, &lags).await;
    aborted.abort().await;
    wait_eq(
        PATIENCE,
        "no lag behind what was aborted",
        [Some(0.0); 3],
        &lags,
    )
    .await;
    let more = payments(27, ACCOUNTS).split_off(25);
    reader.pay(&more).await;
    wait_eq(PATIENCE, "no lag again", [Some(0.0); 3], &lags).await;
    assert_eq!(host.terminate().await, 0);
}
