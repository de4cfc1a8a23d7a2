//! CloudEvents 1.0 over Kafka: in which content mode a record is, and what names its event there.

mod mode;

use self::mode::{Mode, mode};
use crate::claim::BadEventId;
use crate::headers::{Said, said};
use crate::json::{Found, NotJson, at};
use crate::record::Record;

/// What names an event, by the specification: two events differ in at least one of them. Neither is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// `source`
    pub(crate) source: String,
    /// `id`
    pub(crate) id: String,
}

/// Why a record is no single CloudEvent with a source and an id. What the record holds is never quoted, but for the
/// name of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCloudEvent {
    /// `application/cloudevents-batch…`: several events, of which each would need an outcome of its own.
    #[error(
        "the record is a batch of CloudEvents; write one event a record (content-type application/cloudevents+json, or \
         binary mode)"
    )]
    Batch,
    /// Structured mode in another format than JSON.
    #[error(
        "the record is a CloudEvent in structured mode, of which only application/cloudevents+json can be read: its \
         format is {0}; write JSON, or binary mode"
    )]
    Format(String),
    /// There is no source, or none of use.
    #[error("the CloudEvent has no source: {0}")]
    Source(String),
    /// There is no id, or none of use.
    #[error("the CloudEvent has no id: {0}")]
    Id(String),
}

impl BadCloudEvent {
    /// All codes.
    pub const CODES: [&str; 4] = [
        "cloudevents-batch",
        "cloudevents-format",
        "cloudevents-source",
        "cloudevents-id",
    ];

    /// The error code in dead letters, logs and metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Batch => Self::CODES[0],
            Self::Format(_) => Self::CODES[1],
            Self::Source(_) => Self::CODES[2],
            Self::Id(_) => Self::CODES[3],
        }
    }
}

/// What names the event that `record` carries.
///
/// In structured mode the value decides. The headers of binary mode may be there beside it, as the specification
/// allows; where they say something else, there are two events' names and neither is taken. A tombstone has no value to
/// read, so that its headers name its event in any mode.
pub(crate) fn identity(record: &Record) -> Result<Identity, BadEventId> {
    let Some(value) = &record.value else {
        return in_headers(record);
    };
    match mode(&record.headers)? {
        Mode::Binary => Ok(in_headers(record)?),
        Mode::Json => {
            let event = in_document(value)?;
            agrees(record, SOURCE, &event.source)?;
            agrees(record, ID, &event.id)?;
            Ok(event)
        }
        Mode::Other(format) => Err(BadCloudEvent::Format(format).into()),
        Mode::Batch => Err(BadCloudEvent::Batch.into()),
    }
}

/// One of the two attributes.
#[derive(Clone, Copy)]
struct Attribute {
    name: &'static str,
    header: &'static str,
    bad: fn(String) -> BadCloudEvent,
}

const SOURCE: Attribute = Attribute {
    name: "source",
    header: "ce_source",
    bad: BadCloudEvent::Source,
};

const ID: Attribute = Attribute {
    name: "id",
    header: "ce_id",
    bad: BadCloudEvent::Id,
};

fn in_headers(record: &Record) -> Result<Identity, BadEventId> {
    Ok(Identity {
        source: in_header(record, SOURCE)?,
        id: in_header(record, ID)?,
    })
}

fn in_header(record: &Record, attribute: Attribute) -> Result<String, BadEventId> {
    let (name, bad) = (attribute.header, |why: String| {
        Err((attribute.bad)(why).into())
    });
    match said(&record.headers, name) {
        Said::Nothing => bad(format!("no header `{name}`")),
        Said::One(None) => bad(format!("the header `{name}` is null")),
        Said::Ambiguous => Err(BadEventId::Ambiguous(format!(
            "two headers `{name}` differ"
        ))),
        Said::One(Some(value)) => match std::str::from_utf8(value) {
            Ok("") => bad(format!("the header `{name}` is empty")),
            Ok(text) => Ok(text.to_owned()),
            Err(_) => bad(format!("the header `{name}` is not UTF-8")),
        },
    }
}

fn in_document(value: &[u8]) -> Result<Identity, BadEventId> {
    Ok(Identity {
        source: in_member(value, SOURCE)?,
        id: in_member(value, ID)?,
    })
}

fn in_member(value: &[u8], attribute: Attribute) -> Result<String, BadEventId> {
    let name = attribute.name;
    let why = match at(value, &format!("/{name}")) {
        Ok(Found::Text(text)) if !text.is_empty() => return Ok(text),
        Ok(Found::Text(_)) => format!("`{name}` in the value is empty"),
        Ok(Found::Absent) => format!("the value holds no `{name}`"),
        Ok(Found::Null) => format!("`{name}` in the value is null"),
        Ok(Found::Number(_)) => format!("`{name}` in the value is a number; a string is needed"),
        Ok(Found::Other(what)) => format!("`{name}` in the value is {what}; a string is needed"),
        Ok(Found::Twice) => {
            let twice = format!("the value names `{name}` twice");
            return Err(BadEventId::Ambiguous(twice));
        }
        Err(NotJson(why)) => {
            return Err(BadEventId::Malformed(format!(
                "its content-type is application/cloudevents+json, but the value {why}"
            )));
        }
    };
    Err((attribute.bad)(why).into())
}

/// That the header, where there is one that is not null, says what the value says.
fn agrees(record: &Record, attribute: Attribute, said_by_value: &str) -> Result<(), BadEventId> {
    let (name, header) = (attribute.name, attribute.header);
    match said(&record.headers, header) {
        Said::Nothing | Said::One(None) => Ok(()),
        Said::One(Some(value)) if value == said_by_value => Ok(()),
        Said::One(Some(_)) => Err(BadEventId::Ambiguous(format!(
            "the header `{header}` and `{name}` in the value differ"
        ))),
        Said::Ambiguous => Err(BadEventId::Ambiguous(format!(
            "two headers `{header}` differ"
        ))),
    }
}

#[cfg(test)]
mod tests;
