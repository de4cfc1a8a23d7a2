//! Does the database work now? Asked of a connection opened for the question, by writing.

use std::time::Duration;

use tidegate_core::failure::Failure;
use tokio::time::timeout;
use uuid::Uuid;

use super::Inbox;
use super::error::overdue;
use super::pool::Held;

/// Some 30 KiB that do not compress, so that the server finds or makes room for several pages. No consumer has
/// such a name, and the event's id is the question's own: two askers never wait for one another.
const WRITE: &str = r#"
INSERT INTO tidegate.processed_events (consumer_name, scope, event_id, processed_at, processed_until, topic,
    partition, "offset", outcome)
SELECT 'tidegate ping', n::text, $1, now(), now(),
       (SELECT string_agg(md5($1::text || n::text || i::text), '') FROM generate_series(1, 56) i),
       0, 0, 'skipped'
  FROM generate_series(1, 16) n"#;

/// In the same transaction: nobody ever sees the rows.
const CLEAR: &str =
    "DELETE FROM tidegate.processed_events WHERE consumer_name = 'tidegate ping' AND event_id = $1";

/// Beyond opening the connection, how long the answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

impl Inbox {
    /// Whether the database works now: a service connection opened for this question begins a transaction that may
    /// write, inserts rows, deletes them again and commits. So the server takes connections, is no standby, finds
    /// room for pages and flushes its log, to its synchronous standbys too. Nothing is ever seen of the rows.
    /// Answers within `connect_timeout` and 5 s. Errors: what kept it from that, a service connection not being free
    /// in time among it.
    pub async fn ping(&self) -> Result<(), Failure> {
        let patience = self.settings.connect_timeout + PATIENCE;
        let asking = async {
            let mut held = self.service.get(true).await?;
            write(&mut held).await?;
            held.release();
            Ok(())
        };
        match timeout(patience, asking).await {
            Ok(answer) => answer,
            Err(_) => Err(overdue("asking whether the database works", patience)),
        }
    }
}

/// An error drops the connection, and with it the transaction.
async fn write(held: &mut Held) -> Result<(), Failure> {
    let id = Uuid::new_v4().to_string();
    let (write, clear) = (held.host(WRITE).await?, held.host(CLEAR).await?);
    held.begin().await?;
    let client = &held.client;
    held.answer("a statement", client.execute(&write, &[&id]))
        .await?;
    held.answer("a statement", client.execute(&clear, &[&id]))
        .await?;
    held.command("COMMIT").await
}
