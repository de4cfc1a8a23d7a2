//! Replays letters of one consumer, one by one. Each keeps its own wait: a letter that cannot be handled now is put off, and
//! others have their turn.
//!
//! It reaches no partition and no topic: a letter goes through the claim, the handler and the commit that its record
//! went through, in a transaction whose fence is the request. One host works on a request at a time. Which letter is next
//! is decided in `inbox/replays`, whose rows outlive the host.

mod letter;
mod news;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::backoff::RetryPolicy;
use tidegate_core::control::Control;
use tidegate_core::failure::Failure;
use tidegate_core::replay::Wait;
use tokio_util::sync::CancellationToken;

use crate::inbox::{LetterStatus, StoredLetter, Taken, Turn, Untried};
use crate::worker::react::short;
use crate::worker::repeats::{Repeats, Say};
use crate::worker::roster::Entry;
use crate::worker::shared::Shared;
use letter::{Ended, Letter};
use news::{News, Told};

/// How often it looks for requests.
const TICK: Duration = Duration::from_secs(1);
/// The shortest time between two rounds in which no letter is due.
const SHORTEST: Duration = Duration::from_millis(2);
/// How often strands are looked through, while no letter is due.
const STRANDS: Duration = Duration::from_secs(2);
/// How long it leaves off after failures in a row.
const PAUSES: RetryPolicy = RetryPolicy {
    initial: Duration::from_millis(500),
    max: Duration::from_secs(5),
    max_elapsed: Duration::MAX,
    max_attempts: None,
};
/// Why a module that tried to leave its transaction brakes its consumer.
const ESCAPED: &str = "the module tried to leave its transaction, in a replay";
/// Why no letter has its turn before another module is there.
const QUARANTINED: &str = "the module is quarantined until another one is activated";
/// How long giving requests back may take at the end.
const RELEASE: Duration = Duration::from_secs(2);

/// Replays what is asked for until `stop`.
pub async fn replay(shared: Arc<Shared>, stop: CancellationToken) {
    let mut replayer = Replayer {
        news: News::new(&shared),
        shared,
        turn: None,
        owed: None,
        freed: None,
        told: Told::default(),
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
    news: News,
    /// The letter that is announced.
    turn: Option<Turn>,
    /// What is to become of its turn, which is not written down yet.
    owed: Option<Owed>,
    /// When strands were last looked through.
    freed: Option<Instant>,
    told: Told,
    repeats: Repeats,
}

/// What becomes of a turn outside a letter's transaction.
enum Owed {
    Settle(Untried),
    PutOff(Wait),
}

impl Replayer {
    async fn run(&mut self) -> Infallible {
        loop {
            match self.round().await {
                Ok(pause) => {
                    self.repeats.over();
                    self.news.wait(pause).await;
                }
                Err(failure) => {
                    self.say(&failure);
                    let turn = u32::try_from(self.repeats.count()).unwrap_or(u32::MAX);
                    tokio::time::sleep(PAUSES.wait(turn, fastrand::f64())).await;
                }
            }
        }
    }

    /// Gives one letter its turn; how long until the next round.
    async fn round(&mut self) -> Result<Duration, Failure> {
        self.pay().await?;
        let (shared, host) = (Arc::clone(&self.shared), self.shared.host.id);
        let inbox = &shared.inbox;
        if !shared.is_ours() || !inbox.has_replay(&shared.name).await? {
            return Ok(TICK);
        }
        if let Some(words) = self.held() {
            inbox.replays_wait(&shared.name, Some(&words)).await?;
            return Ok(TICK);
        }
        if self.news.is_there() {
            inbox.wake_replays(&shared.name).await?;
            self.news.heard();
        }
        // Announced behind whoever has the stage alone: its death is not this letter's.
        let stage = shared.stage.shared().await;
        let taken = inbox.take_turn(&shared.name, host).await?;
        drop(stage);
        match taken {
            None => return self.idle().await,
            Some(Taken::Empty(replay)) => {
                if inbox.finish_replay(replay, host).await? {
                    self.tell(replay).await;
                }
            }
            Some(Taken::Turn(turn)) => {
                self.turn = Some(turn.clone());
                self.owed = self.one(turn).await;
                let all_wait = match &self.owed {
                    Some(Owed::PutOff(wait)) if wait.in_place => wait.time,
                    _ => Duration::ZERO,
                };
                self.pay().await?;
                return Ok(all_wait);
            }
        }
        Ok(Duration::ZERO)
    }

    /// Why no letter of the consumer may have its turn now.
    fn held(&self) -> Option<String> {
        match self.shared.runs() {
            false => Some(held(&self.shared.control())),
            true if self.shared.is_barred() => Some(QUARANTINED.to_owned()),
            true => None,
        }
    }

    /// Writes down what becomes of the turn that was taken. Until that is done none is taken: the letter's mark stands,
    /// and would count as a host's death.
    async fn pay(&mut self) -> Result<(), Failure> {
        let (inbox, host) = (&self.shared.inbox, self.shared.host.id);
        match (&self.turn, &self.owed) {
            (Some(turn), Some(Owed::Settle(why))) => inbox.settle_turn(turn, host, *why).await?,
            (Some(turn), Some(Owed::PutOff(wait))) => inbox.put_off(turn, host, wait).await?,
            _ => {}
        }
        (self.turn, self.owed) = (None, None);
        Ok(())
    }

    /// No letter is due: how long until one may be.
    async fn idle(&mut self) -> Result<Duration, Failure> {
        let (inbox, consumer) = (&self.shared.inbox, &self.shared.name);
        if self.freed.is_none_or(|at| at.elapsed() >= STRANDS) {
            self.freed = Some(Instant::now());
            if inbox.free_strands(consumer).await? > 0 {
                return Ok(Duration::ZERO);
            }
        }
        let next = inbox.next_turn(consumer).await?;
        Ok(next.map_or(TICK, |next| next.clamp(SHORTEST, TICK)))
    }

    /// Gives a letter its turn; what is still to be written down of it.
    async fn one(&mut self, turn: Turn) -> Option<Owed> {
        let shared = Arc::clone(&self.shared);
        let again = |failure: &Failure| {
            let tries = turn.tries.clone();
            Owed::PutOff(Wait {
                time: Duration::ZERO,
                words: short(failure),
                stopped: false,
                in_place: true,
                tries,
            })
        };
        let is_open =
            |letter: &StoredLetter| letter.status == LetterStatus::Open && letter.id == turn.letter;
        let stored = match shared.inbox.letter(&turn.letter).await {
            Ok(Some(stored)) if is_open(&stored) => stored,
            Ok(closed) => return Some(Owed::Settle(untried(closed.as_ref()))),
            Err(failure) => return Some(again(&failure)),
        };
        let letter = Letter::new(Arc::clone(&shared), turn.clone(), stored);
        match letter.replay().await {
            Ended::Settled { published: true } => {
                shared.letters.notify_one();
                self.brake_if_escaped().await;
                None
            }
            Ended::Settled { published: false } | Ended::Lost => None,
            // Somebody closed it as it was about to run.
            Ended::Closed => match shared.inbox.letter(&turn.letter).await {
                Ok(closed) => Some(Owed::Settle(untried(closed.as_ref()))),
                Err(failure) => Some(again(&failure)),
            },
            Ended::Left => Some(Owed::Settle(Untried::Kept)),
            Ended::Waits(wait) => {
                self.told.say(&shared.name, &turn, &wait);
                Some(Owed::PutOff(wait))
            }
        }
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
