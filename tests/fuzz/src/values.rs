//! Values between guests and PostgreSQL: whole or an error, in both directions.

use postgres_types::{Kind, Type};
use tidegate::inbox::fuzzing::{Encoded, decode, encode};
use tidegate_core::sql::Value;

use crate::input::number;

/// A parameter: a type, a kind of value and the value's bytes.
pub(crate) fn params(data: &[u8]) {
    let ([kind, of], rest) = number::<2>(data);
    let (ty, value) = (ty(kind), value(of, rest));
    let Ok(Encoded { bytes, text }) = encode(&ty, &value) else {
        return;
    };
    let Some(bytes) = bytes else {
        return assert_eq!(value, Value::Null);
    };
    assert!(bytes.len() <= 2 * rest.len() * 8 + 400, "bounded");
    match text {
        true => written(&ty, &value, &String::from_utf8(bytes).unwrap()),
        false => {
            if let Some(read) = decode(&ty, &bytes) {
                assert_eq!(same(&read), same(&value), "{ty}");
            }
        }
    }
}

/// What is sent as text says what was given.
fn written(ty: &Type, value: &Value, text: &str) {
    assert!(!text.contains('\0'));
    match value {
        Value::Text(given) | Value::Json(given) | Value::Other { text: given, .. } => {
            assert_eq!(text, given);
        }
        Value::Int64Array(items) => {
            let items = items.iter().map(|item| item.map(|n| n.to_string()));
            assert_eq!(array(text), items.collect::<Vec<_>>(), "{ty}");
        }
        Value::TextArray(items) => assert_eq!(array(text), *items, "{ty}"),
        Value::Int64(n) => assert_eq!(text.parse(), Ok(*n)),
        Value::Float64(x) if !x.is_nan() => assert_eq!(text.parse(), Ok(*x)),
        _ => {}
    }
}

/// A literal of one dimension, read as PostgreSQL does.
fn array(literal: &str) -> Vec<Option<String>> {
    let inner = literal.strip_prefix('{').and_then(|l| l.strip_suffix('}'));
    let (mut rest, mut items) = (inner.unwrap().chars().peekable(), Vec::new());
    while rest.peek().is_some() {
        let (mut item, quoted) = (String::new(), rest.next_if_eq(&'"').is_some());
        while let Some(c) = rest.next_if(|c| quoted || *c != ',') {
            match c {
                '"' => break,
                '\\' => item.extend(rest.next()),
                c => item.push(c),
            }
        }
        items.push(Some(item).filter(|item| quoted || item != "NULL"));
        assert!(rest.next().is_none_or(|c| c == ','));
    }
    items
}

/// A column's value: a type and the bytes that arrived. What can be read can be sent again, and is then the same.
pub(crate) fn rows(data: &[u8]) {
    let ([kind], raw) = number::<1>(data);
    let ty = ty(kind);
    let Some(value) = decode(&ty, raw) else {
        return;
    };
    assert!(same(&value).len() <= 300_000 + 24 * raw.len(), "bounded");
    if !is_possible(&ty, raw, &value) {
        return;
    }
    let sent = encode(&ty, &value);
    if ty == Type::VOID {
        return;
    }
    let Encoded { bytes, text } = sent.unwrap_or_else(|error| panic!("{ty} {value:?}: {error}"));
    if let (Some(bytes), false) = (bytes, text) {
        assert_eq!(decode(&ty, &bytes).map(|v| same(&v)), Some(same(&value)));
    }
}

/// Whether a server could have sent it.
fn is_possible(ty: &Type, raw: &[u8], value: &Value) -> bool {
    let fits = match *ty {
        Type::TIME => is_time(raw),
        Type::NAME => raw.len() <= 63,
        _ => true,
    };
    fits && !same(value).contains("\\0")
}

fn is_time(raw: &[u8]) -> bool {
    (0..=86_400_000_000).contains(&i64::from_be_bytes(number(raw).0))
}

/// For comparing: NaN is itself, and a UUID has one spelling.
fn same(value: &Value) -> String {
    match value {
        Value::Uuid(text) => format!("Uuid({:?})", uuid::Uuid::try_parse(text)),
        value => format!("{value:?}"),
    }
}

fn value(kind: u8, rest: &[u8]) -> Value {
    let text = || String::from_utf8_lossy(rest).into_owned();
    let int = i64::from_be_bytes(number(rest).0);
    match kind % 17 {
        0 => Value::Null,
        1 => Value::Boolean(int > 0),
        2 => Value::Int64(int),
        3 => Value::Int64(text().trim().parse().unwrap_or(int)),
        4 => Value::Float64(f64::from_be_bytes(number(rest).0)),
        5 => Value::Float64(text().trim().parse().unwrap_or_default()),
        6 => Value::Numeric(text()),
        7 => Value::Text(text()),
        8 => Value::Bytes(rest.to_vec()),
        9 => Value::Uuid(text()),
        10 => Value::Json(text()),
        11 => Value::Date(text()),
        12 => Value::Time(text()),
        13 => match rest.first() {
            Some(b'z') => Value::Timestamptz(String::from_utf8_lossy(&rest[1..]).into_owned()),
            _ => Value::Timestamp(text()),
        },
        14 => Value::Int64Array(items(rest).map(|t| t.map(|t| ints(&t))).collect()),
        15 => Value::TextArray(items(rest).collect()),
        _ => {
            let text = text();
            let (name, text) = text.split_once(':').unwrap_or((&text, ""));
            let type_name = name.to_owned();
            Value::Other {
                type_name,
                text: text.to_owned(),
            }
        }
    }
}

fn items(rest: &[u8]) -> impl Iterator<Item = Option<String>> {
    let items = rest.split(|byte| *byte == 0xff);
    items.map(|item| match item {
        b"\xfe" => None,
        item => Some(String::from_utf8_lossy(item).into_owned()),
    })
}

fn ints(text: &str) -> i64 {
    let bytes = number::<8>(text.as_bytes()).0;
    text.parse().unwrap_or(i64::from_be_bytes(bytes))
}

fn ty(kind: u8) -> Type {
    let known = [
        Type::BOOL,
        Type::INT2,
        Type::INT4,
        Type::INT8,
        Type::OID,
        Type::FLOAT4,
        Type::FLOAT8,
        Type::NUMERIC,
        Type::TEXT,
        Type::VARCHAR,
        Type::BPCHAR,
        Type::NAME,
        Type::CHAR,
        Type::BYTEA,
        Type::UUID,
        Type::JSON,
        Type::JSONB,
        Type::DATE,
        Type::TIME,
        Type::TIMESTAMP,
        Type::TIMESTAMPTZ,
        Type::INT2_ARRAY,
        Type::INT4_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::VARCHAR_ARRAY,
        Type::VOID,
        Type::INET,
    ];
    let made = |name: &str, kind| Type::new(name.to_owned(), 70_000, kind, "public".to_owned());
    let kind = usize::from(kind) % (known.len() + 3);
    match kind.checked_sub(known.len()) {
        None => known[kind].clone(),
        Some(0) => made("mood", Kind::Enum(vec!["glad".to_owned()])),
        Some(1) => made("cents", Kind::Domain(Type::INT4)),
        Some(_) => made("citext", Kind::Simple),
    }
}
