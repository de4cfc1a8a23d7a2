//! One letter's turn: handled, rejected again, put off, or found to be somebody else's.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::claim::Claimed;
use tidegate_core::crash;
use tidegate_core::failure::Broken;
use tidegate_core::letter::{Cause, letter_id};
use tidegate_core::outcome::Outcome;
use tidegate_core::replay::{Around, Next, Tries, Wait, took_hosts_down};
use tidegate_core::verdict::{Facts, cause};
use tidegate_core::witness::Others;

use crate::inbox::{ReplayBegun, ReplayEnd, ReplayHead, ReplayResult, StoredLetter, Turn};
use crate::worker::cast::{Cast, Part, Runner};
use crate::worker::guests::{Guests, Ran};
use crate::worker::pending::Pending;
use crate::worker::react::short;
use crate::worker::shared::Shared;

/// How long it waits at a time for a consumer that is held back, or for tenants that are being read.
const HELD: Duration = Duration::from_millis(500);

/// How a letter's turn ended.
pub(super) enum Ended {
    /// It has its result; whether there is a letter to publish.
    Settled { published: bool },
    /// The letter was closed by somebody else, and the turn is still to be settled.
    Closed,
    /// Another host works on the request, or it was cancelled.
    Lost,
    /// Its tenant cannot run: the letter stays as it is, and the turn is still to be settled.
    Left,
    /// It waits by itself, and the turn is still to be put off.
    Waits(Wait),
}

/// How one try ended, where the turn goes on.
enum Went {
    On(Ended),
    Broken(Broken),
    /// The consumer is paused or braked, or its module is quarantined.
    Held,
}

/// A letter whose turn it is.
pub(super) struct Letter {
    shared: Arc<Shared>,
    turn: Turn,
    stored: StoredLetter,
    pending: Pending,
    tries: Tries,
}

impl Letter {
    /// Reads the record's id and TTL by today's configuration.
    pub(super) fn new(shared: Arc<Shared>, turn: Turn, stored: StoredLetter) -> Self {
        let mut pending = Pending::new(stored.letter.record.clone(), &shared.config);
        pending.replay_round = u32::try_from(stored.replay_round + 1).unwrap_or(1);
        let deaths = turn.marks - 1;
        if pending.decided.is_none() && u32::try_from(deaths).is_ok_and(|n| n >= crash::DEATHS) {
            pending.decided = Some(took_hosts_down(deaths));
        }
        Self {
            shared,
            tries: turn.tries.clone(),
            turn,
            stored,
            pending,
        }
    }

    /// Tries it until its turn is over. Where it has to wait that is so at once: others have theirs.
    pub(super) async fn replay(mut self) -> Ended {
        loop {
            self.pending.attempts = self.tries.attempts;
            let wait = match self.turn().await {
                Went::On(ended) => return ended,
                Went::Held => Some(self.held()),
                Went::Broken(broken) => self.react(broken).await,
            };
            if let Some(wait) = wait {
                return Ended::Waits(wait);
            }
        }
    }

    /// One try, beside others; alone in the process where hosts have ended at this letter.
    async fn turn(&mut self) -> Went {
        let cast = match self.cast().await {
            Ok(cast) => cast,
            Err(went) => return went,
        };
        let stage = self.shared.stage.clone();
        let _turn = match self.turn.marks {
            ..=1 => stage.shared().await,
            _ => stage.alone().await,
        };
        Box::pin(self.attempt(cast)).await
    }

    /// Who runs it. Where its tenant cannot run, the letter stays as it is and others have their turn.
    async fn cast(&self) -> Result<Cast, Went> {
        if self.pending.decided.is_none() && self.shared.is_barred() {
            return Err(Went::Held);
        }
        let one = std::slice::from_ref(&self.pending);
        let cast = Cast::of(&self.shared, one).map_err(|_| Went::Held)?;
        match &cast.parts[..] {
            _ if self.pending.decided.is_some() => Ok(cast),
            [Part::PutAside(cause)] => Err(self.left(&cast, &cause.message).await),
            [Part::Stop(reason)] => Err(self.left(&cast, reason).await),
            _ => Ok(cast),
        }
    }

    /// No fence is met here that would tell an old word from today's.
    async fn left(&self, cast: &Cast, reason: &str) -> Went {
        match self.shared.inbox.tenants_revision(&self.shared.name).await {
            Ok(revision) if cast.revision == Some(revision) => {}
            Ok(_) => return Went::Held,
            Err(failure) => return Went::Broken(failure.into()),
        }
        let (consumer, letter) = (&self.shared.name, &self.stored.id);
        tracing::warn!(%consumer, letter, reason, "a letter is left as it is: its tenant cannot run");
        Went::On(Ended::Left)
    }

    async fn attempt(&mut self, cast: Cast) -> Went {
        let head = self.head(&cast);
        let (db, claimed) = match self
            .shared
            .inbox
            .begin_replay(&head, self.tries.fresh)
            .await
        {
            Ok(ReplayBegun::Open(db, claimed)) => (db, claimed),
            // Nothing is lost if it was rejected: the relay looks by itself.
            Ok(ReplayBegun::Landed) => return Went::On(Ended::Settled { published: false }),
            Ok(ReplayBegun::Held) => return Went::Held,
            Ok(ReplayBegun::Fenced) => return Went::On(Ended::Lost),
            Ok(ReplayBegun::Closed) => return Went::On(Ended::Closed),
            Err(failure) => return Went::Broken(failure.into()),
        };
        let digest = cast.digest(0);
        let runner = cast.parts.first().and_then(Part::runner);
        let (db, ran) = match (&self.pending.decided, claimed, runner) {
            (_, Some(Claimed::Duplicate), _) => (db, None),
            (Some(cause), _, _) => (db, Some(Ran::Rejected(cause.clone()))),
            // An unknown or disabled tenant's, which the configuration passes over.
            (None, _, None) => (db, Some(Ran::As(Outcome::Skipped))),
            (None, _, Some(runner)) => {
                let mut guests = Guests::new(&self.shared, db);
                match guests.run(runner, &self.pending).await {
                    Ok(ran) => (guests.into_db(), Some(ran)),
                    Err(broken) => {
                        guests.into_db().rollback().await;
                        return Went::Broken(broken);
                    }
                }
            }
        };
        let end = self.end(ran, digest);
        let published = matches!(end.result, ReplayResult::Rejected { .. });
        match db.commit_replay(end).await {
            Ok(_) => Went::On(Ended::Settled { published }),
            Err(broken) => Went::Broken(broken),
        }
    }

    fn head(&self, cast: &Cast) -> ReplayHead {
        ReplayHead {
            module: cast.consumers_module(&self.shared),
            key: self.shared.key(&self.pending.record.source),
            log_epoch: self.stored.log_epoch,
            turn: (self.turn.replay, self.turn.position),
            owner: self.shared.host.id,
            letter: self.stored.id.clone(),
            claim: self.pending.claim.clone(),
            module_digest: cast.digest(0),
            tenants_revision: cast.revision,
        }
    }

    /// What the try that `ran` is committed with; nothing ran where the event had been handled.
    fn end(&self, ran: Option<Ran>, digest: Option<[u8; 32]>) -> ReplayEnd {
        let claim = self.pending.claim.as_ref();
        let event = claim.map(|claim| (claim.scope.clone(), claim.event_id.clone()));
        let outcome = |outcome: Outcome| {
            let event = event.clone().into_iter();
            event.map(|(scope, id)| (scope, id, outcome)).collect()
        };
        let (result, outcomes, handled) = match ran {
            None => (ReplayResult::Duplicate, Vec::new(), false),
            Some(Ran::As(Outcome::Done)) => (ReplayResult::Resolved, Vec::new(), true),
            Some(Ran::As(other)) => (ReplayResult::Resolved, outcome(other), true),
            Some(Ran::Rejected(cause)) => (self.rejected(cause), outcome(Outcome::Rejected), false),
        };
        ReplayEnd {
            outcomes,
            superseded: event.filter(|_| handled).into_iter().collect(),
            result,
            publishes: self.shared.config.dead_letter_topic.is_some(),
            module_digest: digest,
        }
    }

    fn rejected(&self, cause: Cause) -> ReplayResult {
        let (stored, record) = (&self.stored, &self.pending.record);
        let log = (stored.cluster_id.as_str(), stored.log_epoch);
        let round = self.pending.replay_round;
        ReplayResult::Rejected {
            id: letter_id(&self.shared.name, log, &record.source, record.offset, round),
            event: (self.pending.scope().to_owned(), self.pending.known_id()),
            tenant: self.pending.tenant(),
            cause: self.shared.config.letters.kept(cause),
        }
    }

    /// What a try that broke comes to: a wait, or another try at once.
    async fn react(&mut self, broken: Broken) -> Option<Wait> {
        let around = Around {
            healthy: broken.is_doubtful() && self.shared.inbox.ping().await.is_ok(),
            others: self.others(&broken).await,
        };
        let retry = &self.shared.config.retry;
        let next = self.tries.broke(&broken, around, retry, fastrand::f64());
        tracing::debug!(consumer = %self.shared.name, letter = %self.stored.id, failure = %broken.failure, ?next, "a replay's try broke and was rolled back");
        match next {
            Next::AtOnce => None,
            Next::InPlace(time) => Some(Wait {
                in_place: true,
                ..self.wait(time, short(&broken.failure))
            }),
            Next::Again(time) => Some(self.wait(time, short(&broken.failure))),
            Next::Stop(time, reason) => Some(Wait {
                stopped: true,
                ..self.wait(time, format!("stopped: {reason}"))
            }),
            Next::Reject(cause) => {
                self.pending.decided = Some(cause);
                None
            }
            Next::Escape(cause) => {
                self.pending.decided = Some(cause);
                self.escaped().await;
                None
            }
        }
    }

    /// Whether a *stop* code is the letter's own fault: it has been so before, or its statement works for records now.
    async fn others(&self, broken: &Broken) -> Others {
        match self.tries.fresh && self.is_at_fault(broken).await {
            true => Others::Work,
            false => Others::Unknown,
        }
    }

    async fn is_at_fault(&self, broken: &Broken) -> bool {
        let Some(refusal) = broken.in_question() else {
            return false;
        };
        let code = cause(&broken.failure, Facts::default()).sqlstate;
        if code.is_some() && code == self.stored.letter.cause.sqlstate {
            return true;
        }
        let cast = Cast::of(&self.shared, std::slice::from_ref(&self.pending)).ok();
        let Some(runner) = cast.as_ref().and_then(|cast| cast.runners().first()) else {
            return false;
        };
        let memory = &runner.tenant.conduct.memory;
        matches!(self.shared.inbox.schema().await, Ok(schema) if memory.refute(refusal, schema))
    }

    async fn escaped(&self) {
        let shared = &self.shared;
        let cast = Cast::of(shared, std::slice::from_ref(&self.pending)).ok();
        let runner = cast.as_ref().and_then(|cast| cast.runners().first());
        let Some(Runner { tenant, module }) = runner.map(|runner| &**runner) else {
            return;
        };
        let digest = module.digest();
        tracing::error!(consumer = %shared.name, letter = %self.stored.id, tenant = tenant.name(), module = module.name(), digest = %hex::encode(digest), "the module tried to leave a replay's transaction; it is quarantined until another module is activated");
        tenant.conduct.quarantine(digest);
    }

    fn wait(&self, time: Duration, words: String) -> Wait {
        Wait {
            time,
            words,
            stopped: false,
            in_place: false,
            tries: self.tries.clone(),
        }
    }

    fn held(&self) -> Wait {
        self.shared.look.notify_one();
        self.shared.look_at_tenants.notify_one();
        let words = match self.shared.runs() {
            false => super::held(&self.shared.control()),
            true => "who may run is being read anew".to_owned(),
        };
        self.wait(HELD, words)
    }
}
