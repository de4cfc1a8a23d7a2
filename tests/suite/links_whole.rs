//! Whole runs over protected links: SASL and TLS to Kafka, TLS to PostgreSQL.

use tidegate_tests::{
    HostConfig, KAFKA_PASSWORD, Ledger, Secure, TestEnv, payments, secs, secure_env, wait_eq,
    wait_for,
};

use crate::rows::{Counts, PATIENCE, recs, settled, slow_recs};

/// A database user of the test's own, with a password, and the URL by which the host comes as it.
pub(crate) async fn user(env: &TestEnv, password: &str) -> (String, String) {
    let name = env.db.name().to_owned();
    let make = format!("CREATE ROLE \"{name}\" SUPERUSER LOGIN PASSWORD '{password}'");
    env.db.exec(&make).await;
    let url = env.db.url().replace("postgres@", &format!("{name}@"));
    (name, url)
}

/// A configuration that goes to Kafka by SASL, `mechanism`, over TLS.
pub(crate) fn sasl(env: &TestEnv, secure: &Secure, mechanism: &str) -> HostConfig {
    let place = match mechanism {
        "PLAIN" => &secure.plain,
        _ => &secure.scram,
    };
    std::fs::write(
        env.dir().join("kafka-password"),
        format!("{KAFKA_PASSWORD}\n"),
    )
    .unwrap();
    env.config()
        .bootstrap(place)
        .librdkafka("security.protocol", "SASL_SSL")
        .librdkafka("ssl.ca.location", &secure.ca.to_string_lossy())
        .librdkafka("sasl.mechanism", mechanism)
        .librdkafka("sasl.username", "app")
        .librdkafka("sasl.password_file", "kafka-password")
}

/// Thousands of records, four partitions, every book exact, and no connection of the host in plain text.
async fn books_are_exact(name: &str, mechanism: &str, query: &str) {
    let (env, secure) = secure_env(name).await;
    let (_, url) = user(&env, "Dbgeheim-7").await;
    std::fs::copy(&secure.ca, env.dir().join("ca.pem")).unwrap();
    std::fs::write(env.dir().join("pg-password"), "Dbgeheim-7\n").unwrap();
    let (topic, ledger) = (env.topic("t", 4).await, Ledger::create(&env.db, 100).await);
    let config = sasl(&env, secure, mechanism)
        .postgres(&format!("{url}?{query}"))
        .set("postgres", "password_file", "pg-password")
        .consumer(env.consumer(&topic, "credit-rust").await);
    let host = env.host(config.clone()).start().await;
    let paid = payments(4_000, 100);
    env.kafka.produce(&topic, recs(&paid)).await;
    settled(&env.db, Counts::done(4_000)).await;
    ledger.assert_exact(&paid).await;
    let sessions = "SELECT count(*) FILTER (WHERE ssl) > 0, count(*) FILTER (WHERE NOT ssl)
          FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE datname = current_database() AND application_name = 'tidegate'";
    let all = [[Some("t".to_owned()), Some("0".to_owned())]];
    assert_eq!(env.db.query_text(sessions).await, all);

    let checked = env.cli(&["check", "--database", "--kafka"], &config).await;
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    let readable = format!("topic {topic:?} has 4 partitions, readable by group");
    assert!(checked.stdout.contains(&readable), "{}", checked.stdout);
    let letters = "warning  dead letter topic";
    assert!(checked.stdout.contains(letters), "{}", checked.stdout);
    assert_eq!(host.terminate().await, 0, "{}", host.log());
    assert!(!host.log().contains("eheim-7"), "{}", host.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scram_and_verify_full_run_whole() {
    books_are_exact(
        "scram",
        "SCRAM-SHA-512",
        "sslmode=verify-full&sslrootcert=ca.pem",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_and_require_run_whole() {
    books_are_exact("plain", "PLAIN", "sslmode=require").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_is_cancelled_over_tls() {
    let (env, secure) = secure_env("cancel").await;
    let (topic, _ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 5).await);
    let url = format!(
        "{}?sslmode=verify-ca&sslrootcert={}",
        env.db.url(),
        secure.ca.display()
    );
    let consumer = env.consumer(&topic, "slow").await.limits("wall", "500ms");
    let config = env
        .config()
        .postgres(&url)
        .set("postgres", "statement_timeout", "10m")
        .consumer(consumer.retry("max_elapsed", "1s"));
    let host = env.host(config).start().await;
    env.kafka
        .produce(&topic, slow_recs(&payments(1, 5), 300_000))
        .await;
    // The server's own word: it was asked, and did not find the client gone.
    let database = env.db.name().to_owned();
    wait_for(
        secs(60),
        "a statement to be cancelled on request",
        async || {
            let log = secure.postgres.log();
            let asked = log.contains("canceling statement due to user request");
            (asked && log.contains("pg_sleep")).then_some(())
        },
    )
    .await;
    let sleeping = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND state = 'active'
            AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()"
    );
    let letters = "SELECT count(*) FROM tidegate.dead_letters";
    wait_eq(PATIENCE, "dead letters", 1, async || {
        env.db.query_one_i64(letters).await
    })
    .await;
    wait_eq(PATIENCE, "statements that still sleep", 0, async || {
        env.db.query_one_i64(&sleeping).await
    })
    .await;
    assert_eq!(host.terminate().await, 0);
}
