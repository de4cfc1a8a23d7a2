//! Reads `[consumer.dedup]`.

use std::time::Duration;

use tidegate_core::event_id::{IdFormat, IdRule, IdSource};
use tidegate_core::ttl::{OutOfRange, TtlRule, TtlSource};

use super::consumer::is_off;
use super::section::Section;
use super::shown::texts;
use super::{DedupConfig, Scope, defaults};

/// `[consumer.dedup]`, or `dedup = "off"`.
pub(super) fn read(consumer: &Section<'_>) -> DedupConfig {
    if is_off(consumer, "dedup") {
        consumer.warn(
            "dedup",
            "the position alone guards: an event that is published again at another offset runs again, and so does whatever a rewind brings back; for handlers whose writes are idempotent",
        );
        return DedupConfig {
            enabled: false,
            id: position(),
            scope: Scope::Consumer,
            ttl: default_ttl(),
            grace: defaults::GRACE,
        };
    }
    let dedup = consumer.child("dedup");
    let id = id(&dedup);
    warn_about(&dedup, &id);
    let read = DedupConfig {
        enabled: true,
        id,
        scope: dedup.choice_or("scope", &SCOPES, Scope::Consumer),
        ttl: ttl(&dedup),
        grace: dedup.duration(
            "grace",
            defaults::GRACE,
            Duration::ZERO..=defaults::TTL_BOUND,
        ),
    };
    dedup.finish();
    read
}

impl DedupConfig {
    /// What makes an event id what it is, in a line: ids by two that differ do not match.
    pub fn id_rule(&self, tenants: bool) -> String {
        if !self.enabled {
            return "dedup off".to_owned();
        }
        let scope = match self.scope {
            Scope::Consumer => "",
            Scope::Topic => ", unique in its topic",
        };
        let tenant = if tenants {
            ", unique in its tenant"
        } else {
            ""
        };
        format!("{}{scope}{tenant}", self.id)
    }
}

const SCOPES: [(&str, Scope); 2] = [("consumer", Scope::Consumer), ("topic", Scope::Topic)];

const FORMATS: [(&str, IdFormat); 2] = [("bytes", IdFormat::Bytes), ("uuid", IdFormat::Uuid)];

const OUT_OF_RANGE: [(&str, OutOfRange); 2] =
    [("clamp", OutOfRange::Clamp), ("reject", OutOfRange::Reject)];

/// With dedup off, the position is the event's id.
fn position() -> IdRule {
    IdRule {
        sources: vec![IdSource::Position],
        format: IdFormat::Bytes,
    }
}

fn id(dedup: &Section<'_>) -> IdRule {
    let format = dedup.choice_or("id_format", &FORMATS, IdFormat::Bytes);
    let parts = dedup
        .texts("id")
        .unwrap_or_else(|| vec![defaults::ID.to_owned()]);
    dedup.show("id", texts(&parts));
    match IdRule::parse(&parts, format) {
        Ok(rule) => rule,
        Err(text) => {
            dedup.error("id", text);
            position()
        }
    }
}

/// Ids that are seldom what was meant.
fn warn_about(dedup: &Section<'_>, id: &IdRule) {
    match id.sources[..] {
        [IdSource::Position] if dedup.has("id") => dedup.warn(
            "id",
            "a position knows no event: one published again at another offset is handled again; name where the event's own id is found, if it has one",
        ),
        [IdSource::Key] => dedup.warn(
            "id",
            r#"with the key alone as id, later updates of a key are dropped as duplicates until the TTL ends, and a compacted topic keeps only the latest of them; join what tells them apart, for example ["key", "json:/version"]"#,
        ),
        _ => {}
    }
}

fn default_ttl() -> TtlRule {
    TtlRule {
        default: defaults::TTL,
        from: None,
        min: defaults::MIN_TTL,
        max: defaults::MAX_TTL,
        out_of_range: OutOfRange::Clamp,
    }
}

fn ttl(dedup: &Section<'_>) -> TtlRule {
    let all = Duration::from_millis(1)..=defaults::TTL_BOUND;
    let from = dedup.text("ttl_from").and_then(|given| {
        let source = source(&given);
        if source.is_none() {
            let text = r#"is not known; write "header:NAME" or "json:/pointer""#;
            dedup.error("ttl_from", format!("{given:?} {text}"));
        }
        source
    });
    let out_of_range = dedup.choice_or("ttl_out_of_range", &OUT_OF_RANGE, OutOfRange::Clamp);
    let rule = TtlRule {
        default: dedup.duration("ttl", defaults::TTL, all.clone()),
        from,
        min: dedup.duration("min_ttl", defaults::MIN_TTL, all.clone()),
        max: dedup.duration("max_ttl", defaults::MAX_TTL, all),
        out_of_range,
    };
    check_bounds(dedup, &rule);
    rule
}

fn check_bounds(dedup: &Section<'_>, rule: &TtlRule) {
    let given = |keys: [&'static str; 2]| if dedup.has(keys[0]) { keys[0] } else { keys[1] };
    if rule.min > rule.max {
        dedup.error(
            given(["min_ttl", "max_ttl"]),
            "min_ttl is longer than max_ttl",
        );
    } else if rule.default < rule.min {
        dedup.error(given(["ttl", "min_ttl"]), "ttl is shorter than min_ttl");
    } else if rule.default > rule.max {
        dedup.error(given(["ttl", "max_ttl"]), "ttl is longer than max_ttl");
    }
}

/// A place that is written as an id's is.
fn source(given: &str) -> Option<TtlSource> {
    let rule = IdRule::parse(&[given.to_owned()], IdFormat::Bytes).ok()?;
    match rule.sources.into_iter().next()? {
        IdSource::Header(name) => Some(TtlSource::Header(name)),
        IdSource::Json(pointer) => Some(TtlSource::Json(pointer)),
        IdSource::Key | IdSource::CloudEvents | IdSource::Position => None,
    }
}
