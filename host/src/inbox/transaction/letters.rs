//! Writing dead letters, and closing those that are superseded, in the batch's transaction.

use std::sync::Arc;

use tidegate_core::claim::EventId;
use tidegate_core::letter::{Cause, Letter};
use tidegate_core::record::Timestamp;
use tidegate_core::text::bounded;
use tokio_postgres::{Client, Statement};

use super::finish::Counted;
use crate::inbox::connection::send;

/// Writes a letter. One of the same id that was closed is opened again (its record was rejected again); one that is
/// open stands as it is, and so does another open letter of the position.
pub(super) const WRITE: &str = r#"
WITH again AS (
    UPDATE tidegate.dead_letters SET status = 'open', closed_at = NULL, published_at = NULL, unpublishable = NULL, refusal = NULL,
           created_at = now(),
           code = $14, message = $15, sqlstate = $16, attempts = $17, module_digest = $18, tenant = $21, kind = $22
     WHERE id = $1 AND status <> 'open')
INSERT INTO tidegate.dead_letters (id, consumer_name, cluster_id, topic, partition, "offset", scope, event_id, key,
    value, header_names, header_values, timestamp_ms, code, message, sqlstate, attempts, module_digest,
    timestamp_type, log_epoch, tenant, kind)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
ON CONFLICT DO NOTHING"#;

/// Closes the open letters of events that this batch handled after all.
pub(super) const SUPERSEDE: &str = "
UPDATE tidegate.dead_letters d SET status = 'superseded', closed_at = now()
  FROM unnest($2::text[], $3::text[]) AS s (scope, event_id)
 WHERE d.consumer_name = $1 AND d.scope = s.scope AND d.event_id = s.event_id AND d.status = 'open'";

/// The most bytes of a cause's code and message.
const CODE_BYTES: usize = 128;
const MESSAGE_BYTES: usize = 4096;

/// Text that PostgreSQL can hold, and not too much of it: a guest's words come from outside.
fn clean(text: &str, bytes: usize) -> String {
    bounded(&text.replace('\0', "\u{fffd}"), bytes)
}

/// A cause's code, message and SQLSTATE as they are stored.
pub(super) fn stored(cause: &Cause) -> (String, String, Option<&str>) {
    let code = match clean(&cause.code, CODE_BYTES) {
        empty if empty.is_empty() => "rejected".to_owned(),
        code => code,
    };
    let sqlstate = cause.sqlstate.as_deref().filter(|s| s.len() == 5);
    (code, clean(&cause.text(), MESSAGE_BYTES), sqlstate)
}

fn stamp(timestamp: Timestamp) -> &'static str {
    match timestamp {
        Timestamp::Unknown => "none",
        Timestamp::Created(_) => "create",
        Timestamp::Appended(_) => "append",
    }
}

/// What all letters of a batch share.
pub(super) struct Shared {
    pub(super) client: Arc<Client>,
    pub(super) consumer: String,
    pub(super) cluster_id: String,
    pub(super) log_epoch: i32,
}

/// Sends the statement that writes one letter.
pub(super) fn send_letter(
    shared: &Arc<Shared>,
    statement: Statement,
    id: String,
    letter: Letter,
) -> Counted {
    let shared = Arc::clone(shared);
    send(async move {
        let Letter {
            record,
            scope,
            event_id,
            tenant,
            module_digest,
            cause,
        } = letter;
        let digest = module_digest.as_ref().map(<[u8; 32]>::as_slice);
        let (code, message, sqlstate) = stored(&cause);
        let names = record
            .headers
            .iter()
            .map(|h| h.name.as_bytes())
            .collect::<Vec<_>>();
        let values = record
            .headers
            .iter()
            .map(|h| h.value.as_deref())
            .collect::<Vec<_>>();
        let (topic, key, value) = (
            record.source.topic.as_ref(),
            record.key.as_deref(),
            record.value.as_deref(),
        );
        let attempts = i64::from(cause.attempts);
        let statement = &statement;
        let client = Arc::clone(&shared.client);
        client
            .execute(
                statement,
                &[
                    &id,
                    &shared.consumer,
                    &shared.cluster_id,
                    &topic,
                    &record.source.partition,
                    &record.offset,
                    &scope,
                    &event_id,
                    &key,
                    &value,
                    &names,
                    &values,
                    &record.timestamp.millis(),
                    &code,
                    &message,
                    &sqlstate,
                    &attempts,
                    &digest,
                    &stamp(record.timestamp),
                    &shared.log_epoch,
                    &tenant,
                    &cause.kind.as_str(),
                ],
            )
            .await
    })
}

/// Sends the statement that supersedes letters.
pub(super) fn send_superseded(
    client: Arc<Client>,
    statement: Statement,
    consumer: String,
    superseded: &[(Arc<str>, EventId)],
) -> Counted {
    let scopes = superseded.iter().map(|(scope, _)| scope.to_string());
    let scopes = scopes.collect::<Vec<_>>();
    let ids = superseded.iter().map(|(_, id)| id.as_str().to_owned());
    let ids = ids.collect::<Vec<_>>();
    send(async move {
        client
            .execute(&statement, &[&consumer, &scopes, &ids])
            .await
    })
}
