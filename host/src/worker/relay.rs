//! The relay: publishes dead letters to the dead letter topic and marks them published.
//!
//! A letter is safe in PostgreSQL before it comes here, so a dead letter topic that is missing, full or
//! refusing holds up nothing. A crash between publishing and marking publishes a letter twice, under one id.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tidegate_core::letter::{LetterFacts, headers};
use tokio_util::sync::CancellationToken;

use crate::inbox::StoredLetter;
use crate::kafka::{Outgoing, Publisher};
use crate::worker::repeats::{Repeats, Say};
use crate::worker::shared::Shared;

/// Letters of one round.
const ROUND: usize = 100;
/// How often the relay looks when nothing rings.
const TICK: Duration = Duration::from_secs(1);
/// How long the relay leaves off after a failure.
const PAUSE: Duration = Duration::from_secs(3);

/// How long marking may take at the end.
const MARK: Duration = Duration::from_secs(2);
/// The most letters aside, and how long they stay there.
const ASIDE: usize = 10_000;
const ASIDE_FOR: Duration = Duration::from_secs(600);

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
        aside: HashMap::new(),
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
    /// Letters that the broker refused for good, and when to ask it again.
    aside: HashMap<String, Instant>,
    repeats: Repeats,
}

/// What became of a round's letters.
#[derive(Default)]
struct Round {
    published: usize,
    /// Keys of letters that failed: later ones must not overtake them.
    held: HashSet<Bytes>,
    failure: Option<String>,
}

impl Relay {
    async fn run(&mut self) -> Infallible {
        loop {
            let wait = match self.round().await {
                Ok(round) if round.failure.is_none() => {
                    self.repeats.over();
                    if round.published == ROUND {
                        Duration::ZERO
                    } else {
                        TICK
                    }
                }
                Ok(Round {
                    failure: Some(error),
                    ..
                })
                | Err(error) => {
                    self.say(&error);
                    PAUSE
                }
                Ok(_) => TICK,
            };
            tokio::select! {
                () = self.shared.letters.notified(), if wait != PAUSE => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Publishes one round, oldest first, and marks what was published.
    async fn round(&mut self) -> Result<Round, String> {
        self.mark().await?;
        let letters = self.letters().await?;
        let mut round = Round::default();
        for letter in &letters {
            if !self.publish(letter, &mut round).await {
                break;
            }
        }
        self.mark().await?;
        Ok(round)
    }

    async fn mark(&mut self) -> Result<(), String> {
        if self.published.is_empty() {
            return Ok(());
        }
        let marked = self.shared.inbox.mark_published(&self.published).await;
        marked.map_err(|e| e.to_string())?;
        let letters = std::mem::take(&mut self.published).len();
        self.shared.meters.published(letters as u64);
        tracing::info!(consumer = %self.shared.name, letters, "dead letters published");
        Ok(())
    }

    /// The oldest unpublished letters, those aside left out.
    async fn letters(&mut self) -> Result<Vec<StoredLetter>, String> {
        let now = Instant::now();
        self.aside.retain(|_, again| *again > now);
        let tokens = self.shared.tokens();
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        let limit = i64::try_from(ROUND + self.aside.len()).unwrap_or(i64::MAX);
        let found = self
            .shared
            .inbox
            .unpublished(&self.shared.name, &tokens, limit)
            .await;
        let mut letters = found.map_err(|e| e.to_string())?;
        letters.retain(|letter| !self.aside.contains_key(&letter.id));
        Ok(letters)
    }

    /// Publishes one letter; false if the broker cannot be used now, so that the rest had better wait.
    async fn publish(&mut self, letter: &StoredLetter, round: &mut Round) -> bool {
        let key = letter.letter.record.key.as_ref();
        if key.is_some_and(|key| round.held.contains(key)) {
            return true;
        }
        let Err(error) = self.publisher.publish(outgoing(&self.topic, letter)).await else {
            round.published += 1;
            self.published.push(letter.id.clone());
            return true;
        };
        round.held.extend(key.cloned());
        round.failure = Some(error.to_string());
        if !error.is_transient() && self.aside.len() < ASIDE {
            self.aside
                .insert(letter.id.clone(), Instant::now() + ASIDE_FOR);
        }
        !error.is_transient()
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

fn outgoing(topic: &str, letter: &StoredLetter) -> Outgoing {
    let facts = LetterFacts {
        id: &letter.id,
        consumer: &letter.consumer,
        cluster_id: &letter.cluster_id,
        record: &letter.letter.record,
        cause: &letter.letter.cause,
        event_id: letter.letter.event_id.as_deref(),
        module_digest: letter.module_digest.as_deref(),
        rejected_at_ms: letter.created_at_ms,
    };
    Outgoing {
        topic: topic.to_owned(),
        key: letter.letter.record.key.clone(),
        value: letter.letter.record.value.clone(),
        headers: headers(&facts),
    }
}
