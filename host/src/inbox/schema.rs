//! The schema: migrating it, and refusing one that this binary does not know or cannot see.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_postgres::Client;

use super::Inbox;
use super::connection::Connection;
use super::error::{InboxError, chain};
use super::settings::{Settings, Work};
use super::unfit::Unfit;

mod embedded {
    refinery::embed_migrations!("../migrations");
}

const HISTORY: &str = "tidegate.schema_history";

/// Held by whoever migrates. The number means nothing but Tidegate's migrations.
const LOCK: &str = "SET lock_timeout = 0; SELECT pg_catalog.pg_advisory_lock(7166182400921774); SET lock_timeout = ";

/// How long the wait for others that migrate is silent, at first and then.
const SILENT: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(30)];

/// How long others may take to migrate.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Tables of the schema that hide rows from the login: row-level security holds for it, and no policies let it do
/// everything.
const HIDDEN: &str = r#"
SELECT c.relname::text, quote_ident(session_user)
  FROM pg_class c
 WHERE c.relnamespace = to_regnamespace('tidegate')::oid AND c.relkind IN ('r', 'p') AND row_security_active(c.oid)
   AND (EXISTS (SELECT 1 FROM pg_policy p
                 WHERE p.polrelid = c.oid AND NOT p.polpermissive
                   AND (p.polroles = '{0}' OR EXISTS (SELECT 1 FROM unnest(p.polroles) r WHERE pg_has_role(r, 'USAGE'))))
        OR EXISTS (SELECT 1 FROM unnest('{r,a,w,d}'::text[]) AS k (cmd)
                    WHERE NOT EXISTS (
                        SELECT 1 FROM pg_policy p
                         WHERE p.polrelid = c.oid AND p.polpermissive AND p.polcmd::text IN ('*', k.cmd)
                           AND (p.polroles = '{0}'
                                OR EXISTS (SELECT 1 FROM unnest(p.polroles) r WHERE pg_has_role(r, 'USAGE')))
                           AND coalesce(pg_get_expr(p.polqual, p.polrelid), 'true') = 'true'
                           AND coalesce(pg_get_expr(p.polwithcheck, p.polrelid), 'true') = 'true')))
 ORDER BY 1"#;

impl Inbox {
    /// Brings the schema to this binary's version; returns the names of what it applied. Idempotent; hosts that start
    /// at once wait for one another.
    pub async fn migrate(&self) -> Result<Vec<String>, InboxError> {
        match self.check_schema().await {
            // Where there is nothing to do, a login will do that may do nothing.
            Ok(()) => return Ok(Vec::new()),
            // The migrations' own word for a newer schema is that a file is missing; and what cannot be seen is no reason
            // to make it anew.
            Err(error @ (InboxError::Newer { .. } | InboxError::Unfit { .. })) => {
                return Err(error);
            }
            Err(_) => {}
        }
        let mut dialled = Connection::for_migrations(&self.settings).await?;
        apply(&mut dialled.client, &self.settings).await
    }

    /// Refuses a schema that is not there, that hides rows from the login, is older than this binary, or is newer.
    pub async fn check_schema(&self) -> Result<(), InboxError> {
        let place = self.settings.place.clone();
        let exists = self
            .ask(
                "SELECT to_regclass('tidegate.schema_history') IS NOT NULL",
                &[],
            )
            .await?;
        if !exists.first().is_some_and(|row| row.get(0)) {
            return Err(InboxError::NotMigrated(place));
        }
        // First of all: an empty history would look like none.
        self.check_sight().await?;
        let rows = self
            .ask("SELECT max(version) FROM tidegate.schema_history", &[])
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

    /// Errors: row-level security hides rows of the host's own tables from it.
    async fn check_sight(&self) -> Result<(), InboxError> {
        let hidden = self.ask(HIDDEN, &[]).await?;
        let Some(first) = hidden.first() else {
            return Ok(());
        };
        let unfit = Unfit::Hidden {
            login: first.get(1),
            tables: hidden.iter().map(|row| row.get(0)).collect(),
        };
        Err(unfit.at(&self.settings.place))
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

fn failed(settings: &Settings, message: String) -> InboxError {
    InboxError::Migration {
        place: settings.place.clone(),
        message,
    }
}

async fn apply(client: &mut Client, settings: &Arc<Settings>) -> Result<Vec<String>, InboxError> {
    lock(client, settings).await?;
    let schema = create_schema(client).await;
    schema.map_err(|e| failed(settings, chain(&e)))?;
    let mut runner = embedded::migrations::runner();
    runner.set_migration_table_name(HISTORY);
    let report = runner
        .run_async(client)
        .await
        .map_err(|e| failed(settings, chain(&e)))?;
    Ok(report
        .applied_migrations()
        .iter()
        .map(ToString::to_string)
        .collect())
}

/// Waits for others that migrate, and says so. A host whose connection is cut waits no more: the server looks.
async fn lock(client: &Client, settings: &Settings) -> Result<(), InboxError> {
    let lock = format!("{LOCK}{}", settings.terms(Work::Migration).lock.as_millis());
    let mut asked = pin!(client.batch_execute(&lock));
    let (began, [first, then]) = (Instant::now(), SILENT);
    let mut silent = first;
    loop {
        match timeout(silent, &mut asked).await {
            Ok(had) => return had.map_err(|e| failed(settings, chain(&e))),
            Err(_) if began.elapsed() < PATIENCE => {
                silent = then;
                tracing::warn!(place = %settings.place, "another process migrates the schema; waiting for it to end");
            }
            Err(_) => {
                let words = format!(
                    "another process has held the lock of migrations for {} min; SELECT pid FROM pg_locks WHERE locktype = 'advisory' names it",
                    PATIENCE.as_secs() / 60
                );
                return Err(failed(settings, words));
            }
        }
    }
}

/// CREATE SCHEMA asks for the privilege even where the schema exists, so it is looked for first: a database's owner
/// may create it for a role that cannot.
async fn create_schema(client: &Client) -> Result<(), tokio_postgres::Error> {
    let row = client
        .query_one("SELECT pg_catalog.to_regnamespace('tidegate') IS NULL", &[])
        .await?;
    match row.get(0) {
        true => client.batch_execute("CREATE SCHEMA tidegate").await,
        false => Ok(()),
    }
}
