//! Finding one value in a JSON document, with its digits as written.

mod obstacle;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use self::obstacle::obstacle;

/// What stands at a JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// Nothing.
    Absent,
    /// An object on the way names its member twice: which one is meant is anybody's guess, and parsers differ.
    Twice,
    /// `null`.
    Null,
    /// A string.
    Text(String),
    /// A number, exactly as the document spells it.
    Number(&'a str),
    /// An object, array or boolean: what it is, in words.
    Other(&'static str),
}

/// The document is not one JSON document: what stands in the way, in words. What it holds stays out of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotJson(pub(crate) &'static str);

/// Checks that `pointer` is a JSON pointer (RFC 6901) to something inside a document.
pub(crate) fn check_pointer(pointer: &str) -> Result<(), String> {
    if !pointer.starts_with('/') {
        return Err(format!(
            "`{pointer}` is no JSON pointer: write `json:/name`"
        ));
    }
    let mut rest = pointer.chars();
    while let Some(c) = rest.next() {
        if c == '~' && !matches!(rest.next(), Some('0' | '1')) {
            return Err(format!(
                "`{pointer}` is no JSON pointer: `~` is written `~0`, `/` inside a name `~1`"
            ));
        }
    }
    Ok(())
}

/// What stands at `pointer` in `document`.
pub(crate) fn at<'a>(document: &'a [u8], pointer: &str) -> Result<Found<'a>, NotJson> {
    // The raw value lets every level pass unread but the one that the pointer walks.
    let mut here = whole(document)?;
    for token in pointer.split('/').skip(1) {
        match child(here, &token.replace("~1", "/").replace("~0", "~"))? {
            Child::One(next) => here = next,
            Child::None => return Ok(Found::Absent),
            Child::Twice => return Ok(Found::Twice),
        }
    }
    classify(here)
}

/// The document, found to be one.
fn whole(document: &[u8]) -> Result<&RawValue, NotJson> {
    serde_json::from_slice(document).map_err(|error| obstacle(document, &error))
}

/// Of a part of a document that was found to be one: a string that is no text, as with half a surrogate pair.
const NO_TEXT: NotJson = NotJson("is no JSON: a string in it is no text");

/// What an object or array holds under a token.
enum Child<'a> {
    None,
    One(&'a RawValue),
    Twice,
}

fn child<'a>(parent: &'a RawValue, token: &str) -> Result<Child<'a>, NotJson> {
    let mut document = serde_json::Deserializer::from_str(parent.get());
    match parent.get().as_bytes().first() {
        Some(b'{') => document.deserialize_map(Member(token)).map_err(|_| NO_TEXT),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(parent.get()).map_err(|_| NO_TEXT)?;
            let item = index(token).and_then(|i| items.get(i).copied());
            Ok(item.map_or(Child::None, Child::One))
        }
        _ => Ok(Child::None),
    }
}

/// Looks through all of an object's members for those of one name.
struct Member<'t>(&'t str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Child<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = Child::None;
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            let value = members.next_value::<&'de RawValue>()?;
            if name == self.0 {
                found = match found {
                    Child::None => Child::One(value),
                    Child::One(_) | Child::Twice => Child::Twice,
                };
            }
        }
        Ok(found)
    }
}

/// An array's index has no sign and no leading zero.
fn index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|b| b.is_ascii_digit());
    let plain = token == "0" || !token.starts_with('0');
    if digits && plain {
        token.parse().ok()
    } else {
        None
    }
}

fn classify(value: &RawValue) -> Result<Found<'_>, NotJson> {
    let text = value.get();
    Ok(match text.as_bytes().first() {
        Some(b'"') => Found::Text(serde_json::from_str(text).map_err(|_| NO_TEXT)?),
        Some(b'{') => Found::Other("an object"),
        Some(b'[') => Found::Other("an array"),
        Some(b't' | b'f') => Found::Other("a boolean"),
        Some(b'n') => Found::Null,
        _ => Found::Number(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOC: &[u8] = br#" {"a/b":{"~":[1E5,"x"]}, "n":null, "t":true, "u":"\u0041", "d":1,"d":2, "bad":"\ud800"} "#;

    #[test]
    fn walks_pointers() {
        assert_eq!(at(DOC, "/a~1b/~0/0"), Ok(Found::Number("1E5")));
        assert_eq!(at(DOC, "/a~1b/~0/1"), Ok(Found::Text("x".into())));
        assert_eq!(at(DOC, "/a~1b/~0/01"), Ok(Found::Absent));
        assert_eq!(at(DOC, "/a~1b/~0/-"), Ok(Found::Absent));
        assert_eq!(at(DOC, "/n"), Ok(Found::Null));
        assert_eq!(at(DOC, "/n/x"), Ok(Found::Absent));
        assert_eq!(at(DOC, "/t"), Ok(Found::Other("a boolean")));
        assert_eq!(at(DOC, "/u"), Ok(Found::Text("A".into())));
        assert_eq!(at(DOC, "/bad"), Err(NO_TEXT));
        for bad in [&b"{"[..], b"", b"\xff"] {
            assert!(at(bad, "/a").is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_member_that_is_named_twice_on_the_way_is_ambiguous() {
        let twice = |pointer| {
            at(
                br#"{"a":{"b":1,"\u0062":1,"c":2},"d":1,"d":{"e":1},"f":3}"#,
                pointer,
            )
        };
        assert_eq!(twice("/a/b"), Ok(Found::Twice));
        assert_eq!(twice("/d"), Ok(Found::Twice));
        assert_eq!(twice("/d/e"), Ok(Found::Twice));
        // What the pointer does not walk is the handler's business.
        assert_eq!(twice("/a/c"), Ok(Found::Number("2")));
        assert_eq!(twice("/f"), Ok(Found::Number("3")));
    }

    #[test]
    fn checks_pointers() {
        assert!(check_pointer("/a~0~1b").is_ok());
        for bad in ["", "a", "/a~", "/a~2"] {
            assert!(check_pointer(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn deep_documents_are_no_danger() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        assert_eq!(at(deep.as_bytes(), "/0/0"), Ok(Found::Other("an array")));
    }
}
