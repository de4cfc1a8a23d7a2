//! TLS and SASL to Kafka: what fails says which of all it is, names the option, and leaks nothing.

use tidegate_tests::{
    HostConfig, Ledger, Output, Secure, TestEnv, payments, secs, secure_env, wait_for,
};

use crate::links_whole::sasl;
use crate::rows::{Counts, recs, settled};

async fn check(env: &TestEnv, config: HostConfig) -> Output {
    let consumer = env.consumer(&env.unique("t"), "credit-rust").await;
    env.cli(&["check", "--kafka"], &config.consumer(consumer))
        .await
}

async fn assert_refused(env: &TestEnv, config: HostConfig, words: &[&str]) {
    let output = check(env, config).await;
    assert_eq!(output.code, 1, "{}{}", output.stdout, output.stderr);
    assert_told(&output, words);
}

fn assert_told(output: &Output, words: &[&str]) {
    let all = format!("{}{}", output.stdout, output.stderr);
    let problems = output
        .stdout
        .lines()
        .filter(|line| line.starts_with("problem"));
    let problems = problems.collect::<Vec<_>>().join("\n");
    for word in words {
        assert!(problems.contains(word), "{word:?} is not in: {problems}");
    }
    assert!(!all.contains("eheim"), "{all}");
}

fn tls(env: &TestEnv, secure: &Secure) -> HostConfig {
    env.config()
        .bootstrap(&secure.tls)
        .librdkafka("security.protocol", "SSL")
        .librdkafka("ssl.ca.location", &secure.ca.to_string_lossy())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_refusal_says_what_it_is() {
    let (env, secure) = secure_env("kafka").await;
    let other = secure.other_ca.to_string_lossy().into_owned();
    let wrong_ca = tls(&env, secure).librdkafka("ssl.ca.location", &other);
    let words = [
        "certificate verify failed",
        "check in [kafka.librdkafka] that ssl.ca.location",
    ];
    assert_refused(&env, wrong_ca, &words).await;

    std::fs::write(env.dir().join("wrong"), "falsches-Geheimnis").unwrap();
    for mechanism in ["SCRAM-SHA-256", "PLAIN"] {
        let wrong = sasl(&env, secure, mechanism).librdkafka("sasl.password_file", "wrong");
        let words = [
            "uthentication failed",
            "sasl.password (or sasl.password_file)",
        ];
        assert_refused(&env, wrong, &words).await;
    }
    let unknown = sasl(&env, secure, "PLAIN").bootstrap(&secure.scram);
    let words = [
        "Unsupported SASL mechanism",
        "SCRAM-SHA-512",
        "check sasl.mechanism",
    ];
    assert_refused(&env, unknown, &words).await;
    // What no broker needs to be asked about is a configuration that cannot work.
    let none = check(&env, sasl(&env, secure, "NO-SUCH")).await;
    assert_eq!(none.code, 2, "{}{}", none.stdout, none.stderr);
    assert_told(&none, &["cannot be made", "NO-SUCH", "[kafka.librdkafka]"]);

    let plain_to_tls = env.config().bootstrap(&secure.tls);
    assert_refused(
        &env,
        plain_to_tls,
        &[
            "did not answer",
            "last heard: ",
            "another security.protocol",
            "TLS, or either with a password",
        ],
    )
    .await;
    let tls_to_plain = tls(&env, secure).bootstrap(&secure.kafka);
    assert_refused(&env, tls_to_plain, &["PLAINTEXT", "security.protocol"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_topic_is_told_from_a_forbidden_one() {
    let (env, secure) = secure_env("missing").await;
    let output = check(&env, tls(&env, secure)).await;
    assert_eq!(output.code, 1, "{}", output.stdout);
    assert!(output.stdout.contains("UnknownTopic"), "{}", output.stdout);
    let topic = env.topic("there", 2).await;
    let guest = sasl(&env, secure, "SCRAM-SHA-256").librdkafka("sasl.username", "guest");
    let consumer = env.consumer(&topic, "credit-rust").await;
    let output = env
        .cli(&["check", "--kafka"], &guest.consumer(consumer))
        .await;
    assert_eq!(output.code, 1, "{}", output.stdout);
    let words = "grant READ and DESCRIBE on the topic";
    assert!(output.stdout.contains(words), "{}", output.stdout);
}

/// A password may be mended at the brokers: the host says once what is wrong, waits, and consumes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_not_let_in_says_so_once_and_goes_on_trying() {
    let (env, secure) = secure_env("not-let-in").await;
    std::fs::write(env.dir().join("wrong"), "falsches-Geheimnis").unwrap();
    let topic = env.topic("t", 1).await;
    let config = sasl(&env, secure, "SCRAM-SHA-256")
        .watched()
        .librdkafka("sasl.password_file", "wrong")
        .librdkafka("reconnect.backoff.max.ms", "200")
        .consumer(env.consumer(&topic, "credit-rust").await);
    let host = env.host(config).env("TIDEGATE_LOG", "debug").start().await;
    let said = "Kafka does not let this client in";
    host.wait_log(said, secs(60)).await;
    let unready = host.wait_status("/readyz", 503).await;
    let problem = "Kafka does not let it in: sasl_ssl://";
    assert!(unready.body.contains(problem), "{unready:?}");
    // librdkafka's own word for every attempt, in the debug log.
    wait_for(secs(60), "more attempts", async || {
        (host.log_count("SASL authentication error") >= 8).then_some(())
    })
    .await;
    assert!(host.log_count(said) <= 3, "{}", host.log());
    assert!(
        host.log().contains("check sasl.mechanism"),
        "{}",
        host.log()
    );
    assert!(!host.log().contains("Geheimnis"), "{}", host.log());
    assert_eq!(host.terminate().await, 0);
}

/// No right to read one consumer's topic ends the host, cleanly for the other consumer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forbidden_topic_ends_the_host_in_plain_words() {
    let (env, secure) = secure_env("forbidden").await;
    let topic = env.topic("t", 1).await;
    let guest = sasl(&env, secure, "SCRAM-SHA-512").librdkafka("sasl.username", "guest");
    let consumer = env.consumer(&topic, "credit-rust").await;
    let host = env.host(guest.consumer(consumer.clone())).start().await;
    assert_eq!(host.wait_exit(secs(60)).await, 1, "{}", host.log());
    let log = host.log();
    assert!(log.contains("grant READ"), "{log}");
    assert!(log.contains(&consumer.name), "{log}");

    // The same consumer, as somebody who may.
    let (ledger, paid) = (Ledger::create(&env.db, 5).await, payments(10, 5));
    env.kafka.produce(&topic, recs(&paid)).await;
    let host = env.host(tls(&env, secure).consumer(consumer)).start().await;
    settled(&env.db, Counts::done(10)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}
