//! What `check` asks of the database before anything runs: version, room for connections, collation.

use tokio_postgres::Row;

use super::{Inbox, InboxError, SERVICE_CONNECTIONS};

/// How many connections a server leaves to this host's role and database, and what else is to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preflight {
    /// Host, port and database.
    pub place: String,
    /// The server's version.
    pub server_version: String,
    /// Connections that this role may have here at most.
    pub connection_limit: i64,
    /// What sets that limit.
    pub limited_by: String,
    /// Connections that others have now.
    pub in_use: i64,
    /// Connections that this process opens at most.
    pub needed: i64,
    /// The version of the C library or ICU that the database's text was sorted with, and today's, where they
    /// differ: indexes over text with the database's own collation may be broken.
    pub collation_changed: Option<(String, String)>,
}

const LIMITS: &str = r#"
SELECT current_setting('server_version'), current_setting('server_version_num')::bigint,
       current_setting('max_connections')::bigint
           - CASE WHEN r.rolsuper THEN 0 ELSE current_setting('superuser_reserved_connections')::bigint END,
       nullif(r.rolconnlimit, -1)::bigint, nullif(d.datconnlimit, -1)::bigint,
       (SELECT coalesce(sum(numbackends), 0) FROM pg_catalog.pg_stat_database)::bigint
  FROM pg_catalog.pg_roles r, pg_catalog.pg_database d
 WHERE r.rolname = current_user AND d.datname = current_database()"#;

const COLLATION: &str = "
SELECT datcollversion, pg_catalog.pg_database_collation_actual_version(oid)
  FROM pg_catalog.pg_database WHERE datname = current_database()";

/// The first version whose databases know their collation's version.
const KNOWS_COLLATION: i64 = 150_000;

impl Inbox {
    /// Asks the server. Errors: it cannot be reached, or refuses.
    pub async fn preflight(&self) -> Result<Preflight, InboxError> {
        let rows = self.ask(LIMITS, &[]).await?;
        let Some(row) = rows.first() else {
            return Err(InboxError::Unreachable(
                "it does not know its own role".into(),
            ));
        };
        let (connection_limit, limited_by) = limit(row);
        let collation = match row.get::<_, i64>(1) {
            KNOWS_COLLATION.. => self.ask(COLLATION, &[]).await?,
            _ => Vec::new(),
        };
        let batches = i64::try_from(self.batches.max_size()).unwrap_or(i64::MAX);
        let service = i64::try_from(SERVICE_CONNECTIONS).unwrap_or(i64::MAX);
        Ok(Preflight {
            place: self.settings.place.clone(),
            server_version: row.get(0),
            connection_limit,
            limited_by,
            // This question's own connection is one of them.
            in_use: row.get::<_, i64>(5) - 1,
            needed: batches.saturating_add(service),
            collation_changed: collation.first().and_then(changed),
        })
    }
}

/// The smallest of the server's, the role's and the database's limits, with its name.
fn limit(row: &Row) -> (i64, String) {
    let limits = [
        (Some(row.get::<_, i64>(2)), "max_connections of the server"),
        (row.get(3), "the role's CONNECTION LIMIT"),
        (row.get(4), "the database's CONNECTION LIMIT"),
    ];
    let known = limits
        .into_iter()
        .filter_map(|(limit, name)| Some((limit?, name)));
    let (limit, name) = known.min().unwrap_or_default();
    (limit, name.to_owned())
}

fn changed(row: &Row) -> Option<(String, String)> {
    let (then, now) = (
        row.get::<_, Option<String>>(0)?,
        row.get::<_, Option<String>>(1)?,
    );
    (then != now).then_some((then, now))
}
