//! One run to one dead letter topic: its first letters, one after the other.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::failure::Failure;
use tidegate_core::letter::{LetterFacts, headers};
use tidegate_core::relay::Mends;
use tokio_util::sync::CancellationToken;

use crate::config::ConsumerConfig;
use crate::faults::{self, Point};
use crate::inbox::{StoredLetter, Waiting};
use crate::kafka::{Outgoing, Publisher, Unpublished};
use crate::worker::shared::Shared;

/// The bytes of letters that a run holds at once; a larger one is held by itself.
const BYTES: i64 = 8 << 20;
/// How long marking is left off where the database does not take the marks.
const PAUSE: Duration = Duration::from_secs(2);

/// A run to one topic.
pub(super) struct Run {
    pub(super) shared: Arc<Shared>,
    pub(super) publisher: Arc<Publisher>,
    pub(super) topic: String,
    /// Whose letters go there.
    pub(super) tenants: Vec<String>,
    /// The most letters.
    pub(super) most: usize,
    pub(super) stop: CancellationToken,
}

/// What a topic, or the database, did not take.
pub(super) struct NotTaken {
    pub(super) mends: Mends,
    pub(super) reason: String,
}

impl NotTaken {
    /// What passes by itself.
    pub(super) fn late(error: &dyn std::error::Error) -> Self {
        Self {
            mends: Mends::Time,
            reason: error.to_string(),
        }
    }
}

/// What came of the letters, and is not marked yet.
#[derive(Default)]
struct Marks {
    published: Vec<String>,
    /// Those that can never be published as they are, and why.
    unpublishable: Vec<(String, String)>,
    /// The one that the topic refused, and why.
    refused: Option<(String, String)>,
}

impl Run {
    /// Publishes what fits in a run, in order, and marks it before anything else is published there; whether there may be
    /// more.
    pub(super) async fn run(self) -> Result<bool, NotTaken> {
        let owners = self.shared.tokens();
        let waiting = Waiting {
            consumer: &self.shared.name,
            owners: &owners,
            tenants: &self.tenants,
            most: self.most,
            bytes: BYTES,
        };
        let letters = self.shared.inbox.unpublished(waiting).await;
        let letters = letters.map_err(|failure| NotTaken::late(&failure))?;
        let mut marks = Marks::default();
        let refused = tokio::select! {
            () = self.stop.cancelled() => None,
            refused = self.publish_all(&letters, &mut marks) => refused,
        };
        self.mark(&mut marks).await;
        match refused {
            Some(refused) => Err(refused),
            // What did not fit in the bytes of this run is there still.
            None => Ok(!letters.is_empty()),
        }
    }

    /// None overtakes one that was refused, so that letters of a key keep their order.
    async fn publish_all(&self, letters: &[StoredLetter], marks: &mut Marks) -> Option<NotTaken> {
        for letter in letters {
            match self.publish(letter).await {
                Ok(()) => marks.published.push(letter.id.clone()),
                Err(Unpublished::Record(reason)) => {
                    marks.unpublishable.push((letter.id.clone(), reason));
                }
                Err(Unpublished::Topic { reason, mends }) => {
                    marks.refused = Some((letter.id.clone(), reason.clone()));
                    return Some(NotTaken { mends, reason });
                }
            }
        }
        None
    }

    async fn publish(&self, letter: &StoredLetter) -> Result<(), Unpublished> {
        let outgoing = outgoing(&self.shared.config, &self.topic, letter);
        let offset = letter.letter.record.offset;
        faults::at(Point::LetterPublishing, offset);
        self.publisher.publish(outgoing).await?;
        faults::at(Point::LetterPublished, offset);
        Ok(())
    }

    /// Marks until the database has taken it: the next run would publish the same letters again. The relay's end bounds
    /// it.
    async fn mark(&self, marks: &mut Marks) {
        while let Err(failure) = self.try_to_mark(marks).await {
            tracing::warn!(consumer = %self.shared.name, topic = self.topic, %failure, "dead letters cannot be marked as published now; no more go to this topic until they are");
            self.shared.meters.publishing_failed("");
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn try_to_mark(&self, marks: &mut Marks) -> Result<(), Failure> {
        let (inbox, consumer, topic) = (&self.shared.inbox, &self.shared.name, &self.topic);
        if !marks.published.is_empty() {
            inbox.mark_published(&marks.published).await?;
            faults::at(Point::LettersMarked, 0);
            let letters = std::mem::take(&mut marks.published).len();
            self.shared.meters.published(letters as u64);
            tracing::info!(%consumer, topic, letters, "dead letters published");
        }
        if let Some((id, reason)) = marks.unpublishable.first() {
            inbox.mark_unpublishable(&marks.unpublishable).await?;
            let letters = marks.unpublishable.len();
            tracing::warn!(%consumer, topic, letters, id, reason, "the dead letter topic does not take these letters; they are kept in PostgreSQL, and `tidegate dlt publish` tries them again");
            marks.unpublishable.clear();
        }
        if let Some((id, reason)) = &marks.refused {
            inbox.mark_refused(id, reason).await?;
            marks.refused = None;
        }
        Ok(())
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
