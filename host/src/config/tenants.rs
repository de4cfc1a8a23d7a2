//! Reads `[consumer.tenants]`, `[consumer.tenant.NAME]`, and a tenant's definition out of PostgreSQL.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tidegate_core::share::SharePolicy;
use tidegate_core::tenant::{Otherwise, TenantName, TenantSource};

use super::names::bad_topic;
use super::problems::{ConfigErrors, Place, Problems};
use super::section::Section;
use super::tree::{Table, Value, parse};
use super::{ConsumerConfig, GuestConfig, TenantConfig, TenantsConfig, defaults, guest};

const OTHERWISE: [(&str, Otherwise); 3] = [
    ("dead-letter", Otherwise::DeadLetter),
    ("skip", Otherwise::Skip),
    ("stop", Otherwise::Stop),
];

/// A consumer's tenants, if it has any; their CPU limits go to `cpu`.
pub(super) fn read(
    consumer: &Section<'_>,
    base: &Path,
    own: &GuestConfig,
    cpu: &mut Vec<(String, Duration, Place)>,
) -> Option<TenantsConfig> {
    let listed = listed(consumer, base, own, cpu);
    if !consumer.has("tenants") {
        if consumer.has("tenant") {
            let text = "is defined and no record can name one: say in [consumer.tenants] where they do, for example from = \"header:tenant\"";
            consumer.error("tenant", text);
        }
        consumer.node("tenants");
        return None;
    }
    let tenants = consumer.child("tenants");
    tenants.missing("from", "write for example from = \"header:tenant\"");
    let from = tenants.text("from").and_then(|given| {
        let read = TenantSource::parse(&given);
        read.map_err(|text| tenants.error("from", text)).ok()
    });
    let read = TenantsConfig {
        from: from.unwrap_or(TenantSource::Header("tenant".to_owned())),
        unknown: tenants.choice_or("unknown", &OTHERWISE, Otherwise::DeadLetter),
        disabled: tenants.choice_or("disabled", &OTHERWISE, Otherwise::DeadLetter),
        share: share(&tenants),
        listed,
    };
    tenants.finish();
    Some(read)
}

fn share(tenants: &Section<'_>) -> Option<SharePolicy> {
    let default = SharePolicy::default();
    let window = tenants.duration(
        "share_window",
        default.window,
        Duration::from_secs(1)..=Duration::from_secs(3_600),
    );
    let given = tenants.node("share").map(|node| &node.value);
    if matches!(given, Some(Value::Text(text)) if text == "off") {
        tenants.show("share", "off");
        return None;
    }
    let share = tenants.share("share", default.share);
    Some(SharePolicy { share, window })
}

fn listed(
    consumer: &Section<'_>,
    base: &Path,
    own: &GuestConfig,
    cpu: &mut Vec<(String, Duration, Place)>,
) -> BTreeMap<TenantName, TenantConfig> {
    let tenants = consumer.child("tenant");
    let mut read = BTreeMap::new();
    for (key, node) in tenants.nodes() {
        let Some(name) = TenantName::new(key) else {
            let most = TenantName::MAX_BYTES;
            let text = format!(
                "{key:?} is no tenant's name: 1 to {most} letters, digits, '.', '_' or '-', a letter or digit first"
            );
            consumer.error("tenant", text);
            continue;
        };
        let Value::Table(table) = &node.value else {
            let text = format!("{key} must be a table, not {}", node.value.describe());
            consumer.error("tenant", text);
            continue;
        };
        let section = tenants.named(table, &node.at, &name);
        let (tenant, cpu_at) = tenant(&section, base, own);
        cpu.push((section.label().to_owned(), tenant.guest.limits.cpu, cpu_at));
        section.finish();
        read.insert(name, tenant);
    }
    if read.len() > defaults::TENANTS_BOUND {
        let text = format!(
            "defines {} tenants; at most {} may stand in the file, others are added with `tidegate tenant add`",
            read.len(),
            defaults::TENANTS_BOUND
        );
        consumer.error("tenant", text);
    }
    read
}

fn tenant(section: &Section<'_>, base: &Path, own: &GuestConfig) -> (TenantConfig, Place) {
    let (guest, cpu_at) = guest::of_tenant(section, base, own);
    let dead_letter_topic = section.text("dead_letter_topic");
    if let Some(text) = dead_letter_topic.as_deref().and_then(bad_topic) {
        section.error("dead_letter_topic", text);
    }
    let tenant = TenantConfig {
        guest,
        dead_letter_topic,
    };
    (tenant, cpu_at)
}

/// A topic whose name should name a tenant and cannot.
pub(super) fn check_topics(section: &Section<'_>, consumer: &ConsumerConfig) {
    let Some(tenants) = &consumer.tenants else {
        return;
    };
    for topic in consumer.topics.iter().filter(|t| !tenants.from.fits(t)) {
        section.error(
            "topics",
            format!("{topic:?} is not of the form that tenants.from asks for"),
        );
    }
    for (name, tenant) in &tenants.listed {
        if tenant.dead_letter_topic.is_some() && consumer.dead_letter_topic.is_none() {
            let text = format!(
                "{name}.dead_letter_topic is given, and dead_letter = \"off\" keeps all letters in PostgreSQL"
            );
            section.error("tenant", text);
        }
    }
}

/// Reads a tenant's definition as PostgreSQL keeps it: TOML with the keys of `[consumer.tenant.NAME]`.
///
/// # Errors
/// Everything that is wrong with it. Memory and CPU time beyond the consumer's own are: the host was started for those.
pub fn definition(
    text: &str,
    name: &TenantName,
    consumer: &ConsumerConfig,
) -> Result<TenantConfig, ConfigErrors> {
    let problems = Problems::default();
    let table = parse(text, &problems);
    let tenant = of_definition(&table, name, consumer, &problems);
    problems.finish(Path::new(&format!("tenant {name}")))?;
    Ok(tenant)
}

fn of_definition(
    table: &Table,
    name: &TenantName,
    consumer: &ConsumerConfig,
    problems: &Problems,
) -> TenantConfig {
    let names = (String::new(), format!("consumer.tenant.{name}."));
    let section = Section::new(Some(table), Place::File, names, problems);
    let own = &consumer.guest;
    let (tenant, _) = tenant(&section, &consumer.directory, own);
    let (limits, most) = (&tenant.guest.limits, &own.limits);
    if limits.memory > most.memory || limits.cpu > most.cpu {
        section.error(
            "limits",
            "allow more memory or CPU time than the consumer's own; a tenant of the configuration file may have more",
        );
    }
    if let Some(topic) = &tenant.dead_letter_topic
        && consumer.topics.contains(topic)
    {
        let text =
            format!("{topic:?} is read by this consumer; letters would be handled as events");
        section.error("dead_letter_topic", text);
    }
    section.finish();
    tenant
}
