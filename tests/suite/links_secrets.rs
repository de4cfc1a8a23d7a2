//! No secret in logs, errors, or what commands print: every key that can hold one, well-formed and not.

use tidegate_tests::{HostConfig, Raw, Secure, TestEnv, secs, secure_env};

/// What every secret is here.
const MARK: &str = "M4rke-Geheim";

/// Everything that could say too much says all it has to say.
const LOUD: &str =
    "info,tidegate=trace,rdkafka=trace,librdkafka=trace,rustls=trace,tokio_postgres=trace";

/// What a configuration is asked for.
const COMMANDS: [&[&str]; 6] = [
    &["config", "show"],
    &["config", "show", "--format", "json"],
    &["check"],
    &["check", "--database", "--kafka"],
    &["offsets", "show"],
    &["dlt", "list"],
];

/// Runs every command and asserts that none says the secret; answers everything that was said.
async fn said(env: &TestEnv, config: HostConfig, variables: &[(&str, String)]) -> String {
    let consumer = env.consumer(&env.unique("t"), "credit-rust").await;
    let config = config.consumer(consumer);
    let mut said = String::new();
    for args in COMMANDS {
        let mut host = env
            .host(config.clone())
            .args(args)
            .env("TIDEGATE_LOG", LOUD);
        for (name, value) in variables {
            host = host.env(name, value);
        }
        let host = host.start().await;
        host.wait_exit(secs(60)).await;
        let all = format!("{}{}", host.stdout(), host.log());
        assert!(!all.is_empty(), "{args:?} says nothing");
        assert!(
            !all.contains(MARK),
            "{args:?} of\n{}\nsays {all}",
            config.to_toml()
        );
        said.push_str(&all);
    }
    said
}

/// The test's database by this password, and URLs that are none.
fn urls(env: &TestEnv) -> Vec<String> {
    let (name, port) = (env.db.name(), env.db.port());
    let good = [
        format!("postgresql://postgres:{MARK}@127.0.0.1:{port}/{name}"),
        format!("postgresql://postgres:a%40{MARK}@127.0.0.1:{port}/{name}?sslmode=require"),
        format!("postgresql://postgres@127.0.0.1:{port}/{name}?password={MARK}"),
        format!("host=127.0.0.1 port={port} dbname={name} user=postgres password='{MARK}'"),
    ];
    let bad = [
        format!("postgresql://app:{MARK}@127.0.0.1:port/shop"),
        format!("postgresql://app:a@{MARK}@127.0.0.1/shop"),
        format!("postgresql://app:a@b/{MARK}@127.0.0.1/shop"),
        format!("postgresql://app:{MARK}/shop"),
        format!("postgres:/app:{MARK}@127.0.0.1/shop"),
        format!("postgresql://app:{MARK}@127.0.0.1/shop?sslmode={MARK}"),
        format!("postgresql://app@127.0.0.1/shop?sslmode=require password={MARK}"),
        format!("postgresql://app@127.0.0.1/shop?passwort={MARK}"),
        format!("host=127.0.0.1 password='{MARK}"),
        format!("host=127.0.0.1 pass word={MARK}"),
        MARK.to_owned(),
    ];
    good.into_iter().chain(bad).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_databases_password_is_never_said() {
    let (env, _) = secure_env("pg-secrets").await;
    let mut all = String::new();
    for (n, url) in urls(&env).iter().enumerate() {
        // By the file, by the environment, by a file that the environment names.
        all += &match n % 3 {
            0 => said(&env, env.config().postgres(url), &[]).await,
            1 => {
                let variable = ("TIDEGATE__POSTGRES__URL", url.clone());
                said(&env, env.config(), &[variable]).await
            }
            _ => {
                std::fs::write(env.dir().join("url"), url).unwrap();
                let variable = ("TIDEGATE__POSTGRES__URL_FILE", "url".to_owned());
                said(&env, env.config(), &[variable]).await
            }
        };
    }
    // What was to be said was: errors, and a configuration.
    assert!(all.contains("is not a PostgreSQL URL"), "{all}");
    assert!(all.contains("sslmode is not known"), "{all}");
    assert!(
        all.contains("url = \"postgresql://postgres@127.0.0.1"),
        "{all}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_of_its_own_is_never_said() {
    let (env, _) = secure_env("password").await;
    std::fs::write(env.dir().join("secret"), MARK).unwrap();
    let key = |key: &str, value: &str| env.config().set("postgres", key, value);
    let mut all = said(&env, key("password", MARK), &[]).await;
    all += &said(&env, key("password_file", "secret"), &[]).await;
    all += &said(
        &env,
        key("password_file", "secret").set("postgres", "password", MARK),
        &[],
    )
    .await;
    all += &said(&env, key("passwort", MARK), &[]).await;
    let list = format!("[\"{MARK}\"]");
    all += &said(
        &env,
        env.config().set("postgres", "password", Raw(&list)),
        &[],
    )
    .await;
    let open = format!("\"{MARK}");
    all += &said(
        &env,
        env.config().set("postgres", "password", Raw(&open)),
        &[],
    )
    .await;
    let variable = ("TIDEGATE__POSTGRES__PASSWORD", MARK.to_owned());
    all += &said(&env, env.config(), &[variable]).await;
    for words in [
        "password = \"(secret)\"",
        "given beside password",
        "not TOML",
        "did you mean",
    ] {
        assert!(all.contains(words), "{words} is not in {all}");
    }
}

/// Options of librdkafka that hold secrets.
const OPTIONS: [&str; 6] = [
    "sasl.password",
    "ssl.key.password",
    "ssl.keystore.password",
    "ssl.key.pem",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafkas_secrets_are_never_said() {
    let (env, secure) = secure_env("kafka-secrets").await;
    std::fs::write(env.dir().join("secret"), MARK).unwrap();
    let mut all = String::new();
    for option in OPTIONS {
        all += &said(&env, with(&env, secure, option), &[]).await;
        let file = format!("{option}_file");
        let held = env
            .config()
            .bootstrap(&secure.kafka)
            .librdkafka(&file, "secret");
        all += &said(&env, held, &[]).await;
    }
    let both = with(&env, secure, "sasl.password").librdkafka("sasl.password_file", "secret");
    all += &said(&env, both, &[]).await;
    let misspelt = env.config().librdkafka("sasl.passwort", MARK);
    all += &said(&env, misspelt, &[]).await;
    for words in [
        "\"sasl.password\" = \"(secret)\"",
        "uthentication failed",
        "given beside",
    ] {
        assert!(all.contains(words), "{words} is not in {all}");
    }
}

/// The broker that asks for a password, or any, with the secret in this option; the library says all it knows.
fn with(env: &TestEnv, secure: &Secure, option: &str) -> HostConfig {
    let config = match option {
        "sasl.password" => env
            .config()
            .bootstrap(&secure.scram)
            .librdkafka("security.protocol", "SASL_SSL")
            .librdkafka("ssl.ca.location", &secure.ca.to_string_lossy())
            .librdkafka("sasl.mechanism", "SCRAM-SHA-256")
            .librdkafka("sasl.username", "app"),
        _ => env.config().bootstrap(&secure.kafka),
    };
    config.librdkafka(option, MARK).librdkafka("debug", "all")
}
