//! Ending a batch: outcomes, letters, progress with its proof, COMMIT.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::failure::{Broken, Failure};
use tokio_postgres::{Client, Statement};

use super::letters::{self, Shared};
use super::proof::{Proof, SEAL};
use super::{Finish, Transaction};
use crate::inbox::connection::{Sent, send};
use crate::inbox::error::{failure_of, overdue};

const OUTCOMES: &str = "
UPDATE tidegate.processed_events e SET outcome = o.outcome
  FROM unnest($2::text[], $3::text[], $4::text[]) AS o (scope, event_id, outcome)
 WHERE e.consumer_name = $1 AND e.scope = o.scope AND e.event_id = o.event_id";

/// The driver does not show the server's word for how a transaction ended: it takes ROLLBACK, the answer to a
/// COMMIT of a failed transaction, for success. In a failed transaction the SET fails, and with it the whole
/// command; and a transaction whose proof answered a moment ago and in which nothing failed since commits or
/// raises an error. So success here is the server's word that it committed.
const COMMIT: &str = "SET LOCAL synchronous_commit = on; COMMIT";

pub(super) type Counted = Sent<'static, Result<u64, tokio_postgres::Error>>;

/// Statements on their way; the last is the seal.
struct Flight {
    before: Vec<Counted>,
    seal: Counted,
}

impl Transaction {
    /// Ends the batch: writes outcomes, dead letters and progress behind what is staged, waits for all of it, which
    /// proves that this is the transaction that was begun, commits. On error nothing was committed, but for
    /// [`Failure::CommitUnknown`], where the next fence finds out. Answers how long COMMIT itself took.
    pub async fn commit(mut self: Box<Self>, finish: Finish) -> Result<Duration, Broken> {
        if let Err(broken) = self.prove(finish).await {
            self.ledger.note(broken.clone());
            self.rollback().await;
            return Err(broken);
        }
        self.send_commit().await
    }

    async fn prove(&mut self, finish: Finish) -> Result<(), Broken> {
        let nobody = |failure| Broken {
            offset: None,
            failure,
        };
        self.held.pipeline.flush();
        let flight = self.send_flight(finish).await;
        if let Some(broken) = self.drain().await {
            return Err(broken);
        }
        let flight = flight.map_err(nobody)?;
        for sent in flight.before {
            self.settle_own(sent).await?;
        }
        match self.settle_own(flight.seal).await? {
            1 => Ok(()),
            _ => {
                self.ledger
                    .escaped("the final update found another transaction's row");
                Err(self
                    .ledger
                    .failure()
                    .cloned()
                    .unwrap_or_else(|| nobody(escape())))
            }
        }
    }

    /// Sends everything in one flight. A first use prepares its statement, which waits.
    async fn send_flight(&mut self, finish: Finish) -> Result<Flight, Failure> {
        let mut before = Vec::new();
        let client = Arc::clone(&self.held.client);
        let consumer = self.key.consumer.clone();
        if !finish.outcomes.is_empty() {
            let statement = self.held.host(OUTCOMES).await?;
            before.push(send_outcomes(
                Arc::clone(&client),
                statement,
                consumer.clone(),
                &finish,
            ));
        }
        if !finish.superseded.is_empty() {
            let statement = self.held.host(letters::SUPERSEDE).await?;
            before.push(letters::send_superseded(
                Arc::clone(&client),
                statement,
                consumer.clone(),
                &finish,
            ));
        }
        let seal = self.held.host(SEAL).await?;
        let proof = Proof::of(self, &finish);
        if !finish.letters.is_empty() {
            let statement = self.held.host(letters::WRITE).await?;
            let digest = finish.module_digest.map(|d| d.to_vec());
            let shared = Shared {
                client: Arc::clone(&client),
                consumer,
                cluster_id: finish.cluster_id,
                log_epoch: self.log_epoch,
                digest,
            };
            let shared = Arc::new(shared);
            let send = |(id, letter)| letters::send_letter(&shared, statement.clone(), id, letter);
            before.extend(finish.letters.into_iter().map(send));
        }
        Ok(Flight {
            before,
            seal: proof.send(client, seal),
        })
    }

    /// Waits for one of the host's own statements. What the last wall refuses is the guest's doing.
    async fn settle_own(&mut self, sent: Counted) -> Result<u64, Broken> {
        let patience = self.held.patience;
        let failure = match tokio::time::timeout(patience, sent).await {
            Ok(Ok(count)) => return Ok(count),
            Ok(Err(error)) => failure_of(&error),
            Err(_) => overdue("the final update", patience),
        };
        match &failure {
            Failure::Sql {
                sqlstate, message, ..
            } if matches!(
                sqlstate.as_str(),
                "25006" | "25P01" | "25P02" | "2D000" | "25001"
            ) =>
            {
                self.ledger.escaped(message);
                Err(self.ledger.failure().cloned().unwrap_or(Broken {
                    offset: None,
                    failure,
                }))
            }
            _ => Err(Broken {
                offset: None,
                failure,
            }),
        }
    }

    async fn send_commit(self: Box<Self>) -> Result<Duration, Broken> {
        let (patience, clock) = (self.held.patience, Instant::now());
        let answer = tokio::time::timeout(patience, self.held.client.batch_execute(COMMIT)).await;
        let failure = match answer {
            Ok(Ok(())) => {
                self.held.release();
                return Ok(clock.elapsed());
            }
            Ok(Err(error)) => refused_commit(failure_of(&error)),
            Err(_) => unknown(overdue("COMMIT", patience)),
        };
        if matches!(failure, Failure::Sql { .. }) {
            self.held.roll_back().await;
        }
        Err(Broken {
            offset: None,
            failure,
        })
    }
}

fn escape() -> Failure {
    Failure::Escape {
        message: "the transaction is not the one that was begun".to_owned(),
    }
}

/// A refusal on a living connection means that nothing was committed, but for the codes that say otherwise.
fn refused_commit(failure: Failure) -> Failure {
    match &failure {
        Failure::Sql { sqlstate, .. } if !matches!(sqlstate.as_str(), "40003" | "08007") => failure,
        _ => unknown(failure),
    }
}

fn unknown(failure: Failure) -> Failure {
    match failure {
        Failure::Unreachable { message } | Failure::Sql { message, .. } => {
            Failure::CommitUnknown { message }
        }
        other => other,
    }
}

fn send_outcomes(
    client: Arc<Client>,
    statement: Statement,
    consumer: String,
    finish: &Finish,
) -> Counted {
    let scopes = finish
        .outcomes
        .iter()
        .map(|o| o.0.to_string())
        .collect::<Vec<_>>();
    let ids = finish
        .outcomes
        .iter()
        .map(|o| o.1.as_str().to_owned())
        .collect::<Vec<_>>();
    let outcomes = finish
        .outcomes
        .iter()
        .map(|o| o.2.as_str())
        .collect::<Vec<_>>();
    send(async move {
        client
            .execute(&statement, &[&consumer, &scopes, &ids, &outcomes])
            .await
    })
}
