//! What a session is pinned to, and the statement that proves it still is: whose rights hold, what names mean, how
//! values read.
//!
//! The host's own statements run as the login, and their names mean the server's own objects and nothing else; a guest's
//! run under its role, if it has one, with the names of `postgres.search_path`. A guest's stay ends with the proof: it
//! divides by zero where anything is not as the host set it, and so keeps all that comes behind it from running.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::SimpleQueryMessage;

use super::baseline;
use super::value::param::Param;

/// The name by which the server knows the proof.
pub(crate) const PROOF: &str = "tidegate_proof";

/// What the host's own statements are resolved by. Unnamed, the schema of temporary objects would come first.
pub(crate) const HOST_PATH: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

/// What the server said when the session was set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pinned {
    /// The login.
    pub(crate) login: Arc<str>,
    /// The search path of guests, as the server prints it.
    path: String,
    /// The values of what is proved.
    settings: String,
}

/// What the server said of itself when the session was set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) pinned: Pinned,
    /// Whether triggers fire as for any writer: `origin`.
    pub(crate) replication_role: String,
    /// The encoding of the database.
    pub(crate) encoding: String,
}

impl Told {
    /// Reads the answer to [`session`].
    pub(crate) fn read(told: &[SimpleQueryMessage]) -> Option<Self> {
        let row = told.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        })?;
        let text = |column| Some(row.get(column)?.to_owned());
        Some(Self {
            pinned: Pinned {
                login: text(0)?.into(),
                path: text(1)?,
                settings: text(2)?,
            },
            encoding: text(3)?,
            replication_role: text(4)?,
        })
    }
}

impl Pinned {
    /// The proof's parameters: for a stay under `role`, or the login's own, in a transaction that waits for locks this
    /// long.
    pub(crate) fn proof(&self, role: Option<&str>, lock_wait: Duration) -> [Param; 5] {
        [
            Param::text(role.unwrap_or(&self.login)),
            Param::text(&*self.login),
            Param::text(self.path.as_str()),
            Param::text(format!("{} ms", lock_wait.as_millis())),
            Param::text(self.settings.as_str()),
        ]
    }
}

/// What pins a session's role and search path, and prepares the proof. It answers one row, which [`Told`] reads, and
/// ends with the host's own path.
pub(crate) fn session(search_path: &[String], version: u32) -> String {
    let (path, values) = (path(search_path), values(version));
    let setting = |name: &str| format!("pg_catalog.current_setting('{name}')");
    let (guests, encoding) = (setting("search_path"), setting("server_encoding"));
    let replication = setting("session_replication_role");
    format!(
        "SET ROLE NONE; SET search_path = {path}; {}; \
         SELECT session_user, {guests}, {values}, {encoding}, {replication}; SET search_path = pg_catalog, pg_temp;",
        proof(&values)
    )
}

/// The command that gives a guest its search path.
pub(crate) fn guest_path(search_path: &[String]) -> String {
    format!("SET LOCAL search_path = {}", path(search_path))
}

fn path(search_path: &[String]) -> String {
    let schemas = search_path.iter().map(|schema| quoted(schema));
    let all: Vec<String> = schemas.chain(["pg_temp".to_owned()]).collect();
    all.join(", ")
}

/// Everything is named in full: the proof runs where a guest may have changed what names mean.
fn proof(values: &str) -> String {
    let equals = "OPERATOR(pg_catalog.=)";
    let setting = |name: &str| format!("pg_catalog.current_setting('{name}')");
    let (path, wait) = (setting("search_path"), setting("lock_timeout"));
    let (read_only, isolation) = (
        setting("transaction_read_only"),
        setting("transaction_isolation"),
    );
    let text = "pg_catalog.text";
    format!(
        "PREPARE {PROOF} ({text}, {text}, {text}, {text}, {text}) AS SELECT 1 OPERATOR(pg_catalog./) CASE WHEN \
         current_user::{text} {equals} $1 AND session_user::{text} {equals} $2 AND {path} {equals} $3 \
         AND {wait}::pg_catalog.interval {equals} $4::pg_catalog.interval \
         AND {read_only} {equals} 'off'::{text} AND {isolation} {equals} 'read committed'::{text} \
         AND {values} {equals} $5 THEN 1 ELSE 0 END"
    )
}

fn values(version: u32) -> String {
    let values = baseline::proved(version);
    let values = values.map(|name| format!("pg_catalog.current_setting('{name}')"));
    let values: Vec<String> = values.collect();
    format!("pg_catalog.concat_ws('|', {})", values.join(", "))
}

/// A name as SQL reads it, whatever it consists of.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_temporary_objects_last_and_names_whole() {
        let schemas = ["app".to_owned(), "Odd \" name".to_owned()];
        assert_eq!(path(&schemas), "\"app\", \"Odd \"\" name\", pg_temp");
    }
}
