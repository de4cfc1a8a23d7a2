//! The content mode, by the header `content-type`.

use crate::claim::BadEventId;
use crate::record::Header;

/// How a record carries its event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Attributes in headers; the value is the event's data, of whatever media type.
    Binary,
    /// The whole event in the value, as JSON.
    Json,
    /// The whole event in the value, in another format: its name.
    Other(String),
    /// Several events in the value.
    Batch,
}

/// What the media types of all formats and batches begin with.
const EVENTS: &str = "application/cloudevents";

/// The mode of a record with these headers.
///
/// The header's name and the media type are compared without regard to case; parameters, such as a charset, decide
/// nothing. Several headers are one where they are equal; where they differ, and one of them says that the value is an
/// event, nobody knows what it is. A null one, or one that is not UTF-8, names no media type.
pub(super) fn mode(headers: &[Header]) -> Result<Mode, BadEventId> {
    let types = headers
        .iter()
        .filter(|h| h.name.eq_ignore_ascii_case("content-type"));
    let mut modes = types.map(|header| {
        let text = header.value.as_deref().map(std::str::from_utf8);
        text.and_then(Result::ok).map_or(Mode::Binary, of)
    });
    let Some(first) = modes.next() else {
        return Ok(Mode::Binary);
    };
    match modes.all(|mode| mode == first) {
        true => Ok(first),
        false => Err(BadEventId::Ambiguous(
            "headers `content-type` differ in whether the value is a CloudEvent".to_owned(),
        )),
    }
}

/// The mode that goes with a media type.
fn of(text: &str) -> Mode {
    let media = text.split(';').next().unwrap_or_default();
    let media = media.trim().to_ascii_lowercase();
    match media.strip_prefix(EVENTS) {
        None => Mode::Binary,
        Some("+json") => Mode::Json,
        Some(rest) if rest.starts_with("-batch") => Mode::Batch,
        Some(rest) => Mode::Other(name(rest)),
    }
}

/// A format's name as it may be shown: what is no name of one is not.
fn name(rest: &str) -> String {
    let name = rest.strip_prefix('+').unwrap_or_default();
    let known = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'+');
    match (1..=32).contains(&name.len()) && name.bytes().all(known) {
        true => format!("`{name}`"),
        false => "not named".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{header, null_header};

    #[test]
    fn the_media_type_decides_whatever_its_case_and_parameters() {
        for (text, wanted) in [
            ("application/cloudevents+json", Mode::Json),
            ("Application/CloudEvents+JSON; charset=UTF-8", Mode::Json),
            (" application/cloudevents+json ;a=\"b;c\"", Mode::Json),
            ("application/cloudevents-batch+json", Mode::Batch),
            ("application/CLOUDEVENTS-BATCH+avro; x", Mode::Batch),
            ("application/cloudevents+avro", Mode::Other("`avro`".into())),
            (
                "application/cloudevents+\u{1b}[2J",
                Mode::Other("not named".into()),
            ),
            ("application/cloudevents", Mode::Other("not named".into())),
            ("application/json", Mode::Binary),
            ("text/plain; a=application/cloudevents+json", Mode::Binary),
            ("", Mode::Binary),
        ] {
            let headers = [header("Content-Type", text.as_bytes())];
            assert_eq!(mode(&headers), Ok(wanted), "{text}");
        }
        assert_eq!(mode(&[]), Ok(Mode::Binary));
        assert_eq!(mode(&[null_header("content-type")]), Ok(Mode::Binary));
        assert_eq!(
            mode(&[header("content-type", b"application/cloudevents+json\xff")]),
            Ok(Mode::Binary)
        );
    }

    #[test]
    fn several_headers_must_mean_the_same() {
        let json = || header("content-type", b"application/cloudevents+json");
        let also = header(
            "Content-Type",
            b"application/cloudevents+json; charset=utf-8",
        );
        assert_eq!(mode(&[json(), also]), Ok(Mode::Json));
        let plain = || header("content-type", b"application/json");
        let text = header("content-type", b"text/plain");
        assert_eq!(mode(&[plain(), text]), Ok(Mode::Binary));
        for other in [plain(), null_header("content-type")] {
            let differ = mode(&[json(), other]);
            assert!(
                matches!(differ, Err(BadEventId::Ambiguous(_))),
                "{differ:?}"
            );
        }
    }
}
