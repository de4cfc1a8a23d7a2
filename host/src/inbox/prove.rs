//! Proves that what the host relies on in the database works for this login: its triggers fire and it sees what it wrote.
//!
//! It is tried, not read out of the catalogue: a trigger that is there may be off, and its function another. All of it is
//! rolled back. Where a row stands in for a consumer's, its name is no consumer's, so nobody waits for it.

use tidegate_core::failure::Failure;
use tidegate_core::sqlstate::SqlClass;
use tokio_postgres::SimpleQueryMessage;
use uuid::Uuid;

use super::connection::Connection;
use super::error::unreachable;
use super::unfit::Unfit;
use super::{Inbox, InboxError};

/// What the seals raise.
const SEALED: &str = "2D000";

/// A seal, and what arms it in a row of its own.
struct Seal {
    trigger: &'static str,
    table: &'static str,
    arm: String,
}

/// What a question after the rows found.
const TABLES: [&str; 3] = ["progress", "replays", "tenants"];

impl Inbox {
    /// Proves it on a connection for batches. Errors: what does not work, with the remedy; or the server cannot be asked.
    pub async fn prove(&self) -> Result<(), InboxError> {
        let held = self.batches.take(false).await?;
        match prove(&held).await {
            Ok(()) => {
                held.roll_back().await;
                Ok(())
            }
            Err(NotProved::Unfit(unfit)) => Err(unfit.at(&self.settings.place)),
            Err(NotProved::Failed(failure)) => Err(passing(failure).into()),
        }
    }
}

/// Why it is not proved.
enum NotProved {
    Unfit(Unfit),
    Failed(Failure),
}

impl From<Failure> for NotProved {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Leaves a transaction open that has written; the caller rolls it back.
async fn prove(connection: &Connection) -> Result<(), NotProved> {
    let (id, number) = (Uuid::new_v4().to_string(), nobodys_number());
    connection.begin().await?;
    connection.command("SAVEPOINT probe").await?;
    for seal in seals(&id, number) {
        fires(connection, &seal).await?;
    }
    sees(connection, &id, number).await
}

/// A number that no request has, and hardly another probe.
fn nobodys_number() -> i64 {
    let (high, _) = Uuid::new_v4().as_u64_pair();
    -i64::try_from(high >> 2).unwrap_or(1) - 1
}

fn seals(id: &str, number: i64) -> [Seal; 2] {
    let progress = format!(
        "INSERT INTO tidegate.progress (consumer_name, topic, partition, \"group\", cluster_id, next_offset) \
         VALUES ('tidegate probe', '{id}', 0, '', '', 0); \
         UPDATE tidegate.progress SET begun = begun + 1 WHERE consumer_name = 'tidegate probe' AND topic = '{id}'"
    );
    let replays = format!(
        "INSERT INTO tidegate.replays (id, consumer_name, requested_by, filter) OVERRIDING SYSTEM VALUE \
         VALUES ({number}, 'tidegate probe', '', ''); UPDATE tidegate.replays SET begun = begun + 1 WHERE id = {number}"
    );
    [
        Seal {
            trigger: "progress_seal",
            table: "progress",
            arm: progress,
        },
        Seal {
            trigger: "replay_seal",
            table: "replays",
            arm: replays,
        },
    ]
}

/// Arms a seal and has it look now.
async fn fires(connection: &Connection, seal: &Seal) -> Result<(), NotProved> {
    let (trigger, arm) = (seal.trigger, &seal.arm);
    let tried = format!("{arm}; SAVEPOINT probe; SET CONSTRAINTS tidegate.{trigger} IMMEDIATE");
    match connection.command(&tried).await {
        Ok(()) => Err(NotProved::Unfit(Unfit::Silent {
            trigger,
            table: seal.table,
            without: "nothing would refuse a COMMIT that the host did not prepare",
        })),
        Err(Failure::Sql { sqlstate, .. }) if sqlstate == SEALED => {
            Ok(connection.command("ROLLBACK TO SAVEPOINT probe").await?)
        }
        Err(failure) => Err(failure.into()),
    }
}

/// Whether the rows are there, and whether a tenant's change is heard of.
async fn sees(connection: &Connection, id: &str, number: i64) -> Result<(), NotProved> {
    let asked = format!(
        "INSERT INTO tidegate.tenants (consumer_name, tenant) VALUES ('{id}', 'probe'); SELECT \
         (SELECT count(*) FROM tidegate.progress WHERE consumer_name = 'tidegate probe' AND topic = '{id}'), \
         (SELECT count(*) FROM tidegate.replays WHERE id = {number}), \
         (SELECT count(*) FROM tidegate.tenants WHERE consumer_name = '{id}'), \
         (SELECT count(*) FROM tidegate.consumers WHERE consumer_name = '{id}' AND tenants_revision > 0)"
    );
    let asked = connection.client.simple_query(&asked);
    let told = connection.answer("a question", asked).await?;
    let row = told.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let is_there = |column| row.and_then(|row| row.get(column)) == Some("1");
    for (column, table) in TABLES.into_iter().enumerate() {
        if !is_there(column) {
            return Err(NotProved::Unfit(Unfit::Unseen { table }));
        }
    }
    match is_there(TABLES.len()) {
        true => Ok(()),
        false => Err(NotProved::Unfit(Unfit::Silent {
            trigger: "tenants_changed",
            table: "tenants",
            without: "no host would hear of a tenant's change",
        })),
    }
}

/// What says nothing about the tables, but that the server cannot be asked now, is waited for as that.
fn passing(failure: Failure) -> Failure {
    match failure.class() {
        Some(
            SqlClass::Infrastructure
            | SqlClass::Doubtful
            | SqlClass::Contention
            | SqlClass::Transient,
        ) => unreachable(failure.to_string()),
        _ => failure,
    }
}
