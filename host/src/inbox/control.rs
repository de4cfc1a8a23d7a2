//! A consumer's state and its hosts: what the fleet agrees on, and who is there.

use std::time::Duration;

use tidegate_core::control::{Braked, Control, Digest, State};
use tidegate_core::failure::Failure;
use tidegate_core::text::bounded;
use tokio_postgres::Row;
use uuid::Uuid;

use super::value::param::Param;
use super::{Inbox, SqlParam};

/// A host that has not been seen for so long counts as gone.
pub const ALIVE: Duration = Duration::from_secs(10);

/// The most bytes of a reason.
const REASON_BYTES: usize = 1024;

const CONTROL: &str = "
SELECT state, reason, episode, module_digest, braked_modules FROM tidegate.consumers WHERE consumer_name = $1";

const CONTROLS: &str = "
SELECT state, reason, episode, module_digest, braked_modules, consumer_name, changed_at::text
  FROM tidegate.consumers ORDER BY consumer_name";

const BEAT: &str = "
INSERT INTO tidegate.hosts AS h (consumer_name, host, label, module_digest) VALUES ($1, $2, $3, $4)
ON CONFLICT (consumer_name, host) DO UPDATE SET seen_at = now(), module_digest = excluded.module_digest
RETURNING 1";

const LEAVE: &str = "
DELETE FROM tidegate.hosts WHERE consumer_name = $1 AND (host = $2 OR seen_at < now() - interval '1 day') RETURNING 1";

const HOSTS: &str = "
SELECT consumer_name, label, module_digest, started_at::text, seen_at::text
  FROM tidegate.hosts
 WHERE ($1::text IS NULL OR consumer_name = $1) AND seen_at > now() - $2::bigint * interval '1 millisecond'
 ORDER BY consumer_name, label";

const PAUSE: &str = "
INSERT INTO tidegate.consumers AS c (consumer_name, state, reason) VALUES ($1, 'paused', $2)
ON CONFLICT (consumer_name) DO UPDATE SET state = 'paused', reason = excluded.reason, changed_at = now()
 WHERE c.state <> 'paused' RETURNING 1";

const RESUME: &str = "
UPDATE tidegate.consumers SET state = 'running', reason = NULL, braked_modules = '{}', changed_at = now()
 WHERE consumer_name = $1 AND state <> 'running' RETURNING 1";

/// A pause stands above a brake: who paused decides when it ends. A second module that trips it joins the first.
const BRAKE: &str = "
WITH braked AS (
    INSERT INTO tidegate.consumers AS c (consumer_name, state, reason, episode, module_digest)
    VALUES ($1, 'braked', $2, 1, $3)
    ON CONFLICT (consumer_name) DO UPDATE
       SET state = 'braked', reason = excluded.reason, episode = c.episode + 1, module_digest = excluded.module_digest,
           braked_modules = CASE c.state WHEN 'braked' THEN (c.module_digest || c.braked_modules)[:31] ELSE '{}' END,
           changed_at = now()
     WHERE c.state = 'running'
        OR (c.state = 'braked' AND c.module_digest <> excluded.module_digest
            AND excluded.module_digest <> ALL (c.braked_modules))
    RETURNING episode),
named AS (
    UPDATE tidegate.dead_letters d SET episode = b.episode FROM braked b
     WHERE d.consumer_name = $1 AND d.status = 'open' AND d.episode IS NULL AND d.module_digest = $3
       AND d.created_at > now() - $4::bigint * interval '1 millisecond')
SELECT episode FROM braked";

/// Not while another host that is there runs a module that tripped it.
const LIFT: &str = "
UPDATE tidegate.consumers c SET state = 'running', reason = NULL, braked_modules = '{}', changed_at = now()
 WHERE c.consumer_name = $1 AND c.state = 'braked' AND c.module_digest <> $2 AND $2 <> ALL (c.braked_modules)
   AND NOT EXISTS (
       SELECT 1 FROM tidegate.hosts h
        WHERE h.consumer_name = $1 AND h.host <> $3 AND h.seen_at > now() - $4::bigint * interval '1 millisecond'
          AND (h.module_digest = c.module_digest OR h.module_digest = ANY (c.braked_modules)))
RETURNING 1";

/// A consumer's state, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerRow {
    /// Its name.
    pub name: String,
    /// Its state.
    pub control: Control,
    /// Since when, in UTC.
    pub changed_at: String,
}

/// A host that runs a consumer, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRow {
    /// The consumer's name.
    pub consumer: String,
    /// Machine and process.
    pub label: String,
    /// Its module.
    pub module: Option<Digest>,
    /// When it started, in UTC.
    pub started_at: String,
    /// When it was last seen, in UTC.
    pub seen_at: String,
}

impl Inbox {
    /// A consumer's state; one that nobody ever held back runs.
    pub async fn control(&self, consumer: &str) -> Result<Control, Failure> {
        let rows = self.read(CONTROL, &[&consumer]).await?;
        Ok(rows.first().map(control).unwrap_or_default())
    }

    /// The states of all consumers that were ever held back.
    pub async fn controls(&self) -> Result<Vec<ConsumerRow>, Failure> {
        let rows = self.read(CONTROLS, &[]).await?;
        let row = |row: &Row| ConsumerRow {
            name: row.get(5),
            control: control(row),
            changed_at: row.get(6),
        };
        Ok(rows.iter().map(row).collect())
    }

    /// Says that `host` runs the consumer with a module.
    pub async fn beat(
        &self,
        consumer: &str,
        (host, label): (Uuid, &str),
        digest: &Digest,
    ) -> Result<(), Failure> {
        let (host, digest) = (Param::uuid(host), digest.as_slice());
        let params: [SqlParam<'_>; 4] = [&consumer, &host, &label, &digest];
        Self::write(&self.service, BEAT, &params).await.map(drop)
    }

    /// Says that `host` runs the consumer no more. Hosts that died long ago go with it.
    pub async fn leave(&self, consumer: &str, host: Uuid) -> Result<(), Failure> {
        let host = Param::uuid(host);
        Self::write(&self.service, LEAVE, &[&consumer, &host])
            .await
            .map(drop)
    }

    /// The hosts seen within [`ALIVE`], of one consumer or of all. One that was killed is listed until then.
    pub async fn live_hosts(&self, consumer: Option<&str>) -> Result<Vec<HostRow>, Failure> {
        let alive = alive_ms();
        let rows = self.read(HOSTS, &[&consumer, &alive]).await?;
        Ok(rows.iter().map(host_row).collect())
    }

    /// Holds a running or braked consumer back until it is resumed, whatever module is activated; `false` if it is paused
    /// already.
    pub async fn pause(&self, consumer: &str, reason: &str) -> Result<bool, Failure> {
        let reason = bounded(reason, REASON_BYTES);
        let rows = Self::write(&self.service, PAUSE, &[&consumer, &reason]).await?;
        Ok(!rows.is_empty())
    }

    /// Lets a consumer run again; `false` if it ran.
    pub async fn resume(&self, consumer: &str) -> Result<bool, Failure> {
        let rows = Self::write(&self.service, RESUME, &[&consumer]).await?;
        Ok(!rows.is_empty())
    }

    /// Brakes a running consumer for what `digest` did, and names the new episode on the letters that this module has
    /// led to within `window`; none if it was held back already.
    pub async fn brake(
        &self,
        consumer: &str,
        reason: &str,
        digest: &Digest,
        window: Duration,
    ) -> Result<Option<i32>, Failure> {
        let (reason, digest) = (bounded(reason, REASON_BYTES), digest.as_slice());
        let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
        let params: [SqlParam<'_>; 4] = [&consumer, &reason, &digest, &window];
        let rows = Self::write(&self.service, BRAKE, &params).await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    /// Lifts a brake that other modules than `digest` tripped, which `host` runs; whether it was there and no other host
    /// runs one of those.
    pub async fn lift(&self, consumer: &str, host: Uuid, digest: &Digest) -> Result<bool, Failure> {
        let (digest, host, alive) = (digest.as_slice(), Param::uuid(host), alive_ms());
        let params: [SqlParam<'_>; 4] = [&consumer, &digest, &host, &alive];
        let rows = Self::write(&self.service, LIFT, &params).await?;
        Ok(!rows.is_empty())
    }
}

pub(super) fn control(row: &Row) -> Control {
    Control {
        state: State::read(row.get(0)),
        reason: row.get(1),
        episode: row.get(2),
        braked: braked(row, 3),
    }
}

/// The latest module that tripped a brake, and those before it, from two columns that stand together.
pub(super) fn braked(row: &Row, at: usize) -> Braked {
    let latest = row.get::<_, Option<&[u8]>>(at);
    let before = row.get::<_, Vec<&[u8]>>(at + 1);
    let all = latest.into_iter().chain(before);
    Braked(all.filter_map(|digest| digest.try_into().ok()).collect())
}

fn alive_ms() -> i64 {
    i64::try_from(ALIVE.as_millis()).unwrap_or(i64::MAX)
}

fn host_row(row: &Row) -> HostRow {
    HostRow {
        consumer: row.get(0),
        label: row.get(1),
        module: row
            .get::<_, Option<&[u8]>>(2)
            .and_then(|digest| digest.try_into().ok()),
        started_at: row.get(3),
        seen_at: row.get(4),
    }
}
