//! The relay: publishes dead letters to the dead letter topic and marks them published.
//!
//! A letter is safe in PostgreSQL before it comes here, so a dead letter topic that is missing, full or
//! refusing holds up nothing. A crash between publishing and marking publishes a letter twice, under one id.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::letter::{LetterFacts, headers};
use tokio_util::sync::CancellationToken;

use crate::inbox::StoredLetter;
use crate::kafka::{Outgoing, Publisher};
use crate::worker::repeats::{Repeats, Say};
use crate::worker::shared::Shared;

/// Letters of one round.
const ROUND: i64 = 100;
/// How often the relay looks when nothing rings.
const TICK: Duration = Duration::from_secs(1);
/// How long the relay leaves off after a failure.
const PAUSE: Duration = Duration::from_secs(3);

/// Publishes the letters of the partitions that `shared` owns until `stop`.
pub async fn relay(
    shared: Arc<Shared>,
    (publisher, topic): (Publisher, String),
    stop: CancellationToken,
) {
    let mut repeats = Repeats::default();
    loop {
        let wait = match round(&shared, &publisher, &topic).await {
            Ok(ROUND..) => Duration::ZERO,
            Ok(_) => TICK,
            Err(error) => {
                say(&shared, &mut repeats, &error);
                PAUSE
            }
        };
        if wait != PAUSE {
            repeats.over();
        }
        tokio::select! {
            () = stop.cancelled() => break,
            () = shared.letters.notified(), if wait != PAUSE => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
    publisher.close(Duration::from_secs(5)).await;
}

/// Publishes one round, oldest first; returns how many letters there were. A letter that fails keeps the
/// later ones of its key from overtaking it.
async fn round(shared: &Shared, publisher: &Publisher, topic: &str) -> Result<i64, String> {
    let tokens = shared.tokens();
    if tokens.is_empty() {
        return Ok(0);
    }
    let letters = shared
        .inbox
        .unpublished(&shared.name, &tokens, ROUND)
        .await
        .map_err(|e| e.to_string())?;
    let (mut published, mut held, mut failure) = (Vec::new(), HashSet::new(), None);
    for letter in &letters {
        let key = &letter.letter.record.key;
        if held.contains(key) {
            continue;
        }
        match publisher.publish(outgoing(topic, letter)).await {
            Ok(_) => published.push(letter.id.clone()),
            Err(error) => {
                held.insert(key.clone());
                failure = Some(error.to_string());
            }
        }
    }
    if !published.is_empty() {
        shared
            .inbox
            .mark_published(&published)
            .await
            .map_err(|e| e.to_string())?;
        tracing::info!(consumer = %shared.name, letters = published.len(), "dead letters published");
    }
    failure.map_or(Ok(i64::try_from(letters.len()).unwrap_or(ROUND)), Err)
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

fn say(shared: &Shared, repeats: &mut Repeats, error: &str) {
    let consumer = &shared.name;
    match repeats.failed(Instant::now()) {
        Say::First => {
            tracing::warn!(%consumer, error, "dead letters cannot be published now; they are kept in PostgreSQL and tried again");
        }
        Say::Again(times, since) => {
            tracing::warn!(%consumer, error, times, ?since, "dead letters still cannot be published");
        }
        Say::Nothing => {}
    }
}
