//! Values in JSON: `{"type": "int64", "value": 5}`, `{"type": "null"}`,
//! `{"type": "other", "value": {"type_name": "interval", "text": "1 day"}}`.
//!
//! The types are the cases of the contract's `value`. A `float64` is text (`1.5`, `NaN`, `inf`), since
//! JSON has no word for the last two; `bytes` are hexadecimal digits.

use guest_common::{TypedText, Value};

#[derive(serde::Deserialize, serde::Serialize)]
#[serde(tag = "type", content = "value", rename_all = "kebab-case")]
pub enum Spelled {
    Null,
    Boolean(bool),
    Int64(i64),
    Float64(String),
    Numeric(String),
    Text(String),
    Bytes(String),
    Uuid(String),
    Json(String),
    Date(String),
    Time(String),
    Timestamp(String),
    Timestamptz(String),
    Int64Array(Vec<Option<i64>>),
    TextArray(Vec<Option<String>>),
    Other { type_name: String, text: String },
}

impl Spelled {
    pub fn into_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Boolean(v) => Value::Boolean(v),
            Self::Int64(v) => Value::Int64(v),
            Self::Float64(v) => Value::Float64(v.parse().expect("a float's text")),
            Self::Numeric(v) => Value::Numeric(v),
            Self::Text(v) => Value::Text(v),
            Self::Bytes(v) => Value::Bytes(from_hex(&v)),
            Self::Uuid(v) => Value::Uuid(v),
            Self::Json(v) => Value::Json(v),
            Self::Date(v) => Value::Date(v),
            Self::Time(v) => Value::Time(v),
            Self::Timestamp(v) => Value::Timestamp(v),
            Self::Timestamptz(v) => Value::Timestamptz(v),
            Self::Int64Array(v) => Value::Int64Array(v),
            Self::TextArray(v) => Value::TextArray(v),
            Self::Other { type_name, text } => Value::Other(TypedText { type_name, text }),
        }
    }

    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Boolean(v) => Self::Boolean(v),
            Value::Int64(v) => Self::Int64(v),
            Value::Float64(v) => Self::Float64(v.to_string()),
            Value::Numeric(v) => Self::Numeric(v),
            Value::Text(v) => Self::Text(v),
            Value::Bytes(v) => Self::Bytes(v.iter().map(|b| format!("{b:02x}")).collect()),
            Value::Uuid(v) => Self::Uuid(v),
            Value::Json(v) => Self::Json(v),
            Value::Date(v) => Self::Date(v),
            Value::Time(v) => Self::Time(v),
            Value::Timestamp(v) => Self::Timestamp(v),
            Value::Timestamptz(v) => Self::Timestamptz(v),
            Value::Int64Array(v) => Self::Int64Array(v),
            Value::TextArray(v) => Self::TextArray(v),
            Value::Other(TypedText { type_name, text }) => Self::Other { type_name, text },
        }
    }
}

fn from_hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|p| u8::from_str_radix(&String::from_utf8_lossy(p), 16).expect("hexadecimal"))
        .collect()
}
