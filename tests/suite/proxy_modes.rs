//! Connections that are late, slow, half open, cut short, cut or refused, on either side of a host under load.

mod raw;

use std::time::Duration;

use tidegate_tests::{
    Host, Ledger, Payment, Proxy, TestEnv, Way, millis, payments, secs, test_env,
};

use crate::rows::{Counts, counts, letters, recs, settled, wait_next};
use crate::soak::{endure, size};

/// A fault of connections, by name.
type Mode = (&'static str, fn(&Proxy));

const MODES: [Mode; 9] = [
    ("late", |proxy| proxy.delay(millis(40))),
    ("slow", |proxy| proxy.slow(50_000)),
    ("silent", Proxy::blackhole),
    ("silent to the server", |proxy| proxy.silence(Way::ToServer)),
    ("silent to the client", |proxy| proxy.silence(Way::ToClient)),
    ("requests cut short", |proxy| {
        proxy.truncate(Way::ToServer, 9, CUTS)
    }),
    ("answers cut short", |proxy| {
        proxy.truncate(Way::ToClient, 9, CUTS)
    }),
    ("cut", Proxy::cut),
    ("refused", Proxy::refuse),
];

/// Pieces cut short in each direction.
const CUTS: usize = 3;
/// Records before and after each fault begins.
const CHUNK: usize = 150;

/// How long each fault lasts: a second, or longer than any deadline of the host in a soak.
fn length() -> Duration {
    size(secs(1), secs(15))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_lives_through_every_fault_of_its_connections_to_the_database() {
    let env = test_env("modes-pg").await;
    let proxy = env.pg_proxy().await;
    lives_through(env, &proxy, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_lives_through_every_fault_of_its_connections_to_the_broker() {
    let env = test_env("modes-kafka").await;
    let proxy = env.kafka_proxy().await;
    lives_through(env, &proxy, false).await;
}

async fn lives_through(env: TestEnv, proxy: &Proxy, database: bool) {
    let topic = env.topic("t", 3).await;
    let ledger = Ledger::journaled(&env.db, 50).await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let config = env
        .config()
        .set("postgres", "connect_timeout", "1s")
        .set("postgres", "statement_timeout", "2s")
        .set("postgres", "lock_timeout", "1s")
        .set("postgres", "prune_interval", "1h")
        .consumer(consumer.set("dedup", "off").batch("max_records", 20));
    let config = match database {
        true => config.postgres(&env.db.url_via(proxy)),
        false => config.bootstrap(&proxy.addr()),
    };
    let host = env.host(config).start().await;
    let paid = payments(MODES.len() * 2 * CHUNK, 50);
    for (i, (name, fail)) in MODES.into_iter().enumerate() {
        let chunks = &paid[i * 2 * CHUNK..][..2 * CHUNK];
        let half = (i * 2 + 1) * CHUNK;
        env.kafka.produce(&topic, recs(&chunks[..CHUNK])).await;
        let some = i64::try_from(half - CHUNK / 2).unwrap();
        wait_next(&env.db, some).await;
        fail(proxy);
        env.kafka.produce(&topic, recs(&chunks[CHUNK..])).await;
        endure(length(), &[&host]).await;
        proxy.pass();
        eprintln!("{name}: {} done", counts(&env.db).await.next);
        done(&env, &ledger, &paid[..half + CHUNK], &host).await;
    }
    assert_eq!(proxy.cuts(), 2 * CUTS, "pieces cut short");
    assert_eq!(host.terminate().await, 0);
}

/// All of it, once and in order, and no letter.
async fn done(env: &TestEnv, ledger: &Ledger<'_>, sent: &[Payment], host: &Host) {
    settled(&env.db, Counts::done(sent.len())).await;
    assert_eq!(ledger.check(sent).await, Ok(()));
    assert_eq!(letters(&env.db).await, 0);
    assert!(host.is_running());
}
