//! Where a record's event id is found.

mod parse;

use crate::claim::{BadEventId, EventId};
use crate::cloudevents;
use crate::place::{NoText, header, json, key};
use crate::record::Record;

/// `[consumer.dedup] id` and `id_format`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdRule {
    /// The parts, joined in order; at least one.
    pub sources: Vec<IdSource>,
    /// How the id is read.
    pub format: IdFormat,
}

/// Where one part of an event id is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// `header:NAME`
    Header(String),
    /// `json:/pointer` into the value
    Json(String),
    /// `key`
    Key,
    /// `cloudevents`: source and id, from the headers `ce_source` and `ce_id` or, in structured mode, from the value
    CloudEvents,
    /// `position`: topic, partition and offset
    Position,
}

/// How an event id is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdFormat {
    /// Byte for byte.
    Bytes,
    /// A UUID in any of its spellings, normalised; anything else is refused.
    Uuid,
}

impl IdRule {
    /// The record's event id.
    ///
    /// One part is the id as it stands. Several are joined by `|`, with `\` before every `|` and `\` inside
    /// a part, so that two different lists of parts never make one id. No part may be empty.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the id and where it should be, never what the record holds there.
    pub fn extract(&self, record: &Record) -> Result<EventId, BadEventId> {
        let mut parts = Vec::with_capacity(self.sources.len() + 1);
        for source in &self.sources {
            source.collect(record, &mut parts)?;
        }
        if parts.iter().any(String::is_empty) {
            return Err(BadEventId::Empty);
        }
        let id = join(parts);
        match self.format {
            IdFormat::Bytes => EventId::new(id),
            IdFormat::Uuid => EventId::new(normalised_uuid(&id)?),
        }
    }
}

impl IdSource {
    fn collect(&self, record: &Record, parts: &mut Vec<String>) -> Result<(), BadEventId> {
        match self {
            IdSource::Header(name) => parts.push(header(record, name)?),
            IdSource::Json(pointer) => parts.push(json(record, pointer)?),
            IdSource::Key => parts.push(key(record)?),
            IdSource::CloudEvents => {
                let event = cloudevents::identity(record)?;
                parts.extend([event.source, event.id]);
            }
            IdSource::Position => parts.push(format!(
                "{}-{}-{}",
                record.source.topic, record.source.partition, record.offset
            )),
        }
        Ok(())
    }
}

impl From<NoText> for BadEventId {
    fn from(none: NoText) -> Self {
        match none {
            NoText::Missing(what) => BadEventId::Missing(what),
            NoText::Null => BadEventId::Null,
            NoText::NotUtf8 => BadEventId::NotUtf8,
            NoText::Ambiguous(what) => BadEventId::Ambiguous(what),
            NoText::Malformed(what) => BadEventId::Malformed(what),
        }
    }
}

fn join(mut parts: Vec<String>) -> String {
    if parts.len() == 1 {
        return parts.swap_remove(0);
    }
    let escaped = parts
        .iter()
        .map(|p| p.replace('\\', "\\\\").replace('|', "\\|"));
    escaped.collect::<Vec<_>>().join("|")
}

fn normalised_uuid(id: &str) -> Result<String, BadEventId> {
    uuid::Uuid::parse_str(id)
        .map(|u| u.hyphenated().to_string())
        .map_err(|_| BadEventId::Malformed("it is no UUID, which `id_format` asks for".to_owned()))
}

#[cfg(test)]
mod tests;
