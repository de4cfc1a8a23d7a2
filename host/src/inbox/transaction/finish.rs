//! Ending a transaction: outcomes, letters, the fence's row with its proof, COMMIT.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::claim::EventId;
use tidegate_core::failure::{Broken, Failure};
use tidegate_core::outcome::Outcome;
use tokio_postgres::{Client, Statement};

use super::letters::{self, Shared};
use super::proof::{Proof, SEAL};
use super::{Finish, ReplayEnd, Transaction};
use crate::faults::{self, Point};
use crate::inbox::connection::{Sent, send};
use crate::inbox::error::{failure_of, overdue, unreachable};

pub(super) const OUTCOMES: &str = "
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
pub(super) struct Flight {
    pub(super) before: Vec<Counted>,
    pub(super) seal: Counted,
}

/// What a transaction ends with.
enum End {
    Batch(Finish),
    Replay(ReplayEnd),
}

impl Transaction {
    /// Ends the batch: writes outcomes, dead letters and progress behind what is staged, waits for all of it, which
    /// proves that this is the transaction that was begun, commits. On error nothing was committed, but for
    /// [`Failure::CommitUnknown`], where the next fence finds out. Answers how long COMMIT itself took.
    pub async fn commit(self: Box<Self>, finish: Finish) -> Result<Duration, Broken> {
        let next = finish.next_offset;
        self.end(End::Batch(finish), next).await
    }

    /// Ends a letter's replay in the same way: outcome, letter, turn and the request with its proof.
    pub async fn commit_replay(self: Box<Self>, end: ReplayEnd) -> Result<Duration, Broken> {
        let next = self.current.map_or(0, |offset| offset + 1);
        self.end(End::Replay(end), next).await
    }

    async fn end(mut self: Box<Self>, end: End, next: i64) -> Result<Duration, Broken> {
        if let Err(broken) = self.prove(end).await {
            self.ledger.note(broken.clone());
            self.rollback().await;
            return Err(broken);
        }
        faults::at(Point::Proved, next);
        self.send_commit(next).await
    }

    async fn prove(&mut self, end: End) -> Result<(), Broken> {
        self.end_stay()
            .map_err(|why| Broken::from(unreachable(why)))?;
        self.held.pipeline.flush();
        let flight = match end {
            End::Batch(finish) => self.send_flight(finish).await,
            End::Replay(end) => self.send_replay(end).await,
        };
        if let Some(broken) = self.drain().await {
            return Err(broken);
        }
        let flight = flight.map_err(Broken::from)?;
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
                    .unwrap_or_else(|| escape().into()))
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
                &finish.outcomes,
            ));
        }
        if !finish.superseded.is_empty() {
            let statement = self.held.host(letters::SUPERSEDE).await?;
            before.push(letters::send_superseded(
                Arc::clone(&client),
                statement,
                consumer.clone(),
                &finish.superseded,
            ));
        }
        let seal = self.held.host(SEAL).await?;
        let proof = Proof::of(self, &finish)?;
        if !finish.letters.is_empty() {
            let statement = self.held.host(letters::WRITE).await?;
            let shared = Shared {
                client: Arc::clone(&client),
                consumer,
                cluster_id: finish.cluster_id,
                log_epoch: self.log_epoch,
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
            Failure::Sql { sqlstate, .. }
                if matches!(
                    sqlstate.as_str(),
                    "25006" | "25P01" | "25P02" | "2D000" | "25001"
                ) =>
            {
                self.ledger.escaped(&failure.to_string());
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

    async fn send_commit(self: Box<Self>, next: i64) -> Result<Duration, Broken> {
        let (patience, clock) = (self.held.patience, Instant::now());
        let commit = send(self.held.client.batch_execute(COMMIT));
        faults::at(Point::CommitSent, next);
        let answer = tokio::time::timeout(patience, commit).await;
        let failure = match answer {
            Ok(Ok(())) => {
                faults::at(Point::Committed, next);
                self.remember();
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
        Failure::Unreachable { message } => Failure::CommitUnknown { message },
        Failure::Sql { .. } => Failure::CommitUnknown {
            message: failure.to_string(),
        },
        other => other,
    }
}

pub(super) fn send_outcomes(
    client: Arc<Client>,
    statement: Statement,
    consumer: String,
    outcomes: &[(Arc<str>, EventId, Outcome)],
) -> Counted {
    let scopes = outcomes.iter().map(|o| o.0.to_string());
    let scopes = scopes.collect::<Vec<_>>();
    let ids = outcomes.iter().map(|o| o.1.as_str().to_owned());
    let ids = ids.collect::<Vec<_>>();
    let outcomes = outcomes.iter().map(|o| o.2.as_str()).collect::<Vec<_>>();
    send(async move {
        client
            .execute(&statement, &[&consumer, &scopes, &ids, &outcomes])
            .await
    })
}
