//! The configuration, from text to values and problems.

mod tenants;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tidegate_core::event_id::IdSource;
use tidegate_core::letter::Profile;
use tidegate_core::resume::Start;
use tidegate_core::ttl::{OutOfRange, TtlSource};

use crate::kafka::check_options;

use super::load::read;
use super::overlay::Environment;
use super::problems::Problems;
use super::{Config, InstancePer, Scope};

const REFERENCE: &str = include_str!("reference.toml");

const MINIMAL: &str = r#"
[kafka]
bootstrap_servers = "localhost:9092"
[postgres]
url = "postgresql://app@localhost/shop"
[[consumer]]
name = "billing"
topics = ["payments"]
handler = "handlers/credit.wasm"
"#;

const PATH: &str = "/etc/tg/tidegate.toml";

fn with_env(text: &str, env: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let problems = Problems::default();
    let env = env
        .iter()
        .map(|(k, v)| (OsString::from(k), OsString::from(v)));
    let config = read(
        text,
        Path::new(PATH),
        Environment::new(env),
        check_options,
        &problems,
    );
    match problems.finish(Path::new(PATH)) {
        Ok(warnings) => Ok(Config { warnings, ..config }),
        Err(errors) => {
            let prefix = format!("{PATH}:");
            let lines = errors.to_string();
            let lines = lines
                .lines()
                .map(|l| l.strip_prefix(&prefix).unwrap_or(l).to_owned());
            Err(lines.collect())
        }
    }
}

fn load(text: &str) -> Result<Config, Vec<String>> {
    with_env(text, &[])
}

/// The minimal file and more lines, for its consumer or for tables of their own.
fn errors_of(more: &str) -> Vec<String> {
    load(&format!("{MINIMAL}{more}")).unwrap_err()
}

fn only_error_of(more: &str) -> String {
    let errors = errors_of(more);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    errors.into_iter().next().unwrap()
}

#[test]
fn five_mistakes_are_five_lines() {
    let text = r#"[kafka]
bootstrap_server = "localhost:9092"

[postgres]
url = "postgresql://app@localhost/shop"
max_connections = "many"

[[consumer]]
name = "billing"
topics = ["payments"]
handler = "handlers/credit.wasm"
start = "newest"
[consumer.dedup]
ttl = "7x"
[consumer.limits]
memory = "1B"
"#;
    let errors = load(text).unwrap_err();
    assert_eq!(
        errors,
        [
            "2: kafka.bootstrap_server: unknown key; did you mean bootstrap_servers?",
            "6: postgres.max_connections: \"many\" is not a whole number from 1 to 1000",
            "12: consumer \"billing\": start: \"newest\" is not known; write \"earliest\" or \"latest\"",
            "14: consumer \"billing\": dedup.ttl: \"7x\" is not a duration; write for example \"7d\", \"12h\" or \"PT30M\"",
            "16: consumer \"billing\": limits.memory: \"1B\" is out of range; from 1MiB to 4GiB are allowed",
        ]
    );
}

#[test]
fn a_minimal_file_has_every_default() {
    let config = load(MINIMAL).unwrap();
    assert_eq!(config.postgres.max_connections, 16);
    assert_eq!(config.shutdown_timeout, Duration::from_secs(25));
    assert_eq!(config.http, Some(([127, 0, 0, 1], 9464).into()));
    assert_eq!(config.module_cache, Path::new("/etc/tg/.tidegate/cache"));
    let consumer = &config.consumers[0];
    assert_eq!(consumer.group, "billing");
    assert_eq!(
        consumer.guest.handler,
        Path::new("/etc/tg/handlers/credit.wasm")
    );
    assert_eq!(consumer.start, Start::Earliest);
    assert_eq!(consumer.guest.instance, InstancePer::Batch);
    assert!(consumer.dedup.enabled);
    assert_eq!(
        consumer.dedup.id.sources,
        [IdSource::Header("event-id".into())]
    );
    assert_eq!(consumer.dedup.scope, Scope::Consumer);
    assert_eq!(consumer.dedup.ttl.default, Duration::from_secs(7 * 86_400));
    assert_eq!(consumer.dedup.ttl.out_of_range, OutOfRange::Clamp);
    assert_eq!(consumer.batch.max_records, 500);
    assert_eq!(consumer.batch.max_bytes, 4 << 20);
    assert_eq!(consumer.queue.max_records, 10_000);
    assert_eq!(consumer.retry.max_elapsed, Duration::from_secs(600));
    assert_eq!(consumer.dead_letter_topic.as_deref(), Some("payments.dlt"));
    assert_eq!(
        consumer.guest.limits,
        tidegate_core::limits::GuestLimits::default()
    );
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[test]
fn the_reference_holds_every_key_and_its_default() {
    let problems = Problems::default();
    let given = read(
        REFERENCE,
        Path::new(PATH),
        Environment::default(),
        check_options,
        &problems,
    );
    let missing: Vec<String> = problems
        .known()
        .into_iter()
        .filter(|key| !in_reference(key))
        .collect();
    assert!(missing.is_empty(), "not in reference.toml: {missing:?}");
    problems.finish(Path::new(PATH)).unwrap();

    let must = MINIMAL
        .replace("billing", "billing-balance-updater")
        .replace("\"payments\"", "\"payments.received\"");
    let defaults = load(&format!("{must}[consumer.settings]\ncurrency = \"EUR\"")).unwrap();
    assert_eq!(format!("{given:?}"), format!("{defaults:?}"));
    assert_eq!(
        given.postgres.statement_timeout,
        defaults.postgres.statement_timeout
    );
    assert_eq!(given.postgres.lock_timeout, defaults.postgres.lock_timeout);
    assert_eq!(
        given.postgres.connect_timeout,
        defaults.postgres.connect_timeout
    );
    assert_eq!(
        given.postgres.prune_interval,
        defaults.postgres.prune_interval
    );
}

/// `docs/limits.md`'s rows: key, default, least, most.
fn documented_limits() -> Vec<[&'static str; 4]> {
    let rows = include_str!("../../../docs/limits.md").lines();
    let cells = rows.filter(|row| row.starts_with("| `")).map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let (least, most) = cells[3].split_once(" to ").unwrap();
        [cells[1], cells[2], least, most].map(|cell| cell.trim_matches('`'))
    });
    cells.collect()
}

/// Each key's default, its range, and that there are no others.
#[test]
fn the_documentation_of_limits_is_what_holds() {
    let block = REFERENCE.split_once("[consumer.limits]").unwrap().1;
    let block = block.split("\n\n").next().unwrap();
    let written = block.lines().skip(1).map(|line| {
        let (key, rest) = line.split_once(" = ").unwrap();
        let value = rest.split('#').next().unwrap().trim();
        (key, value.trim_matches('"'))
    });
    let documented = documented_limits();
    let named = documented.iter().map(|[key, default, ..]| (*key, *default));
    assert_eq!(named.collect::<Vec<_>>(), written.collect::<Vec<_>>());
    for [key, _, least, most] in documented {
        let quoted = |value: &str| match value.parse::<u64>() {
            Ok(number) => number.to_string(),
            Err(_) => format!("{value:?}"),
        };
        let set = |value: &str| load(&format!("{MINIMAL}[consumer.limits]\n{key} = {value}"));
        for value in [least, most] {
            let set = set(&quoted(value));
            // Long times need a longer transaction, which is another rule.
            assert!(set.is_ok() || key == "cpu", "{key} = {value}");
        }
        let beyond = set("9223372036854775807").err().or(set("\"9999d\"").err());
        let text = beyond.unwrap().join("\n");
        assert!(text.contains(&format!("limits.{key}:")), "{text}");
        let time = matches!(key, "cpu" | "wall");
        let text = if time {
            set("\"9999d\"").unwrap_err().join("\n")
        } else {
            text
        };
        let words = |value: &str| match value.strip_suffix('B').map(str::parse::<u64>) {
            Some(Ok(bytes)) => format!("{bytes} bytes"),
            _ => value.to_owned(),
        };
        let range = format!("from {} to {}", words(least), words(most));
        let named = text.contains(&format!("{range} are")) || text.ends_with(&range);
        assert!(named, "{text}");
    }
}

/// Each limit's code stands in the row of its key.
#[test]
fn the_documentation_of_limits_names_every_code() {
    use tidegate_core::limits::{LOG_BYTES, LOG_LINES, Limit};
    let text = include_str!("../../../docs/limits.md");
    let row = |key: &str| {
        let start = format!("| `{key}` |");
        text.lines().find(|line| line.starts_with(&start)).unwrap()
    };
    for limit in Limit::ALL {
        let code = format!("`{}`", limit.code());
        assert!(row(limit.key()).contains(&code), "{code}");
    }
    assert!(row("log_lines").contains(LOG_LINES) && row("log_bytes").contains(LOG_BYTES));
    let known = Limit::ALL.map(Limit::code);
    let words = text.split('`').filter(|word| word.ends_with("-limit"));
    for word in words {
        assert!(
            known.contains(&word) || [LOG_LINES, LOG_BYTES].contains(&word),
            "{word}"
        );
    }
}

/// What `config show` prints is a configuration that means the same.
#[test]
fn what_is_shown_is_every_key_and_means_the_same() {
    let more =
        "dedup = \"off\"\n[consumer.settings]\nrate = 2\n[consumer.queue]\nmax_bytes = 9000001";
    for text in [REFERENCE, MINIMAL, &format!("{MINIMAL}{more}")] {
        let mut config = load(text).unwrap();
        let mut again = load(&toml::to_string_pretty(&config.shown).unwrap()).unwrap();
        assert_eq!(config.warnings.len(), again.warnings.len());
        // They name lines, which differ.
        (config.warnings, again.warnings) = (Vec::new(), Vec::new());
        assert_eq!(format!("{config:?}"), format!("{again:?}"));
    }
    let problems = Problems::default();
    let env = Environment::default();
    let shown = read(MINIMAL, Path::new(PATH), env, check_options, &problems).shown;
    let optional = [
        "url_file",
        "password",
        "password_file",
        "ttl_from",
        "max_attempts",
        "role",
        "librdkafka",
        "settings",
        "tenant",
        "tenants",
    ];
    for key in problems.known() {
        let mut path = key.split('.');
        let mut at = shown.get(path.next().unwrap()).cloned();
        if let Some(toml::Value::Array(consumers)) = &at {
            at = consumers.first().cloned();
        }
        let at = path.try_fold(at.unwrap_or(false.into()), |at, name| at.get(name).cloned());
        let expected = !optional
            .iter()
            .any(|name| key.ends_with(&format!(".{name}")));
        assert_eq!(at.is_some_and(|at| at != false.into()), expected, "{key}");
    }
}

#[test]
fn what_is_shown_holds_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("secret"), "geheim\n").unwrap();
    let file = dir.path().join("secret").display().to_string();
    let text = MINIMAL.replace("app@localhost", "app:geheim@localhost");
    let text = format!(
        "{text}[consumer.settings]\napi_token = \"geheim\"\n[kafka.librdkafka]\n\"sasl.password\" = \"geheim\"\n\
         \"ssl.key.pem\" = \"geheim\"\n\"client.rack_file\" = {file:?}\n"
    );
    let shown = toml::to_string_pretty(&load(&text).unwrap().shown).unwrap();
    assert!(!shown.contains("geheim"), "{shown}");
    assert_eq!(shown.matches("(secret)").count(), 4, "{shown}");
    let text = MINIMAL.replace(
        "[[consumer]]",
        &format!("password_file = {file:?}\n[[consumer]]"),
    );
    let config = load(&text).unwrap();
    assert_eq!(config.postgres.password.as_deref(), Some("geheim"));
    let shown = toml::to_string_pretty(&config.shown).unwrap();
    assert!(shown.contains("password = \"(secret)\""), "{shown}");
    assert!(!format!("{config:?}{shown}").contains("geheim"));
    let both = text.replace("app@localhost", "app:x@localhost");
    assert!(load(&both).unwrap_err()[0].contains("password_file: given beside the URL's"));
}

#[test]
fn files_for_tls_must_be_there() {
    let text = MINIMAL.replace("/shop", "/shop?sslmode=verify-full&sslrootcert=ca.pem");
    let errors = load(&text).unwrap_err();
    assert!(
        errors[0].starts_with("5: postgres.url: sslrootcert: /etc/tg/ca.pem cannot be read"),
        "{errors:#?}"
    );
    let text = MINIMAL.replace("localhost/shop", "db/shop");
    let warnings = load(&text).unwrap().warnings;
    assert!(warnings[0].contains("postgres.url: the connection is encrypted only where"));
}

/// Whether `consumer.dedup.ttl` stands in the reference, as a key under its table or as a table.
fn in_reference(key: &str) -> bool {
    let (table, last) = key.rsplit_once('.').unwrap_or(("", key));
    let mut here = String::new();
    REFERENCE.lines().any(|line| {
        let line = line.trim_start_matches("# ");
        if let Some(header) = line.strip_prefix('[') {
            let end = header.find(']').unwrap_or(header.len());
            here = header[..end].trim_start_matches('[').to_owned();
        }
        here == key
            || here.starts_with(&format!("{key}."))
            || (here == table && line.starts_with(&format!("{last} =")))
    })
}

#[test]
fn the_environment_wins_outside_the_consumers() {
    let config = with_env(
        MINIMAL,
        &[
            ("TIDEGATE__POSTGRES__MAX_CONNECTIONS", "7"),
            ("TIDEGATE__KAFKA__BOOTSTRAP_SERVERS", "a:1,b:2"),
            ("TIDEGATE__KAFKA__LIBRDKAFKA__SECURITY_PROTOCOL", "SSL"),
            ("TIDEGATE__HOST__SHUTDOWN_TIMEOUT", "3s"),
            ("TIDEGATE_LOG", "debug"),
            ("XDG_CACHE_HOME", "/var/cache/me"),
        ],
    )
    .unwrap();
    assert_eq!(config.postgres.max_connections, 7);
    assert_eq!(config.kafka.bootstrap_servers, "a:1,b:2");
    assert_eq!(config.kafka.librdkafka["security.protocol"], "SSL");
    assert_eq!(config.shutdown_timeout, Duration::from_secs(3));
    assert_eq!(config.module_cache, Path::new("/var/cache/me/tidegate"));
}

#[test]
fn a_bad_variable_is_named_without_its_value() {
    let errors = with_env(
        MINIMAL,
        &[
            ("TIDEGATE__POSTGRES__URRL", "secret"),
            ("TIDEGATE__CONSUMER__NAME", "secret"),
            ("TIDEGATE__NOWHERE", "secret"),
            ("TIDEGATE__POSTGRES__URL", "postgresql://app:secret@:nope/"),
        ],
    )
    .unwrap_err();
    assert_eq!(errors.len(), 4, "{errors:#?}");
    assert!(
        errors
            .iter()
            .all(|e| e.starts_with("environment variable TIDEGATE__")),
        "{errors:#?}"
    );
    assert!(!errors.join("\n").contains("secret"), "{errors:#?}");
}

#[test]
fn a_secret_comes_from_a_file_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("url");
    std::fs::write(&file, "postgresql://app:geheim@db/shop\n").unwrap();
    let text = MINIMAL.replace(
        "url = \"postgresql://app@localhost/shop\"",
        &format!("url_file = {:?}", file.display().to_string()),
    );
    let config = load(&text).unwrap();
    assert_eq!(config.postgres.url, "postgresql://app:geheim@db/shop");
    assert!(!format!("{config:?}").contains("geheim"));
    let over = with_env(&text, &[("TIDEGATE__POSTGRES__URL", "postgresql://x@y/z")]).unwrap();
    assert_eq!(over.postgres.url, "postgresql://x@y/z");

    std::fs::remove_file(&file).unwrap();
    let errors = load(&text).unwrap_err();
    assert!(errors[0].contains("postgres.url_file") && errors[0].contains("cannot be read"));
    let both = MINIMAL.replace("[[consumer]]", "url_file = \"x\"\n[[consumer]]");
    assert!(load(&both).unwrap_err()[0].contains("given beside url"));
}

#[test]
fn secrets_stay_out_of_errors_and_debug() {
    let text = MINIMAL.replace("app@localhost", "app:geheim@localhost:port");
    assert!(!load(&text).unwrap_err().join("\n").contains("geheim"));
    let text = format!("{MINIMAL}[kafka.librdkafka]\nsasl.password = \"geheim\"");
    let config = load(&text).unwrap();
    assert_eq!(config.kafka.librdkafka["sasl.password"], "geheim");
    assert!(!format!("{config:?}").contains("geheim"));
}

#[test]
fn consumers_are_checked_against_one_another() {
    let second =
        "[[consumer]]\nname = \"billing\"\ntopics = [\"payments.dlt\"]\nhandler = \"b.wasm\"\n";
    let errors = errors_of(second);
    assert_eq!(errors.len(), 2, "{errors:#?}");
    assert!(
        errors[0].starts_with("8: ") && errors[0].contains("\"payments.dlt\" is read by consumer")
    );
    assert!(errors[1].starts_with("11: ") && errors[1].contains("names are unique"));

    let second = "[[consumer]]\nname = \"b\"\ngroup = \"billing\"\ntopics = \"payments\"\nhandler = \"b.wasm\"\n";
    let error = only_error_of(second);
    assert!(
        error.starts_with("12: ") && error.contains("split its partitions"),
        "{error}"
    );
}

#[test]
fn bounds_hold_between_keys() {
    assert!(
        only_error_of("[consumer.dedup]\nttl = \"2d\"\nmax_ttl = \"1d\"")
            .contains("ttl is longer than max_ttl")
    );
    assert!(
        only_error_of("[consumer.dedup]\nmin_ttl = \"8d\"").contains("ttl is shorter than min_ttl")
    );
    assert!(
        only_error_of("[consumer.queue]\nmax_records = 10")
            .contains("less than batch.max_records, 500")
    );
    assert!(
        only_error_of("[consumer.retry]\ninitial = \"1m\"").contains("initial is longer than max")
    );
    assert!(only_error_of("[consumer.batch]\nmax_records = 0").contains("from 1 to 10000"));
}

/// The server ends a session that is silent for too long, and a statement that waits for too long.
#[test]
fn timeouts_leave_room_for_one_another() {
    let cpu = |limit: &str| format!("[consumer.limits]\ncpu = {limit:?}");
    let error = only_error_of(&cpu("40s"));
    assert!(error.starts_with("11: "), "{error}");
    for word in [
        "limits.cpu: 40s",
        "idle_in_transaction_timeout (60s)",
        "to 61s or more",
    ] {
        assert!(error.contains(word), "{error}");
    }
    assert!(load(&format!("{MINIMAL}{}", cpu("39s"))).is_ok());
    let postgres =
        |keys: &str| load(&MINIMAL.replace("[[consumer]]", &format!("{keys}\n[[consumer]]")));
    let idle = postgres("idle_in_transaction_timeout = \"8s\"").unwrap_err();
    assert!(
        idle[0].starts_with("6: ") && idle[0].contains("to 9s or more"),
        "{idle:#?}"
    );
    assert!(postgres("idle_in_transaction_timeout = \"9s\"").is_ok());

    let lock = postgres("lock_timeout = \"30s\"").unwrap_err();
    assert!(
        lock[0].starts_with("6: ") && lock[0].contains("statement_timeout (30s)"),
        "{lock:#?}"
    );
    let statement = postgres("statement_timeout = \"10s\"").unwrap_err();
    assert!(
        statement[0].contains("statement_timeout: lock_timeout (10s)"),
        "{statement:#?}"
    );
    assert!(postgres("statement_timeout = \"11s\"").is_ok());
}

#[test]
fn dead_letters_have_a_profile_a_retention_and_a_bound_of_rounds() {
    let letters = |keys: &str| load(&format!("{MINIMAL}[consumer.dead_letter]\n{keys}"));
    let of = |keys: &str| letters(keys).unwrap().consumers.remove(0).letters;
    let day = Duration::from_secs(86_400);
    let default = of("");
    assert_eq!((default.keep_closed, default.max_replays), (30 * day, 5));
    assert!(default.full_messages && !of("messages = \"codes\"").full_messages);
    let given = of("headers = \"spring\"\nkeep_closed = \"1d\"\nmax_replays = 2");
    assert_eq!(given.headers, Profile::Spring);
    assert_eq!((given.keep_closed, given.max_replays), (day, 2));
    assert!(letters("max_replays = 0").is_err());
}

#[test]
fn words_and_names_are_checked() {
    assert!(only_error_of("dedup = \"of\"").contains("write \"off\" or a table"));
    assert!(
        only_error_of("[consumer.dead_letter]\ntopic = \"a b\"").contains("not a topic's name")
    );
    assert!(
        only_error_of("[consumer.dead_letter]\nheaders = \"sprung\"")
            .contains("write \"tidegate\" or \"spring\" or \"connect\"")
    );
    assert!(only_error_of("[consumers]\nx = 1").contains("did you mean consumer?"));
    let text = MINIMAL.replace("handlers/credit.wasm", "registry:credit");
    assert!(load(&text).unwrap_err()[0].contains("not served yet"));
    let text = MINIMAL.replace("[\"payments\"]", "[\"^pay.*\", \"a\", \"a\"]");
    let errors = load(&text).unwrap_err();
    assert!(
        errors[0].contains("is a pattern") && errors[1].contains("is named twice"),
        "{errors:#?}"
    );
}

#[test]
fn off_and_lists_are_read() {
    let config = load(&format!("{MINIMAL}dedup = \"off\"\ndead_letter = \"off\"")).unwrap();
    assert!(!config.consumers[0].dedup.enabled);
    assert_eq!(config.consumers[0].dead_letter_topic, None);
    let warned = &config.warnings[0];
    assert!(warned.starts_with("/etc/tg/tidegate.toml:10: ") && warned.contains("runs again"));
    let more = "[consumer.dedup]\nid = [\"key\", \"json:/version\"]\nttl_from = \"json:/ttl\"";
    let dedup = load(&format!("{MINIMAL}{more}"))
        .unwrap()
        .consumers
        .remove(0)
        .dedup;
    assert_eq!(
        dedup.id.sources,
        [IdSource::Key, IdSource::Json("/version".into())]
    );
    assert_eq!(dedup.ttl.from, Some(TtlSource::Json("/ttl".into())));
}

#[test]
fn doubtful_ids_are_warned_of() {
    for (id, word) in [("key", "compacted"), ("position", "knows no event")] {
        let config = load(&format!("{MINIMAL}[consumer.dedup]\nid = \"{id}\"")).unwrap();
        assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
        let warning = &config.warnings[0];
        assert!(warning.starts_with("/etc/tg/tidegate.toml:11: ") && warning.contains(word));
    }
}

#[test]
fn a_drain_that_outlasts_the_rebalance_is_warned_of() {
    let of = |ms: &str, drain: &str| {
        let kafka = format!("[kafka]\nlibrdkafka.\"max.poll.interval.ms\" = \"{ms}\"\n");
        let text = MINIMAL.replace("[kafka]\n", &kafka);
        load(&format!("{text}drain_timeout = \"{drain}\""))
            .unwrap()
            .warnings
    };
    assert_eq!(of("300000", "10s"), Vec::<String>::new());
    assert_eq!(of("10001", "10s"), Vec::<String>::new());
    let warned = of("10000", "10s");
    assert!(
        warned[0].contains("drain_timeout: 10s is not shorter"),
        "{warned:?}"
    );
    assert_eq!(load(MINIMAL).unwrap().warnings, Vec::<String>::new());
}

#[test]
fn broken_syntax_and_broken_values_are_reported_together() {
    let errors = errors_of("start = earliest\ninstance = \"forever\"\n= 5\n");
    assert!(
        errors.iter().any(|e| e.starts_with("10: not TOML")),
        "{errors:#?}"
    );
    assert!(
        errors
            .iter()
            .any(|e| e.starts_with("11: ") && e.contains("instance")),
        "{errors:#?}"
    );
    assert!(
        errors.iter().any(|e| e.starts_with("12: not TOML")),
        "{errors:#?}"
    );
}

#[test]
fn nonsense_never_panics() {
    for text in [
        "",
        "=",
        "[",
        "[[consumer]]",
        "consumer = 5",
        "consumer = [1]",
        "\u{feff}",
        "kafka = 1\npostgres = []",
        "\0",
    ] {
        assert!(load(text).is_err(), "{text:?}");
    }
}

#[test]
fn metrics_are_served_at_an_address_or_not_at_all() {
    let http = |value: &str| {
        load(&format!("[host]\nhttp = {value:?}\n{MINIMAL}")).map(|config| config.http)
    };
    assert_eq!(http("off").unwrap(), None);
    assert_eq!(http("0.0.0.0:80").unwrap(), Some(([0, 0, 0, 0], 80).into()));
    assert_eq!(http("[::1]:0").unwrap().unwrap().port(), 0);
    for bad in [
        "",
        "on",
        "localhost:9464",
        "9464",
        "127.0.0.1",
        "127.0.0.1:99999",
    ] {
        let errors = http(bad).unwrap_err();
        assert!(
            errors.len() == 1 && errors[0].starts_with("2: host.http: "),
            "{errors:?}"
        );
    }
}
