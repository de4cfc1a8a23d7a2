//! What keeps a value from being read as one JSON document, in words that name the remedy and quote nothing of it.

use serde_json::error::Category;

use super::NotJson;

const EMPTY: &str = "is empty, which is no JSON document";
const BOM: &str =
    "begins with a byte order mark, which JSON does not allow: write UTF-8 without one";
const WIDE: &str = "is UTF-16 or UTF-32: write JSON as UTF-8";
const FRAMED: &str = "begins as a schema registry's serializer frames it (a zero byte and a schema id of four): \
                      write plain JSON, without the registry";
const COMPRESSED: &str =
    "is compressed (gzip) by its producer's own doing: write plain JSON and set compression.type";
const NOT_UTF8: &str = "is not UTF-8, so it is no JSON";
const MORE: &str = "goes on behind the end of its JSON document: write one document a record";
const CUT: &str = "ends in the middle of its JSON document";
const OTHER: &str = "is not JSON";

/// What stands in the way of reading `document`, which failed with `error`.
pub(super) fn obstacle(document: &[u8], error: &serde_json::Error) -> NotJson {
    NotJson(match document {
        [] => EMPTY,
        [0xef, 0xbb, 0xbf, ..] => BOM,
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] | [0, 0, 0xfe, 0xff, ..] => WIDE,
        [0, first, 0, second, ..] | [first, 0, second, 0, ..] if begins(*first) && *second != 0 => {
            WIDE
        }
        [0, 0, 0, first, ..] | [first, 0, 0, 0, ..] if begins(*first) => WIDE,
        [0, _, _, _, _, _, ..] => FRAMED,
        [0x1f, 0x8b, ..] => COMPRESSED,
        _ if std::str::from_utf8(document).is_err() => NOT_UTF8,
        _ if error.is_eof() => CUT,
        _ if is_more(document, error) => MORE,
        _ => OTHER,
    })
}

/// Whether a JSON document may begin with this character.
fn begins(byte: u8) -> bool {
    byte.is_ascii_digit() || b"{[\"-tfn \t\r\n".contains(&byte)
}

/// Whether a whole document stands before what could not be read.
fn is_more(document: &[u8], error: &serde_json::Error) -> bool {
    let mut documents =
        serde_json::Deserializer::from_slice(document).into_iter::<&serde_json::value::RawValue>();
    error.classify() == Category::Syntax && matches!(documents.next(), Some(Ok(_)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{NotJson, at};
    use super::*;

    /// What is said of a value.
    fn said(value: &[u8]) -> &'static str {
        at(value, "/id").err().map_or("", |NotJson(words)| words)
    }

    fn wide(text: &str, big: bool, mark: bool) -> Vec<u8> {
        let text = if mark {
            format!("\u{feff}{text}")
        } else {
            text.to_owned()
        };
        let units = text.encode_utf16();
        let bytes = units.map(|u| {
            if big {
                u.to_be_bytes()
            } else {
                u.to_le_bytes()
            }
        });
        bytes.flatten().collect()
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        const DOC: &str = r#"{"id":"a"}"#;
        let before = |bytes: &[u8]| [bytes, DOC.as_bytes()].concat();
        for (value, words) in [
            (Vec::new(), EMPTY),
            (before(b"\xef\xbb\xbf"), BOM),
            (wide(DOC, true, true), WIDE),
            (wide(DOC, false, true), WIDE),
            (wide(DOC, true, false), WIDE),
            (wide(DOC, false, false), WIDE),
            (before(&[0, 0, 0, 0, 7]), FRAMED),
            (before(&[0, 0x12, 0x34, 0x56, 0x78]), FRAMED),
            (vec![0, 0, 0, 0, 7, 2, 0x61], FRAMED),
            (vec![0x1f, 0x8b, 8, 0], COMPRESSED),
            (b"\x80abc".to_vec(), NOT_UTF8),
            (format!("{DOC}\n{DOC}").into_bytes(), MORE),
            (format!("{DOC},").into_bytes(), MORE),
            (DOC.as_bytes()[..7].to_vec(), CUT),
            (b"SECRET".to_vec(), OTHER),
            (b"{'id':1}".to_vec(), OTHER),
        ] {
            assert_eq!(said(&value), words, "{value:?}");
        }
        assert_eq!(said(DOC.as_bytes()), "");
        assert_eq!(said(format!(" {DOC}\r\n").as_bytes()), "");
    }

    proptest! {
        #[test]
        fn only_what_is_no_json_is_said_to_be_none(value in prop::collection::vec(any::<u8>(), 0..40)) {
            let sound = serde_json::from_slice::<serde_json::Value>(&value).is_ok();
            prop_assert!(!sound || said(&value).is_empty());
        }
    }
}
