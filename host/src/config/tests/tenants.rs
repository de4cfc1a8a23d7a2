//! Tenants in the file, and definitions out of PostgreSQL.

use std::time::Duration;

use tidegate_core::tenant::{Otherwise, TenantName, TenantSource};

use super::{MINIMAL, errors_of, load, only_error_of};
use crate::config::tenants::definition;
use crate::config::{Config, ConsumerConfig, TenantConfig};

const TENANTS: &str = r#"
role = "all"
[consumer.limits]
cpu = "2s"
[consumer.settings]
currency = "EUR"
region = "eu"
[consumer.tenants]
from = "header:tenant"
disabled = "skip"
[consumer.tenant.acme]
[consumer.tenant."a.b"]
handler = "handlers/ab.wasm"
role = "ab"
dead_letter_topic = "ab.dlt"
limits = { cpu = "100ms", statements = 7 }
settings = { currency = "USD" }
"#;

fn config() -> Config {
    load(&format!("{MINIMAL}{TENANTS}")).unwrap()
}

fn consumer() -> ConsumerConfig {
    config().consumers.remove(0)
}

fn name(name: &str) -> TenantName {
    TenantName::new(name).unwrap()
}

#[test]
fn what_a_tenant_leaves_out_is_the_consumers() {
    let consumer = consumer();
    let tenants = consumer.tenants.unwrap();
    assert_eq!(tenants.from, TenantSource::Header("tenant".into()));
    assert_eq!(tenants.unknown, Otherwise::DeadLetter);
    assert_eq!(tenants.disabled, Otherwise::Skip);
    let acme = &tenants.listed[&name("acme")];
    assert_eq!(acme.guest, consumer.guest);
    let TenantConfig {
        guest,
        dead_letter_topic,
    } = &tenants.listed[&name("a.b")];
    assert_eq!(
        guest.handler,
        std::path::Path::new("/etc/tg/handlers/ab.wasm")
    );
    assert_eq!(guest.role.as_deref(), Some("ab"));
    assert_eq!(guest.limits.cpu, Duration::from_millis(100));
    assert_eq!(guest.limits.statements, 7);
    assert_eq!(guest.limits.memory, consumer.guest.limits.memory);
    assert_eq!(guest.settings["currency"], "USD");
    assert_eq!(guest.settings["region"], "eu");
    assert_eq!(dead_letter_topic.as_deref(), Some("ab.dlt"));
    // Where tenants share a partition nobody holds the others up for minutes.
    assert_eq!(consumer.retry.max_elapsed, Duration::from_secs(10));
}

#[test]
fn what_is_shown_of_tenants_means_the_same() {
    let mut config = config();
    let mut again = load(&toml::to_string_pretty(&config.shown).unwrap()).unwrap();
    (config.warnings, again.warnings) = (Vec::new(), Vec::new());
    assert_eq!(format!("{config:?}"), format!("{again:?}"));
}

#[test]
fn bad_tenants_are_refused_with_their_place() {
    let table = "[consumer.tenants]\nfrom = \"header:tenant\"\n";
    let of = |more: &str| only_error_of(&format!("{table}{more}"));
    let long = of("[consumer.tenant.\"a/b\"]");
    assert!(long.contains("\"a/b\" is no tenant's name"), "{long}");
    let typo = of("[consumer.tenant.a]\nrolle = \"x\"");
    assert_eq!(
        typo,
        "13: consumer \"billing\": tenant.a.rolle: unknown key; did you mean role?"
    );
    let own = of("[consumer.tenant.a]\ndead_letter_topic = \"payments\"");
    assert!(own.contains("handled as events"), "{own}");
    let from = only_error_of("[consumer.tenants]\nfrom = \"tenant\"");
    assert!(from.contains("header:NAME"), "{from}");
    let nowhere = only_error_of("[consumer.tenant.a]");
    assert!(nowhere.contains("[consumer.tenants]"), "{nowhere}");
    let missing = errors_of("[consumer.tenants]\nunknown = \"ignore\"");
    assert_eq!(missing.len(), 2, "{missing:#?}");
    let topic = only_error_of("[consumer.tenants]\nfrom = \"topic:{tenant}.orders\"");
    assert!(topic.contains("\"payments\" is not of the form"), "{topic}");
    let slow = of("[consumer.tenant.a]\nlimits = { cpu = \"50s\" }");
    assert!(slow.contains("tenant.a.limits.cpu"), "{slow}");
}

#[test]
fn a_stored_definition_is_read_as_the_files_and_within_the_consumers_own() {
    let consumer = consumer();
    let read = |text: &str| definition(text, &name("x"), &consumer).map_err(|e| e.to_string());
    assert_eq!(read("").unwrap().guest, consumer.guest);
    assert_eq!(
        read("role = \"x\"").unwrap().guest.role.as_deref(),
        Some("x")
    );
    let more = read("[limits]\ncpu = \"3s\"").unwrap_err();
    assert!(
        more.starts_with("tenant x:") && more.contains("the consumer's own"),
        "{more}"
    );
    assert!(read("limits = 7").is_err());
    assert!(read("role = ").is_err());
    assert!(read("frmo = 1").is_err());
    let topic = read("dead_letter_topic = \"payments\"").unwrap_err();
    assert!(topic.contains("handled as events"), "{topic}");
}
