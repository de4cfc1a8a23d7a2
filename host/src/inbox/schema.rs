//! The schema: migrating it, and refusing one that this binary does not know.

use std::sync::Arc;

use tokio_postgres::Client;

use super::Inbox;
use super::connection::Connection;
use super::error::{InboxError, chain};
use super::settings::Settings;

mod embedded {
    refinery::embed_migrations!("../migrations");
}

const HISTORY: &str = "tidegate.schema_history";

/// Held by whoever migrates. The number means nothing but Tidegate's migrations.
const LOCK: &str = "SET search_path = pg_catalog, pg_temp; SET lock_timeout = '60s'; \
    SELECT pg_advisory_lock(7166182400921774)";

impl Inbox {
    /// Brings the schema to this binary's version; returns the names of what it applied. Idempotent; hosts that start
    /// at once wait for one another.
    pub async fn migrate(&self) -> Result<Vec<String>, InboxError> {
        match self.check_schema().await {
            // Where there is nothing to do, a login will do that may do nothing.
            Ok(()) => return Ok(Vec::new()),
            // The migrations' own word for a newer schema is that a file is missing.
            Err(newer @ InboxError::Newer { .. }) => return Err(newer),
            Err(_) => {}
        }
        let mut dialled = Connection::bare(&self.settings).await?;
        apply(&mut dialled.client, &self.settings).await
    }

    /// Refuses a schema that is not there, is older than this binary, or is newer.
    pub async fn check_schema(&self) -> Result<(), InboxError> {
        let place = self.settings.place.clone();
        let exists = self
            .read(
                "SELECT to_regclass('tidegate.schema_history') IS NOT NULL",
                &[],
            )
            .await?;
        if !exists.first().is_some_and(|row| row.get(0)) {
            return Err(InboxError::NotMigrated(place));
        }
        let rows = self
            .read("SELECT max(version) FROM tidegate.schema_history", &[])
            .await?;
        let found = rows
            .first()
            .and_then(|row| row.get::<_, Option<i32>>(0))
            .unwrap_or(0);
        match found {
            found if found < known() => Err(InboxError::NotMigrated(place)),
            found if found > known() => Err(InboxError::Newer {
                place,
                found,
                known: known(),
            }),
            _ => Ok(()),
        }
    }
}

/// The newest version that this binary knows.
fn known() -> i32 {
    let runner = embedded::migrations::runner();
    runner
        .get_migrations()
        .iter()
        .map(refinery::Migration::version)
        .max()
        .unwrap_or(0)
}

async fn apply(client: &mut Client, settings: &Arc<Settings>) -> Result<Vec<String>, InboxError> {
    let failed = |words: String| InboxError::Migration {
        place: settings.place.clone(),
        message: words,
    };
    client
        .batch_execute(LOCK)
        .await
        .map_err(|e| failed(chain(&e)))?;
    create_schema(client).await.map_err(|e| failed(chain(&e)))?;
    let mut runner = embedded::migrations::runner();
    runner.set_migration_table_name(HISTORY);
    let report = runner
        .run_async(client)
        .await
        .map_err(|e| failed(chain(&e)))?;
    Ok(report
        .applied_migrations()
        .iter()
        .map(ToString::to_string)
        .collect())
}

/// CREATE SCHEMA asks for the privilege even where the schema exists, so it is looked for first: a database's owner
/// may create it for a role that cannot.
async fn create_schema(client: &Client) -> Result<(), tokio_postgres::Error> {
    let row = client
        .query_one("SELECT to_regnamespace('tidegate') IS NULL", &[])
        .await?;
    match row.get(0) {
        true => client.batch_execute("CREATE SCHEMA tidegate").await,
        false => Ok(()),
    }
}
