//! What a SQLSTATE says about who is to blame.

mod names;

pub use names::name;

/// The kind of a server error, from its SQLSTATE alone. The verdict weighs it with other facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlClass {
    /// The server or the way to it: unless the connection proves healthy.
    Infrastructure,
    /// Another transaction was in the way.
    Contention,
    /// It may pass: a time-out, a row that another partition has yet to write.
    Transient,
    /// The schema, the rights or the server itself, once a connection with empty caches says so too.
    Stop,
    /// The transaction's own boundaries were touched.
    Escape,
    /// The record's data.
    Permanent,
}

/// The server found a cycle of waits and ended this one.
pub const DEADLOCK: &str = "40P01";

/// Classifies a SQLSTATE. A code that is not listed is the record's: `Permanent`.
pub fn classify(sqlstate: &str) -> SqlClass {
    by_code(sqlstate)
        .or_else(|| sqlstate.get(..2).and_then(by_class))
        .unwrap_or(SqlClass::Permanent)
}

fn by_code(sqlstate: &str) -> Option<SqlClass> {
    Some(match sqlstate {
        // Shutdown, crash, start-up; the database dropped, an idle session ended: the connection ends too.
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" => SqlClass::Infrastructure,
        // Read-only: a standby was promoted elsewhere. The server ended an idle or long transaction.
        "25006" | "25P03" | "25P04" => SqlClass::Infrastructure,
        "40001" | DEADLOCK | "55P03" => SqlClass::Contention,
        // 25P02 follows an error that is the true cause; if it arrives alone, nothing is proven.
        "57014" | "23503" | "25P02" => SqlClass::Transient,
        // A prepared statement that is gone, or whose plan no longer fits, after DDL or behind a pooler.
        "26000" | "0A000" => SqlClass::Stop,
        "2D000" | "25001" | "25P01" => SqlClass::Escape,
        _ => return None,
    })
}

fn by_class(class: &str) -> Option<SqlClass> {
    Some(match class {
        "08" | "53" | "58" => SqlClass::Infrastructure,
        "42" | "28" | "3D" | "3F" | "XX" => SqlClass::Stop,
        _ => return None,
    })
}
