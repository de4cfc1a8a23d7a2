//! Databases that the host cannot work with as they are set up: found before anything is handled, and refused in words
//! with the remedy.

use std::fmt;

use tokio_postgres::{Client, SimpleQueryMessage};

use super::error::InboxError;
use super::pinned::{Told, quoted};

/// The encoding that holds every character.
const ENCODING: &str = "UTF8";

/// The role of a session whose triggers and foreign keys fire as for anybody.
pub(super) const ORIGIN: &str = "origin";

/// What is wrong with a database.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// Its encoding lacks characters that records have.
    #[error(
        "the database's encoding is {encoding}, which cannot hold every record: one with a character that it lacks would stop its partition for ever; create a database with ENCODING 'UTF8' TEMPLATE template0, move what is in this one there (pg_dump, psql), and name it in postgres.url"
    )]
    Encoding {
        /// As the server calls it.
        encoding: String,
    },
    /// Triggers and foreign keys do not fire in its sessions.
    #[error(
        "session_replication_role is \"{value}\", {set_by}, so that triggers and foreign keys do not fire, and {login} may not set it back; as a superuser: {remedy}"
    )]
    ReplicationRole {
        /// The value.
        value: String,
        /// Who has set it.
        set_by: &'static str,
        /// The login.
        login: String,
        /// The statement that puts it right.
        remedy: String,
    },
    /// Row-level security keeps rows of the host's own tables from it.
    #[error(
        "row-level security hides rows of the host's own tables from {login}: {}; for each of them, as its owner: {}",
        .tables.join(", "), remedy(.tables, .login)
    )]
    Hidden {
        /// The login.
        login: String,
        /// The tables, without their schema.
        tables: Vec<String>,
    },
    /// A trigger that the host relies on does not do its work.
    #[error(
        "the trigger {trigger} on tidegate.{table} does not fire, and {without}; as the table's owner: ALTER TABLE tidegate.{table} ENABLE ALWAYS TRIGGER {trigger}"
    )]
    Silent {
        /// The trigger.
        trigger: &'static str,
        /// Its table.
        table: &'static str,
        /// What could happen without it.
        without: &'static str,
    },
    /// A row that the host has just written is not there for it.
    #[error(
        "a row that was just written to tidegate.{table} cannot be seen; look at the triggers, rules and policies of that table, and take away what is not Tidegate's"
    )]
    Unseen {
        /// The table.
        table: &'static str,
    },
}

/// All of a login's statements on one table, by a policy or by none.
fn remedy(tables: &[String], login: &str) -> String {
    let table = tables.first().map(String::as_str).unwrap_or_default();
    format!(
        "ALTER TABLE tidegate.{table} DISABLE ROW LEVEL SECURITY, or CREATE POLICY tidegate_host ON tidegate.{table} TO {login} USING (true) WITH CHECK (true)"
    )
}

impl Unfit {
    /// As the error of the database at `place`.
    pub(super) fn at(self, place: &str) -> InboxError {
        InboxError::Unfit {
            place: place.to_owned(),
            unfit: self,
        }
    }
}

/// Errors: the database is not in UTF-8.
pub(super) fn check_encoding(told: &Told) -> Result<(), Unfit> {
    match told.encoding.as_str() {
        ENCODING => Ok(()),
        other => Err(Unfit::Encoding {
            encoding: other.to_owned(),
        }),
    }
}

/// Where a setting comes from, as `pg_settings` says it, and the database's name.
const SOURCE: &str = "SELECT s.source, pg_catalog.current_database() FROM pg_catalog.pg_settings s \
    WHERE s.name OPERATOR(pg_catalog.=) 'session_replication_role'";

/// Lets triggers fire in a session in which they do not, if the login may. Errors: it may not.
pub(super) async fn fire_triggers<E>(client: &Client, told: &Told) -> Result<(), E>
where
    E: From<Unfit> + From<tokio_postgres::Error>,
{
    let set = "SET session_replication_role = 'origin'";
    match client.batch_execute(set).await {
        Err(error) if error.as_db_error().is_some() => {}
        done => return Ok(done?),
    }
    let asked = client.simple_query(SOURCE).await?;
    let row = asked.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let text = |column| row.and_then(|row| row.get(column)).unwrap_or_default();
    let login = quoted(&told.pinned.login);
    let (set_by, remedy) = source(text(0), &login, &quoted(text(1)));
    Err(Unfit::ReplicationRole {
        value: told.replication_role.clone(),
        set_by,
        login,
        remedy,
    }
    .into())
}

fn source(source: &str, login: &str, database: &str) -> (&'static str, String) {
    let reset = |what: fmt::Arguments<'_>| format!("{what} RESET session_replication_role");
    match source {
        "user" => ("set for the role", reset(format_args!("ALTER ROLE {login}"))),
        "database" => (
            "set for the database",
            reset(format_args!("ALTER DATABASE {database}")),
        ),
        "database user" => (
            "set for the role in this database",
            reset(format_args!("ALTER ROLE {login} IN DATABASE {database}")),
        ),
        _ => (
            "set for the whole server or in the URL",
            "take it out of postgresql.conf (or ALTER SYSTEM RESET session_replication_role), or out of the URL's options"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_for_whoever_has_set_it() {
        for (from, statement) in [
            ("user", "ALTER ROLE \"app\" RESET session_replication_role"),
            (
                "database",
                "ALTER DATABASE \"shop\" RESET session_replication_role",
            ),
            (
                "database user",
                "ALTER ROLE \"app\" IN DATABASE \"shop\" RESET session_replication_role",
            ),
        ] {
            assert_eq!(source(from, "\"app\"", "\"shop\"").1, statement);
        }
        assert!(
            source("configuration file", "a", "b")
                .1
                .contains("postgresql.conf")
        );
    }

    #[test]
    fn hidden_tables_are_all_named_with_a_remedy() {
        let unfit = Unfit::Hidden {
            login: "\"app\"".into(),
            tables: vec!["hosts".into(), "tenants".into()],
        };
        let words = unfit.to_string();
        for part in [
            "hosts, tenants",
            "DISABLE ROW LEVEL SECURITY",
            "TO \"app\" USING (true)",
        ] {
            assert!(words.contains(part), "{words}");
        }
    }
}
