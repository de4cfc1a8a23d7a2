//! Event ids: of any record under any rule.

use serde_json::Value;
use tidegate_core::claim::EventId;
use tidegate_core::event_id::{IdFormat, IdRule, IdSource};
use tidegate_core::record::Record;

use crate::input::Fields;

/// A format, the places (one a line) and a record. An id is one that the inbox can hold, and says what its parts were.
pub(crate) fn event_id(data: &[u8]) {
    let mut fields = Fields::new(data);
    let format = match fields.byte() {
        b'u' => IdFormat::Uuid,
        _ => IdFormat::Bytes,
    };
    let places: Vec<String> = fields.text().lines().map(str::to_owned).collect();
    let Ok(rule) = IdRule::parse(&places, format) else {
        return;
    };
    let record = fields.record();
    let found = rule.extract(&record);
    if let Err(bad) = &found {
        return assert!(!bad.to_string().is_empty());
    }
    let id = found.unwrap();
    let text = id.as_str();
    assert!((1..=EventId::MAX_BYTES).contains(&text.len()) && !text.contains('\0'));
    if let IdFormat::Uuid = format {
        return assert_eq!(uuid::Uuid::try_parse(text).unwrap().to_string(), text);
    }
    let parts = match rule.sources.len() {
        1 if rule.sources[0] != IdSource::CloudEvents => vec![text.to_owned()],
        _ => split(text),
    };
    let mut parts = parts.into_iter();
    for source in &rule.sources {
        let wide = usize::from(*source == IdSource::CloudEvents) + 1;
        let own: Vec<String> = parts.by_ref().take(wide).collect();
        assert_eq!(own.len(), wide, "{text:?}");
        match source {
            IdSource::Json(pointer) => as_serde(&record, pointer, &own[0]),
            IdSource::CloudEvents => as_event(&record, &own),
            _ => {}
        }
    }
    assert_eq!(parts.next(), None, "{text:?}");
}

/// Undoes the joining.
fn split(id: &str) -> Vec<String> {
    let (mut parts, mut chars) = (vec![String::new()], id.chars());
    while let Some(c) = chars.next() {
        match (c, parts.last_mut()) {
            ('|', _) => parts.push(String::new()),
            ('\\', Some(part)) => part.extend(chars.next()),
            (c, Some(part)) => part.push(c),
            (_, None) => {}
        }
    }
    parts
}

/// Source and id are those of the headers where there are such, and of the value where there are none.
fn as_event(record: &Record, own: &[String]) {
    for (name, found) in ["source", "id"].iter().zip(own) {
        let header = format!("ce_{name}");
        let headers = record.headers.iter().filter(|h| h.name == header);
        let mut texts = headers.filter_map(|h| h.value.as_deref()).peekable();
        match texts.peek() {
            Some(_) => assert!(texts.all(|text| text == found.as_bytes()), "{found:?}"),
            None => as_serde(record, &format!("/{name}"), found),
        }
    }
}

/// Another reader of JSON and its pointers finds the same text. Numbers it may spell otherwise.
fn as_serde(record: &Record, pointer: &str, found: &str) {
    let value = record.value.as_deref().unwrap_or_default();
    let Ok(document) = serde_json::from_slice::<Value>(value) else {
        return; // nested too deeply for it
    };
    match document.pointer(pointer) {
        Some(Value::String(text)) => assert_eq!(text, found),
        Some(Value::Number(_)) => assert!(found.parse::<f64>().is_ok(), "{found:?}"),
        other => panic!("{found:?} where {other:?} stands"),
    }
}
