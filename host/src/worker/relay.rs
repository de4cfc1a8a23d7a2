//! The relay: publishes dead letters to the dead letter topic and marks them published.
//!
//! A letter is safe in PostgreSQL before it comes here, so a dead letter topic that is missing, full or
//! refusing holds up nothing. A crash between publishing and marking publishes a letter twice, under one id. A letter
//! that the topic does not take, such as one that is too large, is marked so, and left alone until somebody takes the
//! mark away.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::backoff::RetryPolicy;
use tidegate_core::letter::{LetterFacts, headers};
use tokio_util::sync::CancellationToken;

use crate::config::ConsumerConfig;
use crate::faults::{self, Point};
use crate::inbox::StoredLetter;
use crate::kafka::{KafkaError, Outgoing, Publisher};
use crate::worker::repeats::{Repeats, Say};
use crate::worker::shared::Shared;

/// Letters of one round.
const ROUND: usize = 100;
/// How often the relay looks when nothing rings.
const TICK: Duration = Duration::from_secs(1);
/// How long the relay leaves off after failures in a row.
const PAUSES: RetryPolicy = RetryPolicy {
    initial: Duration::from_secs(2),
    max: Duration::from_secs(15),
    max_elapsed: Duration::MAX,
    max_attempts: None,
};

/// How long marking may take at the end.
const MARK: Duration = Duration::from_secs(2);

/// Publishes the letters of the partitions that `shared` owns until `stop`.
pub async fn relay(
    shared: Arc<Shared>,
    (publisher, topic): (Publisher, String),
    stop: CancellationToken,
) {
    let mut relay = Relay {
        shared,
        publisher,
        topic,
        published: Vec::new(),
        refused: Vec::new(),
        repeats: Repeats::default(),
    };
    tokio::select! {
        () = stop.cancelled() => {}
        never = relay.run() => match never {},
    }
    // What was published and not yet marked would be published again.
    let _late = tokio::time::timeout(MARK, relay.mark()).await;
    relay.publisher.close(Duration::from_secs(5)).await;
}

struct Relay {
    shared: Arc<Shared>,
    publisher: Publisher,
    topic: String,
    /// Letters published and not yet marked so.
    published: Vec<String>,
    /// Letters that the topic does not take and why, not yet marked so.
    refused: Vec<(String, String)>,
    repeats: Repeats,
}

impl Relay {
    async fn run(&mut self) -> Infallible {
        loop {
            match self.round().await {
                Ok(settled) => {
                    self.repeats.over();
                    if settled < ROUND {
                        self.rest().await;
                    }
                }
                Err(error) => {
                    self.say(&error);
                    let turn = u32::try_from(self.repeats.count()).unwrap_or(u32::MAX);
                    tokio::time::sleep(PAUSES.wait(turn, fastrand::f64())).await;
                }
            }
        }
    }

    /// Waits until there may be more.
    async fn rest(&self) {
        tokio::select! {
            () = self.shared.letters.notified() => {}
            () = tokio::time::sleep(TICK) => {}
        }
    }

    /// Publishes one round, oldest first, and marks what was published; how many letters that settled.
    async fn round(&mut self) -> Result<usize, String> {
        self.mark().await?;
        let (mut settled, mut failure) = (0, None);
        for letter in &self.letters().await? {
            // None overtakes one that failed, so that letters of a key keep their order.
            if let Err(error) = self.publish(letter).await {
                failure = Some(error.to_string());
                break;
            }
            settled += 1;
        }
        self.mark().await?;
        failure.map_or(Ok(settled), Err)
    }

    async fn mark(&mut self) -> Result<(), String> {
        self.mark_refused().await?;
        if self.published.is_empty() {
            return Ok(());
        }
        let marked = self.shared.inbox.mark_published(&self.published).await;
        marked.map_err(|e| e.to_string())?;
        faults::at(Point::LettersMarked, 0);
        let letters = std::mem::take(&mut self.published).len();
        self.shared.meters.published(letters as u64);
        tracing::info!(consumer = %self.shared.name, letters, "dead letters published");
        Ok(())
    }

    async fn mark_refused(&mut self) -> Result<(), String> {
        if self.refused.is_empty() {
            return Ok(());
        }
        let marked = self.shared.inbox.mark_unpublishable(&self.refused).await;
        marked.map_err(|e| e.to_string())?;
        let letters = self.refused.len();
        let (consumer, topic) = (&self.shared.name, &self.topic);
        if let Some((id, reason)) = self.refused.first() {
            tracing::warn!(%consumer, topic, letters, id, reason, "the dead letter topic does not take these letters; they are kept in PostgreSQL, and `tidegate dlt publish` tries them again");
        }
        self.refused.clear();
        Ok(())
    }

    /// The oldest letters that are to be published.
    async fn letters(&mut self) -> Result<Vec<StoredLetter>, String> {
        let tokens = self.shared.tokens();
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        let (inbox, most) = (&self.shared.inbox, i64::try_from(ROUND).unwrap_or(i64::MAX));
        let found = inbox.unpublished(&self.shared.name, &tokens, most).await;
        found.map_err(|e| e.to_string())
    }

    /// Publishes one letter, or finds that the topic does not take it. The error is the topic's, or the broker's.
    async fn publish(&mut self, letter: &StoredLetter) -> Result<(), KafkaError> {
        let roster = self.shared.roster();
        let tenant = letter.letter.tenant.as_deref();
        let own = roster.as_deref().zip(tenant);
        let topic = own.and_then(|(roster, tenant)| roster.letters_to(tenant));
        let topic = topic.unwrap_or(&self.topic);
        let outgoing = outgoing(&self.shared.config, topic, letter);
        let offset = letter.letter.record.offset;
        faults::at(Point::LetterPublishing, offset);
        match self.publisher.publish(outgoing).await {
            Ok(_) => {
                faults::at(Point::LetterPublished, offset);
                self.published.push(letter.id.clone());
            }
            Err(KafkaError::Unpublishable { reason, .. }) => {
                self.refused.push((letter.id.clone(), reason));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn say(&mut self, error: &str) {
        self.shared.meters.publishing_failed();
        let (consumer, topic) = (&self.shared.name, &self.topic);
        match self.repeats.failed(Instant::now()) {
            Say::First => {
                tracing::warn!(%consumer, topic, error, "dead letters cannot be published now; they are kept in PostgreSQL and tried again");
            }
            Say::Again(times, since) => {
                tracing::warn!(%consumer, topic, error, times, ?since, "dead letters still cannot be published");
            }
            Say::Nothing => {}
        }
    }
}

fn outgoing(config: &ConsumerConfig, topic: &str, letter: &StoredLetter) -> Outgoing {
    let facts = LetterFacts {
        id: &letter.id,
        consumer: &letter.consumer,
        group: &config.group,
        cluster_id: &letter.cluster_id,
        record: &letter.letter.record,
        cause: &letter.letter.cause,
        replay_round: u32::try_from(letter.replay_round).unwrap_or(0),
        event_id: letter.letter.event_id.as_deref(),
        tenant: letter.letter.tenant.as_deref(),
        module_digest: letter
            .letter
            .module_digest
            .as_ref()
            .map(<[u8; 32]>::as_slice),
        rejected_at_ms: letter.created_at_ms,
    };
    Outgoing {
        topic: topic.to_owned(),
        key: letter.letter.record.key.clone(),
        value: letter.letter.record.value.clone(),
        headers: headers(config.letters.headers, &facts),
    }
}
