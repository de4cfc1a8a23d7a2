//! Configurations as tests write them.

use super::toml::{Sections, TomlValue};
use crate::paths;

/// A configuration file in the making.
#[derive(Clone, Debug)]
pub struct HostConfig {
    sections: Sections,
    consumers: Vec<Consumer>,
    raw: String,
}

impl HostConfig {
    pub(crate) fn new(bootstrap: &str, pg_url: &str) -> Self {
        let cache = paths::target().join("tests/module-cache");
        let config = HostConfig {
            sections: Sections::default(),
            consumers: Vec::new(),
            raw: String::new(),
        };
        config
            .bootstrap(bootstrap)
            .postgres(pg_url)
            .librdkafka("session.timeout.ms", "1500")
            .librdkafka("heartbeat.interval.ms", "300")
            .set("host", "module_cache", cache)
            .set("host", "http", "off")
    }

    /// Serves metrics and health on a free port, which [`Host::ask`](super::Host::ask) knows.
    pub fn watched(self) -> Self {
        self.set("host", "http", "127.0.0.1:0")
    }

    /// Where Kafka is: `host:port`.
    pub fn bootstrap(self, address: &str) -> Self {
        self.set("kafka", "bootstrap_servers", address)
    }

    /// Where PostgreSQL is: a URL.
    pub fn postgres(self, url: &str) -> Self {
        self.set("postgres", "url", url)
    }

    /// A setting of `[kafka.librdkafka]`.
    pub fn librdkafka(self, name: &str, value: &str) -> Self {
        self.set("kafka.librdkafka", name, value)
    }

    /// Any key of any section outside the consumers; an empty section is the top of the file.
    pub fn set(mut self, section: &str, key: &str, value: impl TomlValue) -> Self {
        self.sections.set(section, key, &value);
        self
    }

    /// One more consumer.
    pub fn consumer(mut self, consumer: Consumer) -> Self {
        self.consumers.push(consumer);
        self
    }

    /// Text appended to the file as it is.
    pub fn raw(mut self, toml: &str) -> Self {
        self.raw.push_str(toml);
        self.raw.push('\n');
        self
    }

    /// The file's text.
    pub fn to_toml(&self) -> String {
        let consumers: String = self.consumers.iter().map(Consumer::to_toml).collect();
        let (top, rest) = (self.sections.lines(""), self.sections.all());
        format!("{top}{rest}{consumers}\n{}", self.raw)
    }
}

/// One `[[consumer]]` in the making.
#[derive(Clone, Debug)]
pub struct Consumer {
    /// Its name, and its group's unless set otherwise.
    pub name: String,
    topics: Vec<String>,
    sections: Sections,
    raw: String,
}

impl Consumer {
    /// A consumer with a name and nothing else.
    pub fn new(name: &str) -> Self {
        let consumer = Consumer {
            name: name.to_owned(),
            topics: Vec::new(),
            sections: Sections::default(),
            raw: String::new(),
        };
        consumer.set("name", name)
    }

    /// One more topic.
    pub fn topic(mut self, topic: &str) -> Self {
        self.topics.push(topic.to_owned());
        self
    }

    /// More topics.
    pub fn topics(mut self, topics: &[&str]) -> Self {
        self.topics.extend(topics.iter().map(|t| (*t).to_owned()));
        self
    }

    /// The group; else it is the name.
    pub fn group(self, group: &str) -> Self {
        self.set("group", group)
    }

    /// The handler: a file.
    pub fn handler(self, handler: impl TomlValue) -> Self {
        self.set("handler", handler)
    }

    /// A key of `[[consumer]]` itself: `start`, `instance`, `drain_timeout`; `dedup` = `"off"`.
    pub fn set(self, key: &str, value: impl TomlValue) -> Self {
        self.put("", key, &value)
    }

    /// A key of `[consumer.dedup]`.
    pub fn dedup(self, key: &str, value: impl TomlValue) -> Self {
        self.put("consumer.dedup", key, &value)
    }

    /// A key of `[consumer.batch]`.
    pub fn batch(self, key: &str, value: impl TomlValue) -> Self {
        self.put("consumer.batch", key, &value)
    }

    /// A key of `[consumer.queue]`.
    pub fn queue(self, key: &str, value: impl TomlValue) -> Self {
        self.put("consumer.queue", key, &value)
    }

    /// A key of `[consumer.retry]`.
    pub fn retry(self, key: &str, value: impl TomlValue) -> Self {
        self.put("consumer.retry", key, &value)
    }

    /// A key of `[consumer.brake]`.
    pub fn brake(self, key: &str, value: impl TomlValue) -> Self {
        self.put("consumer.brake", key, &value)
    }

    /// A key of `[consumer.limits]`.
    pub fn limits(self, key: &str, value: impl TomlValue) -> Self {
        self.put("consumer.limits", key, &value)
    }

    /// A key of `[consumer.dead_letter]`.
    pub fn dead_letter(self, key: &str, value: impl TomlValue) -> Self {
        self.put("consumer.dead_letter", key, &value)
    }

    /// A key of `[consumer.sql]`.
    pub fn sql(self, key: &str, value: impl TomlValue) -> Self {
        self.put("consumer.sql", key, &value)
    }

    /// A key of `[consumer.settings]`, which the guest reads.
    pub fn settings(self, key: &str, value: impl TomlValue) -> Self {
        self.put("consumer.settings", key, &value)
    }

    /// Text appended after the consumer's sections as it is.
    pub fn raw(mut self, toml: &str) -> Self {
        self.raw.push_str(toml);
        self.raw.push('\n');
        self
    }

    fn put(mut self, section: &str, key: &str, value: &impl TomlValue) -> Self {
        self.sections.set(section, key, value);
        self
    }

    fn to_toml(&self) -> String {
        let topics = serde_json::Value::from(self.topics.clone());
        // A consumer without dedup has no section for it.
        let off = self.sections.lines("").contains("dedup = ");
        let sections = if off {
            self.sections.without("consumer.dedup").all()
        } else {
            self.sections.all()
        };
        format!(
            "\n[[consumer]]\n{}topics = {topics}\n{sections}{}",
            self.sections.lines(""),
            self.raw
        )
    }
}
