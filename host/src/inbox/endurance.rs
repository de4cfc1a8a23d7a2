//! What of a partition must outlive its host: the record that fails, the record that runs under a mark, and that the
//! partition was given back in good order.
//!
//! None of these touches `begun` and `sealed`, so the seal lets them pass.

use tidegate_core::failure::Failure;
use tidegate_core::progress::{Failing, ProgressKey};
use tidegate_core::text::bounded;
use uuid::Uuid;

use super::value::param::Param;
use super::{Inbox, SqlParam};

const FAILED: &str = "
UPDATE tidegate.progress
   SET failing_offset = $5, failing_attempts = $6, failing_ms = $7,
       failing_since = CASE WHEN failing_offset = $5 AND failing_since IS NOT NULL THEN failing_since ELSE now() END
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner = $4 RETURNING 1";

const MARK: &str = "
UPDATE tidegate.progress
   SET marked_by = owner_host, marked_offset = $5,
       marked_deaths = CASE WHEN marked_offset = $5 THEN marked_deaths ELSE '{}' END
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner = $4 RETURNING 1";

const UNMARK: &str = "
UPDATE tidegate.progress SET marked_by = NULL
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner = $4 RETURNING 1";

/// Whoever took the partition meanwhile took this process for dead.
const ACQUIT: &str = "
UPDATE tidegate.progress
   SET marked_deaths = array_remove(marked_deaths, $4),
       marked_by = CASE WHEN owner_host IS DISTINCT FROM $4 THEN nullif(marked_by, $4) ELSE marked_by END
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3
   AND ($4 = ANY (marked_deaths) OR marked_by = $4) RETURNING 1";

const RELEASE: &str = "
UPDATE tidegate.progress
   SET owner = NULL, owner_host = NULL, marked_by = NULL, committed = coalesce($5, committed), updated_at = now()
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner = $4 RETURNING next_offset";

/// By the process, not by the token: where no position could be taken, none is kept.
const STOPPED: &str = "
UPDATE tidegate.progress SET stopped_for = $5
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner_host = $4 RETURNING 1";

/// The most bytes of the reason why a partition is stopped.
const MAX_REASON: usize = 1000;

impl Inbox {
    /// Writes down why a partition that the process `host` owns is stopped; none: it goes on.
    pub async fn stopped(
        &self,
        key: &ProgressKey,
        host: Uuid,
        why: Option<&str>,
    ) -> Result<(), Failure> {
        let (topic, host) = (key.source.topic.as_ref(), Param::uuid(host));
        let why = why
            .map(|why| bounded(why, MAX_REASON))
            .filter(|why| !why.is_empty());
        let params: [SqlParam<'_>; 5] = [&key.consumer, &topic, &key.source.partition, &host, &why];
        Self::write(&self.service, STOPPED, &params).await.map(drop)
    }

    /// Writes down that a record failed, while the token is ours.
    pub async fn failed(
        &self,
        key: &ProgressKey,
        owner: Uuid,
        failing: Failing,
    ) -> Result<(), Failure> {
        let attempts = i32::try_from(failing.attempts).unwrap_or(i32::MAX);
        let ms = i64::try_from(failing.elapsed.as_millis()).unwrap_or(i64::MAX);
        let (topic, owner) = (key.source.topic.as_ref(), Param::uuid(owner));
        let params: [SqlParam<'_>; 7] = [
            &key.consumer,
            &topic,
            &key.source.partition,
            &owner,
            &failing.offset,
            &attempts,
            &ms,
        ];
        self.write_for(&key.consumer, FAILED, &params)
            .await
            .map(drop)
    }

    /// Announces that the record at `offset` is about to run alone; `false`: the token is not ours.
    pub async fn mark(&self, key: &ProgressKey, owner: Uuid, offset: i64) -> Result<bool, Failure> {
        let (topic, owner) = (key.source.topic.as_ref(), Param::uuid(owner));
        let params: [SqlParam<'_>; 5] = [
            &key.consumer,
            &topic,
            &key.source.partition,
            &owner,
            &offset,
        ];
        let rows = self.write_for(&key.consumer, MARK, &params).await?;
        Ok(!rows.is_empty())
    }

    /// The announced record's attempt has ended, and this process lives.
    pub async fn unmark(&self, key: &ProgressKey, owner: Uuid) -> Result<(), Failure> {
        let (topic, owner) = (key.source.topic.as_ref(), Param::uuid(owner));
        let params: [SqlParam<'_>; 4] = [&key.consumer, &topic, &key.source.partition, &owner];
        self.write_for(&key.consumer, UNMARK, &params)
            .await
            .map(drop)
    }

    /// The process `host` has lost a partition and lives: no record took it down there.
    pub async fn acquit(&self, key: &ProgressKey, host: Uuid) -> Result<(), Failure> {
        let (topic, host) = (key.source.topic.as_ref(), Param::uuid(host));
        let params: [SqlParam<'_>; 4] = [&key.consumer, &topic, &key.source.partition, &host];
        Self::write(&self.service, ACQUIT, &params).await.map(drop)
    }

    /// Gives the token back in good order, and writes C down where one is given. Answers N; none if the token was
    /// not ours any more.
    pub async fn release(
        &self,
        key: &ProgressKey,
        owner: Uuid,
        committed: Option<i64>,
    ) -> Result<Option<i64>, Failure> {
        let (topic, owner) = (key.source.topic.as_ref(), Param::uuid(owner));
        let params: [SqlParam<'_>; 5] = [
            &key.consumer,
            &topic,
            &key.source.partition,
            &owner,
            &committed,
        ];
        let rows = self.write_for(&key.consumer, RELEASE, &params).await?;
        Ok(rows.first().map(|row| row.get(0)))
    }
}
