//! Reads file and environment into a [`Config`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::overlay::Environment;
use super::problems::{ConfigErrors, Problems};
use super::section::Section;
use super::tree::{Table, Value, parse};
use super::{Config, KafkaConfig, PostgresConfig, consumer, defaults, names, rules, secrets};

/// Looks through `[kafka.librdkafka]`: names that are refused, each with the reason.
pub type CheckOptions = fn(&BTreeMap<String, String>) -> Vec<(String, String)>;

/// Reads the file at `path`, lays `TIDEGATE__SECTION__KEY` of `env` over it and checks the whole.
///
/// `env` is the process's environment, such as `std::env::vars_os()`; `check` is Kafka's view of its options,
/// such as [`kafka::check_options`](crate::kafka::check_options).
///
/// # Errors
/// Everything that is wrong, at once, each with its line. Secrets are never part of it.
pub fn load(
    path: &Path,
    env: impl IntoIterator<Item = (OsString, OsString)>,
    check: CheckOptions,
) -> Result<Config, ConfigErrors> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let text = format!("cannot be read: {error}; name another file with --config");
        ConfigErrors::unreadable(path, text)
    })?;
    checked(&text, path, Environment::new(env), check)
}

/// Reads the file's text: a configuration, or everything that is wrong with it.
pub(super) fn checked(
    text: &str,
    path: &Path,
    env: Environment,
    check: CheckOptions,
) -> Result<Config, ConfigErrors> {
    let problems = Problems::default();
    let config = read(text, path, env, check, &problems);
    let warnings = problems.finish(path)?;
    Ok(Config { warnings, ..config })
}

/// Reads the file's text. What is wrong goes to `problems`, with a default in its place.
pub(super) fn read(
    text: &str,
    path: &Path,
    env: Environment,
    check: CheckOptions,
    problems: &Problems,
) -> Config {
    let mut tree = parse(text, problems);
    let base = base_directory(path);
    let cache = default_cache(&env, &base);
    env.overlay(&mut tree, problems);
    let root = Section::root(&tree, problems);
    let (module_cache, shutdown_timeout, http) = host(root.child("host"), cache, &base);
    let postgres_section = root.child("postgres");
    let postgres = postgres(&postgres_section, &base);
    let kafka = kafka(root.child("kafka"), &base, check);
    let config = Config {
        consumers: consumers(
            &root,
            &base,
            (&postgres_section, &postgres, &kafka),
            problems,
        ),
        kafka,
        postgres,
        module_cache,
        shutdown_timeout,
        http,
        warnings: Vec::new(),
        shown: toml::Table::new(),
    };
    postgres_section.finish();
    root.finish();
    Config {
        shown: problems.shown(),
        ..config
    }
}

/// What relative paths of the file are relative to.
fn base_directory(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.parent().map(Path::to_owned).unwrap_or_default()
}

/// The user's cache directory; without one, a directory beside the file.
fn default_cache(env: &Environment, base: &Path) -> PathBuf {
    let directory = |name: &str| {
        let value = env.plain.get(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    directory("XDG_CACHE_HOME")
        .or_else(|| directory("HOME").map(|home| home.join(".cache")))
        .map_or_else(|| base.join(".tidegate/cache"), |dir| dir.join("tidegate"))
}

fn host(host: Section<'_>, cache: PathBuf, base: &Path) -> (PathBuf, Duration, Option<SocketAddr>) {
    let given = host.text("module_cache");
    if given.as_deref() == Some("") {
        host.error("module_cache", "is empty; name a directory");
    }
    let module_cache = given.map_or(cache, |given| base.join(given));
    host.show("module_cache", module_cache.display().to_string());
    let timeout = host.duration(
        "shutdown_timeout",
        defaults::SHUTDOWN_TIMEOUT,
        Duration::from_secs(1)..=defaults::WAIT_BOUND,
    );
    let http = http(&host);
    host.finish();
    (module_cache, timeout, http)
}

/// `http`: an address of this machine's and a port, or `off`.
fn http(host: &Section<'_>) -> Option<SocketAddr> {
    let Some(given) = host.text("http") else {
        host.show("http", defaults::HTTP.to_string());
        return Some(defaults::HTTP);
    };
    let address = given.parse().ok();
    if given != "off" && address.is_none() {
        let text = r#"is no IP address and port; write for example "127.0.0.1:9464", "0.0.0.0:9464" or "off""#;
        host.error("http", format!("{given:?} {text}"));
    }
    address
}

fn kafka(kafka: Section<'_>, base: &Path, check: CheckOptions) -> KafkaConfig {
    let bootstrap_servers = kafka.text("bootstrap_servers");
    kafka.missing(
        "bootstrap_servers",
        r#"write for example bootstrap_servers = "localhost:9092""#,
    );
    if let Some(given) = &bootstrap_servers
        && given.split(',').any(|server| !is_server(server.trim()))
    {
        let text = r#"is not a list of servers; write for example "kafka1:9092,kafka2:9092""#;
        kafka.error("bootstrap_servers", format!("{given:?} {text}"));
    }
    let options = kafka.child("librdkafka");
    let librdkafka = secrets::pass_through(&options, base);
    for (name, reason) in check(&librdkafka) {
        options.error(&name, reason);
    }
    kafka.finish();
    KafkaConfig {
        bootstrap_servers: bootstrap_servers.unwrap_or_default(),
        librdkafka,
    }
}

fn is_server(server: &str) -> bool {
    !server.is_empty() && !server.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn postgres(postgres: &Section<'_>, base: &Path) -> PostgresConfig {
    let second = Duration::from_secs(1);
    let wait = second..=defaults::WAIT_BOUND;
    let url = secrets::url(postgres, base);
    let config = PostgresConfig {
        password: secrets::password(postgres, &url, base),
        url,
        directory: base.to_owned(),
        max_connections: postgres.count("max_connections", defaults::MAX_CONNECTIONS, 1..=1_000),
        connect_timeout: postgres.duration(
            "connect_timeout",
            defaults::CONNECT_TIMEOUT,
            second..=Duration::from_secs(300),
        ),
        statement_timeout: postgres.duration(
            "statement_timeout",
            defaults::STATEMENT_TIMEOUT,
            wait.clone(),
        ),
        lock_timeout: postgres.duration("lock_timeout", defaults::LOCK_TIMEOUT, wait.clone()),
        idle_in_transaction_timeout: postgres.duration(
            "idle_in_transaction_timeout",
            defaults::IDLE_IN_TRANSACTION_TIMEOUT,
            wait.clone(),
        ),
        search_path: names::search_path(postgres),
        prune_interval: postgres.duration("prune_interval", defaults::PRUNE_INTERVAL, wait),
    };
    rules::locks(postgres, &config);
    config
}

fn consumers(
    root: &Section<'_>,
    base: &Path,
    (section, postgres, kafka): (&Section<'_>, &PostgresConfig, &KafkaConfig),
    problems: &Problems,
) -> Vec<super::ConsumerConfig> {
    const EXAMPLE: &str = "write one [[consumer]] for each subscription";
    let node = root.node("consumer");
    let Some(node) = node else {
        root.missing("consumer", EXAMPLE);
        return Vec::new();
    };
    let Value::List(items) = &node.value else {
        root.error("consumer", format!("must be a list of tables; {EXAMPLE}"));
        return Vec::new();
    };
    let mut read = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let empty = Table::new();
        let table = match &item.value {
            Value::Table(table) => table,
            other => {
                let text = format!("must be a table, not {}; {EXAMPLE}", other.describe());
                root.error("consumer", text);
                &empty
            }
        };
        read.push(consumer::read(n, (table, &item.at), base, problems));
    }
    rules::across(&read, problems);
    rules::silence(&read, section, postgres, problems);
    rules::drains(&read, kafka, problems);
    read.into_iter().map(|read| read.config).collect()
}
