//! Names: consumer, topics, group, dead letter topic, handler.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_core::letter::Profile;

use super::consumer::is_off;
use super::problems::Place;
use super::section::Section;
use super::{LetterConfig, defaults};

/// `name`; empty after an error.
pub(super) fn consumer(section: &Section<'_>) -> String {
    section.missing("name", "it scopes the inbox, so choose it once for ever");
    named(section, "name", defaults::CONSUMER_NAME_BYTES).unwrap_or_default()
}

/// `group`; the consumer's name by default.
pub(super) fn group(section: &Section<'_>, name: &str) -> String {
    let given = named(section, "group", defaults::GROUP_NAME_BYTES);
    let group = given.unwrap_or_else(|| name.to_owned());
    section.show("group", group.as_str());
    group
}

pub(super) fn named(section: &Section<'_>, key: &'static str, max_bytes: usize) -> Option<String> {
    let name = section.text(key)?;
    if name.is_empty() {
        section.error(key, "is empty");
    } else if name.len() > max_bytes {
        section.error(
            key,
            format!("has {} bytes; at most {max_bytes} are allowed", name.len()),
        );
    } else if name.trim() != name || name.contains(char::is_control) {
        let text = "begins or ends with a space, or holds control characters";
        section.error(key, format!("{name:?} {text}"));
    } else {
        return Some(name);
    }
    None
}

/// `topics`.
pub(super) fn topics(section: &Section<'_>) -> Vec<String> {
    let topics = section.texts("topics").unwrap_or_default();
    section.missing("topics", r#"write for example topics = ["orders"]"#);
    if topics.is_empty() && section.has("topics") {
        section.error("topics", "names no topic");
    }
    for (n, topic) in topics.iter().enumerate() {
        if let Some(text) = bad_topic(topic) {
            section.error("topics", text);
        }
        if topics.iter().take(n).any(|earlier| earlier == topic) {
            section.error("topics", format!("{topic:?} is named twice"));
        }
    }
    topics
}

/// What Kafka has against a topic's name.
pub(crate) fn bad_topic(name: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.starts_with('^') {
        Some(format!("{name:?} is a pattern; list the topics by name"))
    } else if name.is_empty() || matches!(name, "." | "..") || !name.chars().all(allowed) {
        let rule = "letters, digits, '.', '_' and '-' are allowed";
        Some(format!("{name:?} is not a topic's name; {rule}"))
    } else if name.len() > defaults::TOPIC_NAME_BYTES {
        let most = defaults::TOPIC_NAME_BYTES;
        Some(format!(
            "a topic's name has {} characters; Kafka takes at most {most}",
            name.len()
        ))
    } else {
        None
    }
}

/// `dead_letter`: topic (none for `dead_letter = "off"`), the place to point at, and what becomes of letters.
pub(super) fn dead_letter(
    section: &Section<'_>,
    topics: &[String],
) -> (Option<String>, Place, LetterConfig) {
    if is_off(section, "dead_letter") {
        let at = section.place("dead_letter");
        return (None, at, LetterConfig::default());
    }
    let letters = section.child("dead_letter");
    let config = letter_config(&letters);
    let given = letters.text("topic");
    let usual = |first: &String| format!("{first}{}", defaults::DEAD_LETTER_SUFFIX);
    let first = topics.first().filter(|first| bad_topic(first).is_none());
    let topic = given.or_else(|| first.map(usual));
    let at = match letters.has("topic") {
        true => letters.place("topic"),
        false => section.place("topics"),
    };
    if let Some(text) = topic.as_deref().and_then(bad_topic) {
        letters.error("topic", text);
    }
    if let Some(topic) = &topic {
        letters.show("topic", topic.as_str());
    }
    letters.finish();
    (topic, at, config)
}

const PROFILES: [(&str, Profile); 3] = [
    ("tidegate", Profile::Tidegate),
    ("spring", Profile::Spring),
    ("connect", Profile::Connect),
];

/// Whether a letter's row keeps what the server said.
const MESSAGES: [(&str, bool); 2] = [("full", true), ("codes", false)];

fn letter_config(letters: &Section<'_>) -> LetterConfig {
    let rounds = defaults::MAX_REPLAYS;
    let rounds = letters.count("max_replays", rounds, 1..=defaults::REPLAYS_BOUND);
    LetterConfig {
        headers: letters.choice_or("headers", &PROFILES, Profile::default()),
        keep_closed: letters.duration(
            "keep_closed",
            defaults::KEEP_CLOSED,
            Duration::ZERO..=defaults::TTL_BOUND,
        ),
        max_replays: i32::try_from(rounds).unwrap_or(i32::MAX),
        full_messages: letters.choice_or("messages", &MESSAGES, true),
    }
}

/// `handler`, a path relative to the configuration file.
pub(super) fn handler(section: &Section<'_>, base: &Path) -> Option<PathBuf> {
    let given = section.text("handler")?;
    if given.starts_with("registry:") {
        let text = "handlers from the registry are not served yet; name the module's file";
        section.error("handler", format!("{given:?}: {text}"));
    } else if given.is_empty() {
        section.error("handler", "is empty; name the module's file");
    }
    let handler = base.join(given);
    section.show("handler", handler.display().to_string());
    Some(handler)
}

/// `search_path`: schemas that are the user's, by name; no pattern that a role or a session fills in.
pub(super) fn search_path(section: &Section<'_>) -> Vec<String> {
    let Some(schemas) = section.texts("search_path") else {
        let usual = vec![defaults::SEARCH_PATH.to_owned()];
        section.show("search_path", usual.clone());
        return usual;
    };
    for schema in &schemas {
        let length = 1..=defaults::ROLE_NAME_BYTES;
        let plain = length.contains(&schema.len()) && !schema.contains(char::is_control);
        if !plain || schema.contains([',', '"']) {
            let text = r#"is no schema's name; write for example ["app", "public"]"#;
            section.error("search_path", format!("{schema:?} {text}"));
        } else if schema == "$user" || schema == "tidegate" || schema.starts_with("pg_") {
            let text = "cannot be named here: handlers' names mean tables in schemas of yours, the same for every role";
            section.error("search_path", format!("{schema:?} {text}"));
        }
    }
    if schemas.is_empty() {
        section.error("search_path", "names no schema");
    }
    schemas
}

/// `role`; none for the login's own.
pub(super) fn role(section: &Section<'_>) -> Option<String> {
    let role = named(section, "role", defaults::ROLE_NAME_BYTES)?;
    if role == "none" {
        let text = "means the login's own rights to PostgreSQL; leave role out for them";
        section.error("role", format!("{role:?} {text}"));
    }
    section.show("role", role.as_str());
    Some(role)
}
