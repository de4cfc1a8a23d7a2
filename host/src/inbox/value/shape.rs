//! Sorts PostgreSQL's types by how their values travel, and names them in SQL's words.

use postgres_types::{Kind, Type};

/// How values of a type travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Bool,
    Int2,
    Int4,
    Int8,
    Oid,
    Float4,
    Float8,
    Numeric,
    /// `text`, `varchar`, `bpchar`, `citext`, enums.
    Text,
    /// `name`: at most 63 bytes, silently cut beyond.
    Name,
    /// `"char"`: one byte.
    Char,
    Bytea,
    Uuid,
    Json,
    Jsonb,
    Date,
    Time,
    Timestamp,
    Timestamptz,
    Int2Array,
    Int4Array,
    Int8Array,
    TextArray,
    /// What a function without a result returns.
    Void,
    Other,
}

impl Shape {
    /// The shape of a type; a domain has its base type's.
    pub(crate) fn of(ty: &Type) -> Shape {
        match ty.kind() {
            Kind::Domain(base) => Shape::of(base),
            Kind::Enum(_) => Shape::Text,
            Kind::Simple if ty.name() == "citext" => Shape::Text,
            Kind::Array(element) => Shape::of_array(element),
            _ => Shape::of_simple(ty),
        }
    }

    fn of_array(element: &Type) -> Shape {
        match *element {
            Type::INT2 => Shape::Int2Array,
            Type::INT4 => Shape::Int4Array,
            Type::INT8 => Shape::Int8Array,
            Type::TEXT | Type::VARCHAR => Shape::TextArray,
            _ => Shape::Other,
        }
    }

    fn of_simple(ty: &Type) -> Shape {
        match *ty {
            Type::BOOL => Shape::Bool,
            Type::INT2 => Shape::Int2,
            Type::INT4 => Shape::Int4,
            Type::INT8 => Shape::Int8,
            Type::OID => Shape::Oid,
            Type::FLOAT4 => Shape::Float4,
            Type::FLOAT8 => Shape::Float8,
            Type::NUMERIC => Shape::Numeric,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::UNKNOWN => Shape::Text,
            Type::NAME => Shape::Name,
            Type::CHAR => Shape::Char,
            Type::BYTEA => Shape::Bytea,
            Type::UUID => Shape::Uuid,
            Type::JSON => Shape::Json,
            Type::JSONB => Shape::Jsonb,
            Type::DATE => Shape::Date,
            Type::TIME => Shape::Time,
            Type::TIMESTAMP => Shape::Timestamp,
            Type::TIMESTAMPTZ => Shape::Timestamptz,
            Type::VOID => Shape::Void,
            _ => Shape::Other,
        }
    }

    /// Whether a result's column of this shape is asked of the server as text.
    pub(crate) fn comes_as_text(self) -> bool {
        matches!(
            self,
            Shape::Oid | Shape::Int2Array | Shape::Int4Array | Shape::Other
        )
    }
}

/// The type's name as SQL writes it: `bigint` for `int8`, `integer[]` for `_int4`.
pub(crate) fn sql_name(ty: &Type) -> String {
    if let Kind::Array(element) = ty.kind() {
        return format!("{}[]", sql_name(element));
    }
    let name = match *ty {
        Type::BOOL => "boolean",
        Type::INT2 => "smallint",
        Type::INT4 => "integer",
        Type::INT8 => "bigint",
        Type::FLOAT4 => "real",
        Type::FLOAT8 => "double precision",
        Type::BPCHAR => "char",
        Type::CHAR => "\"char\"",
        _ => ty.name(),
    };
    name.to_owned()
}
