//! Replays letters of one consumer, one by one, in the order in which they were asked for.
//!
//! It reaches no partition and no topic: a letter goes through the claim, the handler and the commit that its record
//! went through, in a transaction whose fence is the request. One host works on a request at a time.

mod letter;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::backoff::RetryPolicy;
use tidegate_core::control::Control;
use tidegate_core::failure::Failure;
use tokio_util::sync::CancellationToken;

use crate::inbox::{LetterStatus, StoredLetter, Taken, Turn, Untried};
use crate::worker::repeats::{Repeats, Say};
use crate::worker::roster::Entry;
use crate::worker::shared::Shared;
use letter::{Ended, Letter};

/// How often it looks for requests.
const TICK: Duration = Duration::from_secs(1);
/// How long it leaves off after failures in a row.
const PAUSES: RetryPolicy = RetryPolicy {
    initial: Duration::from_millis(500),
    max: Duration::from_secs(5),
    max_elapsed: Duration::MAX,
    max_attempts: None,
};
/// Why a module that tried to leave its transaction brakes its consumer.
const ESCAPED: &str = "the module tried to leave its transaction, in a replay";
/// How long giving requests back may take at the end.
const RELEASE: Duration = Duration::from_secs(2);

/// Replays what is asked for until `stop`.
pub async fn replay(shared: Arc<Shared>, stop: CancellationToken) {
    let mut replayer = Replayer {
        shared,
        turn: None,
        repeats: Repeats::default(),
    };
    tokio::select! {
        () = stop.cancelled() => {}
        never = replayer.run() => match never {},
    }
    replayer.release().await;
}

struct Replayer {
    shared: Arc<Shared>,
    /// The letter that is announced.
    turn: Option<Turn>,
    repeats: Repeats,
}

impl Replayer {
    async fn run(&mut self) -> Infallible {
        loop {
            match self.round().await {
                Ok(more) => {
                    self.repeats.over();
                    if !more {
                        tokio::time::sleep(TICK).await;
                    }
                }
                Err(failure) => {
                    self.say(&failure);
                    let turn = u32::try_from(self.repeats.count()).unwrap_or(u32::MAX);
                    tokio::time::sleep(PAUSES.wait(turn, fastrand::f64())).await;
                }
            }
        }
    }

    /// Gives one letter its turn; whether there may be more.
    async fn round(&mut self) -> Result<bool, Failure> {
        let (shared, host) = (Arc::clone(&self.shared), self.shared.host.id);
        let inbox = &shared.inbox;
        if !shared.is_ours() || !inbox.has_replay(&shared.name).await? {
            return Ok(false);
        }
        if !shared.runs() {
            let words = held(&shared.control());
            inbox.replays_wait(&shared.name, Some(&words)).await?;
            return Ok(false);
        }
        // Announced behind whoever has the stage alone: its death is not this letter's.
        let stage = shared.stage.shared().await;
        let taken = inbox.take_turn(&shared.name, host).await?;
        drop(stage);
        match taken {
            None => Ok(false),
            Some(Taken::Empty(replay)) => {
                if inbox.finish_replay(replay, host).await? {
                    self.tell(replay).await;
                }
                Ok(true)
            }
            Some(Taken::Turn(turn)) => {
                self.turn = Some(turn.clone());
                let ended = self.one(turn).await;
                self.turn = None;
                ended.map(|()| true)
            }
        }
    }

    async fn one(&mut self, turn: Turn) -> Result<(), Failure> {
        let (shared, host) = (Arc::clone(&self.shared), self.shared.host.id);
        let found = shared.inbox.letter(&turn.letter).await?;
        let is_open =
            |letter: &StoredLetter| letter.status == LetterStatus::Open && letter.id == turn.letter;
        let stored = match found {
            Some(stored) if is_open(&stored) => stored,
            closed => {
                return shared
                    .inbox
                    .settle_turn(&turn, host, untried(closed.as_ref()))
                    .await;
            }
        };
        let ended = Letter::new(Arc::clone(&shared), turn.clone(), stored)
            .replay()
            .await;
        match ended {
            Ended::Settled { published } if published => {
                shared.letters.notify_one();
                self.brake_if_escaped().await;
            }
            Ended::Settled { .. } | Ended::Lost => {}
            // Somebody closed it as it was about to run.
            Ended::Closed => {
                let closed = shared.inbox.letter(&turn.letter).await?;
                let why = untried(closed.as_ref());
                shared.inbox.settle_turn(&turn, host, why).await?;
            }
            Ended::Left => shared.inbox.settle_turn(&turn, host, Untried::Kept).await?,
        }
        Ok(())
    }

    /// A module that tried to leave its transaction holds its consumer, or tenant, back on all hosts, as it does in a
    /// batch.
    async fn brake_if_escaped(&self) {
        let (shared, own) = (&self.shared, &self.shared.own);
        if shared.is_barred() {
            shared.hold_back(own, &own.module(), ESCAPED).await;
        }
        let roster = shared.roster();
        for (_, entry) in roster.iter().flat_map(|roster| roster.entries()) {
            if let Entry::Running(tenant) = entry
                && tenant.is_quarantined(&tenant.module())
            {
                shared.hold_back(tenant, &tenant.module(), ESCAPED).await;
            }
        }
    }

    /// Says how a request ended.
    async fn tell(&self, replay: i64) {
        let consumer = &self.shared.name;
        if let Ok(progress) = self.shared.inbox.replays(&[replay]).await
            && let Some(of) = progress.first()
        {
            tracing::info!(%consumer, replay, letters = of.letters, resolved = of.resolved, rejected = of.rejected, duplicate = of.duplicate, gone = of.gone, kept = of.kept, "a replay has ended");
        }
    }

    /// Whatever ran was dropped, and so rolled back.
    async fn release(&self) {
        let release = self
            .shared
            .inbox
            .release_replays(self.shared.host.id, self.turn.as_ref());
        if let Ok(Err(error)) = tokio::time::timeout(RELEASE, release).await {
            tracing::debug!(consumer = %self.shared.name, %error, "replays could not be given back; another host takes them once this one is not seen any more");
        }
    }

    fn say(&mut self, failure: &Failure) {
        let consumer = &self.shared.name;
        match self.repeats.failed(Instant::now()) {
            Say::First => tracing::warn!(%consumer, %failure, "replays have to wait"),
            Say::Again(times, since) => {
                tracing::warn!(%consumer, %failure, times, ?since, "replays still have to wait");
            }
            Say::Nothing => {}
        }
    }
}

/// Why a consumer's replays wait.
fn held(control: &Control) -> String {
    let reason = control.reason.as_deref().unwrap_or_default();
    format!("the consumer is {}: {reason}", control.state.as_str())
}

/// Why a letter that is not open any more has no try.
fn untried(closed: Option<&StoredLetter>) -> Untried {
    match closed.map(|letter| letter.status) {
        // Its event was handled.
        Some(LetterStatus::Superseded | LetterStatus::Resolved) => Untried::Duplicate,
        Some(LetterStatus::Open | LetterStatus::Discarded) | None => Untried::Gone,
    }
}
