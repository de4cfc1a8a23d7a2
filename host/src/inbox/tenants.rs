//! Tenants as the fleet knows them: those that commands defined, and which may run.

use std::time::Duration;

use tidegate_core::control::Braked;
use tidegate_core::failure::Failure;
use tidegate_core::tenant::TenantName;
use tidegate_core::text::bounded;
use tokio_postgres::Row;

use super::control::braked;
use super::{Inbox, SqlParam};

/// The most bytes of a reason.
const REASON_BYTES: usize = 1024;

/// The revision and the rows of one moment.
const ALL: &str = "
SELECT r.revision, t.tenant, t.definition, t.state, t.reason, t.episode, t.module_digest, t.braked_modules, t.changed_at::text
  FROM (SELECT coalesce((SELECT c.tenants_revision FROM tidegate.consumers c WHERE c.consumer_name = $1), 0) AS revision) r
  LEFT JOIN tidegate.tenants t ON t.consumer_name = $1
 ORDER BY t.tenant";

const REVISION: &str = "SELECT tenants_revision FROM tidegate.consumers WHERE consumer_name = $1";

const DEFINE: &str = "
INSERT INTO tidegate.tenants AS t (consumer_name, tenant, definition) VALUES ($1, $2, $3)
ON CONFLICT (consumer_name, tenant) DO UPDATE SET definition = excluded.definition, changed_at = now()
RETURNING (xmax = 0)";

const REMOVE: &str = "
DELETE FROM tidegate.tenants WHERE consumer_name = $1 AND tenant = $2 AND definition IS NOT NULL RETURNING 1";

const DISABLE: &str = "
INSERT INTO tidegate.tenants AS t (consumer_name, tenant, state, reason) VALUES ($1, $2, 'disabled', $3)
ON CONFLICT (consumer_name, tenant) DO UPDATE SET state = 'disabled', reason = excluded.reason, changed_at = now()
 WHERE t.state <> 'disabled' RETURNING 1";

const ENABLE: &str = "
UPDATE tidegate.tenants SET state = 'running', reason = NULL, braked_modules = '{}', changed_at = now()
 WHERE consumer_name = $1 AND tenant = $2 AND state <> 'running' RETURNING 1";

/// That an operator disabled it stands above a brake. A second module that trips it joins the first.
const BRAKE: &str = "
WITH braked AS (
    INSERT INTO tidegate.tenants AS t (consumer_name, tenant, state, reason, episode, module_digest)
    VALUES ($1, $2, 'braked', $3, 1, $4)
    ON CONFLICT (consumer_name, tenant) DO UPDATE
       SET state = 'braked', reason = excluded.reason, episode = t.episode + 1, module_digest = excluded.module_digest,
           braked_modules = CASE t.state WHEN 'braked' THEN (t.module_digest || t.braked_modules)[:31] ELSE '{}' END,
           changed_at = now()
     WHERE t.state = 'running'
        OR (t.state = 'braked' AND t.module_digest <> excluded.module_digest
            AND excluded.module_digest <> ALL (t.braked_modules))
    RETURNING episode),
named AS (
    UPDATE tidegate.dead_letters d SET episode = b.episode FROM braked b
     WHERE d.consumer_name = $1 AND d.tenant = $2 AND d.status = 'open' AND d.episode IS NULL AND d.module_digest = $4
       AND d.created_at > now() - $5::bigint * interval '1 millisecond')
SELECT episode FROM braked";

const LIFT: &str = "
UPDATE tidegate.tenants SET state = 'running', reason = NULL, braked_modules = '{}', changed_at = now()
 WHERE consumer_name = $1 AND tenant = $2 AND state = 'braked' AND module_digest <> $3 AND $3 <> ALL (braked_modules)
RETURNING 1";

/// What a tenant is allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantState {
    /// Its records are handled.
    Running,
    /// An operator has disabled it.
    Disabled,
    /// It is braked.
    Braked,
}

impl TenantState {
    /// The word in the table, in listings and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            TenantState::Running => "running",
            TenantState::Disabled => "disabled",
            TenantState::Braked => "braked",
        }
    }

    /// An unknown word, of a newer version, holds the tenant back.
    fn read(word: &str) -> Self {
        match word {
            "running" => TenantState::Running,
            "braked" => TenantState::Braked,
            _ => TenantState::Disabled,
        }
    }
}

/// A tenant's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantRow {
    /// Its name.
    pub name: TenantName,
    /// As TOML; none where the configuration file defines it.
    pub definition: Option<String>,
    /// What it may do.
    pub state: TenantState,
    /// Why it may not run.
    pub reason: Option<String>,
    /// Brakes so far.
    pub episode: i32,
    /// The modules that tripped its brake; of meaning while it is on.
    pub braked: Braked,
    /// When the row changed last, in UTC.
    pub changed_at: String,
}

impl Inbox {
    /// A consumer's tenants and their revision, which every batch's fence compares.
    pub async fn tenants(&self, consumer: &str) -> Result<(i64, Vec<TenantRow>), Failure> {
        let rows = self.read(ALL, &[&consumer]).await?;
        let revision = rows.first().map_or(0, |row| row.get(0));
        Ok((revision, rows.iter().filter_map(tenant).collect()))
    }

    /// The revision alone; 0 where there never was a tenant.
    pub async fn tenants_revision(&self, consumer: &str) -> Result<i64, Failure> {
        let rows = self.read(REVISION, &[&consumer]).await?;
        Ok(rows.first().map_or(0, |row| row.get(0)))
    }

    /// Defines a tenant, or defines it anew; whether it is new.
    pub async fn define_tenant(
        &self,
        consumer: &str,
        tenant: &TenantName,
        definition: &str,
    ) -> Result<bool, Failure> {
        let params: [SqlParam<'_>; 3] = [&consumer, &tenant.as_str(), &definition];
        let rows = Self::write(&self.service, DEFINE, &params).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    /// Forgets a tenant that a command defined; whether there was one.
    pub async fn remove_tenant(
        &self,
        consumer: &str,
        tenant: &TenantName,
    ) -> Result<bool, Failure> {
        self.on_tenant(REMOVE, consumer, tenant).await
    }

    /// Disables a tenant from the next batches on; whether it was not yet.
    pub async fn disable_tenant(
        &self,
        consumer: &str,
        tenant: &TenantName,
        reason: &str,
    ) -> Result<bool, Failure> {
        let reason = bounded(reason, REASON_BYTES);
        let params: [SqlParam<'_>; 3] = [&consumer, &tenant.as_str(), &reason];
        let rows = Self::write(&self.service, DISABLE, &params).await?;
        Ok(!rows.is_empty())
    }

    /// Lets a disabled or braked tenant run again; whether it did not.
    pub async fn enable_tenant(
        &self,
        consumer: &str,
        tenant: &TenantName,
    ) -> Result<bool, Failure> {
        self.on_tenant(ENABLE, consumer, tenant).await
    }

    /// Brakes a running tenant for what `digest` did, and names the new episode on the letters that this module has led to
    /// within `window`; none if it was held back already.
    pub async fn brake_tenant(
        &self,
        (consumer, tenant): (&str, &TenantName),
        reason: &str,
        digest: Option<[u8; 32]>,
        window: Duration,
    ) -> Result<Option<i32>, Failure> {
        let reason = bounded(reason, REASON_BYTES);
        let digest = digest.as_ref().map(<[u8; 32]>::as_slice);
        let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
        let params: [SqlParam<'_>; 5] = [&consumer, &tenant.as_str(), &reason, &digest, &window];
        let rows = Self::write(&self.service, BRAKE, &params).await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    /// Lifts a tenant's brake that another module than `digest` tripped; whether it was there.
    pub async fn lift_tenant(
        &self,
        consumer: &str,
        tenant: &TenantName,
        digest: &[u8; 32],
    ) -> Result<bool, Failure> {
        let digest = digest.as_slice();
        let params: [SqlParam<'_>; 3] = [&consumer, &tenant.as_str(), &digest];
        let rows = Self::write(&self.service, LIFT, &params).await?;
        Ok(!rows.is_empty())
    }

    async fn on_tenant(
        &self,
        sql: &'static str,
        consumer: &str,
        tenant: &TenantName,
    ) -> Result<bool, Failure> {
        let params: [SqlParam<'_>; 2] = [&consumer, &tenant.as_str()];
        let rows = Self::write(&self.service, sql, &params).await?;
        Ok(!rows.is_empty())
    }
}

/// The row that stands for the revision alone is no tenant.
fn tenant(row: &Row) -> Option<TenantRow> {
    let name = row.get::<_, Option<&str>>(1)?;
    Some(TenantRow {
        name: TenantName::new(name)?,
        definition: row.get(2),
        state: TenantState::read(row.get(3)),
        reason: row.get(4),
        episode: row.get(5),
        braked: braked(row, 6),
        changed_at: row.get(8),
    })
}
