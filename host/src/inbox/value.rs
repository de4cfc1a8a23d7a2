//! Values between guests and PostgreSQL: exact in both directions, or an error.

pub(crate) mod array;
pub(crate) mod from_sql;
pub(crate) mod numeric;
pub(crate) mod param;
pub(crate) mod shape;
pub(crate) mod syntax;
pub(crate) mod time;
pub(crate) mod to_sql;
