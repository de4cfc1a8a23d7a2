//! Builds the tree from the serde form of pg_query's messages, which names every type.

use serde::Serialize;
use serde::ser::{self, Impossible, SerializeSeq, SerializeStruct, Serializer};

use super::{Node, Value};

/// The message that only holds another one, of whatever kind.
const WRAPPER: &str = "Node";

/// The tree has a form that is not known here.
#[derive(Debug, thiserror::Error)]
#[error("the grammar's tree has a form that is not known: {0}")]
pub(crate) struct UnknownForm(String);

impl ser::Error for UnknownForm {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// The tree of a message.
///
/// # Errors
/// A form that messages do not have today.
pub(crate) fn tree_of(message: &impl Serialize) -> Result<Value, UnknownForm> {
    message.serialize(Build)
}

struct Build;

struct Fields(Node);

struct Items(Vec<Value>);

fn unknown<T>(what: &str) -> Result<T, UnknownForm> {
    Err(UnknownForm(what.to_owned()))
}

impl SerializeStruct for Fields {
    type Ok = Value;
    type Error = UnknownForm;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), UnknownForm> {
        match value.serialize(Build)? {
            Value::Nothing => {}
            value => self.0.fields.push((key, value)),
        }
        Ok(())
    }

    fn end(mut self) -> Result<Value, UnknownForm> {
        if self.0.kind == WRAPPER {
            return Ok(self
                .0
                .fields
                .pop()
                .map_or(Value::Nothing, |(_, value)| value));
        }
        self.0.fields.shrink_to_fit();
        Ok(Value::Node(Box::new(self.0)))
    }
}

impl SerializeSeq for Items {
    type Ok = Value;
    type Error = UnknownForm;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), UnknownForm> {
        self.0.push(value.serialize(Build)?);
        Ok(())
    }

    fn end(self) -> Result<Value, UnknownForm> {
        Ok(match self.0.is_empty() {
            true => Value::Nothing,
            false => Value::List(self.0),
        })
    }
}

/// A number, unless it is zero.
fn number(number: impl Into<i64>) -> Result<Value, UnknownForm> {
    Ok(match number.into() {
        0 => Value::Nothing,
        number => Value::Number(number),
    })
}

impl Serializer for Build {
    type Ok = Value;
    type Error = UnknownForm;
    type SerializeSeq = Items;
    type SerializeStruct = Fields;
    type SerializeTuple = Impossible<Value, UnknownForm>;
    type SerializeTupleStruct = Impossible<Value, UnknownForm>;
    type SerializeTupleVariant = Impossible<Value, UnknownForm>;
    type SerializeMap = Impossible<Value, UnknownForm>;
    type SerializeStructVariant = Impossible<Value, UnknownForm>;

    fn serialize_bool(self, flag: bool) -> Result<Value, UnknownForm> {
        Ok(if flag { Value::Flag } else { Value::Nothing })
    }

    fn serialize_i8(self, n: i8) -> Result<Value, UnknownForm> {
        number(n)
    }

    fn serialize_i16(self, n: i16) -> Result<Value, UnknownForm> {
        number(n)
    }

    fn serialize_i32(self, n: i32) -> Result<Value, UnknownForm> {
        number(n)
    }

    fn serialize_i64(self, n: i64) -> Result<Value, UnknownForm> {
        number(n)
    }

    fn serialize_u8(self, n: u8) -> Result<Value, UnknownForm> {
        number(n)
    }

    fn serialize_u16(self, n: u16) -> Result<Value, UnknownForm> {
        number(n)
    }

    fn serialize_u32(self, n: u32) -> Result<Value, UnknownForm> {
        number(n)
    }

    fn serialize_u64(self, n: u64) -> Result<Value, UnknownForm> {
        number(i64::try_from(n).unwrap_or(i64::MAX))
    }

    fn serialize_f32(self, _: f32) -> Result<Value, UnknownForm> {
        unknown("a fraction")
    }

    fn serialize_f64(self, _: f64) -> Result<Value, UnknownForm> {
        unknown("a fraction")
    }

    fn serialize_char(self, _: char) -> Result<Value, UnknownForm> {
        unknown("a character")
    }

    fn serialize_str(self, text: &str) -> Result<Value, UnknownForm> {
        Ok(match text {
            "" => Value::Nothing,
            text => Value::Text(text.to_owned()),
        })
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Value, UnknownForm> {
        unknown("bytes")
    }

    fn serialize_none(self) -> Result<Value, UnknownForm> {
        Ok(Value::Nothing)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, UnknownForm> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, UnknownForm> {
        unknown("a unit")
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<Value, UnknownForm> {
        unknown(name)
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<Value, UnknownForm> {
        unknown(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: &T,
    ) -> Result<Value, UnknownForm> {
        unknown(name)
    }

    /// One of the kinds of a wrapper, or of a constant: the message itself names its type.
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<Value, UnknownForm> {
        value.serialize(self)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Items, UnknownForm> {
        Ok(Items(Vec::with_capacity(len.unwrap_or_default())))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, UnknownForm> {
        unknown("a tuple")
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, UnknownForm> {
        unknown(name)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, UnknownForm> {
        unknown(name)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, UnknownForm> {
        unknown("a map")
    }

    fn serialize_struct(self, kind: &'static str, _: usize) -> Result<Fields, UnknownForm> {
        Ok(Fields(Node {
            kind,
            fields: Vec::new(),
        }))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, UnknownForm> {
        unknown(name)
    }
}
