//! What a SQLSTATE says about who is to blame, and whose word it takes to believe it.

mod files;
mod names;
mod origin;

pub use names::name;
pub use origin::{Origin, Speaker};

/// The kind of a server error. The verdict weighs it with other facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlClass {
    /// The server or the way to it, by the server's own word.
    Infrastructure,
    /// The same, by a word that anybody can say: a connection that proves healthy refutes it.
    Doubtful,
    /// Another transaction was in the way.
    Contention,
    /// It may pass: a time-out, a row that another partition has yet to write.
    Transient,
    /// The schema, the rights or the server itself, once a connection with empty caches says so too; unless other records
    /// do not meet it.
    Stop,
    /// What is stored is damaged: others not meeting it proves nothing.
    Damage,
    /// The transaction's own boundaries were touched.
    Escape,
    /// The record's data.
    Permanent,
}

/// The server found a cycle of waits and ended this one.
pub const DEADLOCK: &str = "40P01";

/// Files that open what a statement names: a file that is not there is then the statement's fault.
const OPEN_WHAT_IS_NAMED: [&str; 6] = [
    "be-fsstubs.c",
    "copy.c",
    "copyfrom.c",
    "copyfromparse.c",
    "copyto.c",
    "genfile.c",
];

/// Files that hand out what every transaction needs: when that is used up, no record is to blame.
const HAND_OUT_IDS: [&str; 2] = ["varsup.c", "multixact.c"];

/// Judges a server error by its code, and by whose word that code is. The one table:
///
/// | the code means | believed | else |
/// |---|---|---|
/// | infrastructure | of the server itself, but for files that a statement names | `Doubtful` |
/// | contention | of the server, or of nobody named | `Transient` |
/// | a stop, damage | of the server, a library or nobody named | `Permanent`, where RAISE said it |
/// | an escape | of the server, or of nobody named | `Permanent` |
/// | the rest | of anybody | |
pub fn judge(sqlstate: &str, origin: &Origin) -> SqlClass {
    use SqlClass as Class;
    let (meant, speaker) = (meaning(sqlstate), origin.speaker());
    match (meant, speaker) {
        (Class::Permanent, Speaker::Server)
            if sqlstate == "54000" && origin.is_one_of(&HAND_OUT_IDS) =>
        {
            Class::Infrastructure
        }
        (Class::Infrastructure, Speaker::Server) => match sqlstate.starts_with("58") {
            true if origin.is_one_of(&OPEN_WHAT_IS_NAMED) => Class::Doubtful,
            _ => Class::Infrastructure,
        },
        (Class::Infrastructure, _) => Class::Doubtful,
        (Class::Contention, Speaker::Raise | Speaker::Library) => Class::Transient,
        (Class::Stop | Class::Damage, Speaker::Raise) => Class::Permanent,
        (Class::Damage, Speaker::Library) => Class::Stop,
        (Class::Escape, _) if !origin.is_believed() => Class::Permanent,
        (class, _) => class,
    }
}

/// What the server itself means by a code. One that is not listed is the record's: `Permanent`.
fn meaning(sqlstate: &str) -> SqlClass {
    by_code(sqlstate)
        .or_else(|| sqlstate.get(..2).and_then(by_class))
        .unwrap_or(SqlClass::Permanent)
}

fn by_code(sqlstate: &str) -> Option<SqlClass> {
    Some(match sqlstate {
        // A message or a statement that the server cannot take, however well it is.
        "08P01" | "53400" => SqlClass::Doubtful,
        // Shutdown, crash, start-up; the database dropped, an idle session ended: the connection ends too.
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" => SqlClass::Infrastructure,
        // A session that may not write, as on a standby, or that was ended. No batch begins there; a function may have done it.
        "25006" | "25P03" | "25P04" => SqlClass::Doubtful,
        "40001" | DEADLOCK | "55P03" => SqlClass::Contention,
        // 25P02 follows an error that is the true cause; if it arrives alone, nothing is proven.
        "57014" | "23503" | "25P02" => SqlClass::Transient,
        // A prepared statement that is gone, or whose plan no longer fits, after DDL or behind a pooler.
        "26000" | "0A000" => SqlClass::Stop,
        "XX001" | "XX002" => SqlClass::Damage,
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

#[cfg(test)]
mod tests;
