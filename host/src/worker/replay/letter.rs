//! One letter's turn: tried until it is handled, rejected again, or somebody else's.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::claim::Claimed;
use tidegate_core::crash;
use tidegate_core::failure::Broken;
use tidegate_core::letter::{Cause, letter_id};
use tidegate_core::outcome::Outcome;
use tidegate_core::replay::{Next, Tries, took_hosts_down};

use crate::engine::Module;
use crate::inbox::{ReplayBegun, ReplayEnd, ReplayHead, ReplayResult, StoredLetter, Turn};
use crate::worker::guests::{Guests, Ran};
use crate::worker::pending::Pending;
use crate::worker::shared::{Db, Shared};

/// How long it waits at a time for a consumer or a module that is held back.
const HELD: Duration = Duration::from_millis(500);

/// How a letter's turn ended.
pub(super) enum Ended {
    /// It has its result; whether there is a letter to publish.
    Settled { published: bool },
    /// The letter was closed by somebody else, and the turn is still to be settled.
    Closed,
    /// Another host works on the request, or it was cancelled.
    Lost,
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
    /// What the request says that it waits for.
    waits: Option<String>,
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
            turn,
            stored,
            pending,
            tries: Tries::default(),
            waits: None,
        }
    }

    /// Tries it until its turn is over.
    pub(super) async fn replay(mut self) -> Ended {
        loop {
            self.pending.attempts = self.tries.attempts;
            match self.turn().await {
                Went::On(ended) => return ended,
                Went::Held => self.held().await,
                Went::Broken(broken) => self.react(broken).await,
            }
        }
    }

    /// One try, beside others; alone in the process where hosts have ended at this letter.
    async fn turn(&mut self) -> Went {
        let module = self.shared.module();
        if self.pending.decided.is_none() && self.shared.is_quarantined(&module) {
            return Went::Held;
        }
        let stage = self.shared.stage.clone();
        let _turn = match self.turn.marks {
            ..=1 => stage.shared().await,
            _ => stage.alone().await,
        };
        Box::pin(self.attempt(module)).await
    }

    async fn attempt(&mut self, module: Arc<Module<Db>>) -> Went {
        let head = self.head(&module);
        let (mut db, claimed) = match self
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
        db.run_by(self.shared.guest(&module));
        let digest = module.digest();
        let (db, ran) = match (&self.pending.decided, claimed) {
            (_, Some(Claimed::Duplicate)) => (db, None),
            (Some(cause), _) => (db, Some(Ran::Rejected(cause.clone()))),
            (None, _) => {
                let mut guests = Guests::new(&self.shared, module, db);
                match guests.run(&self.pending).await {
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

    fn head(&self, module: &Module<Db>) -> ReplayHead {
        ReplayHead {
            key: self.shared.key(&self.pending.record.source),
            log_epoch: self.stored.log_epoch,
            turn: (self.turn.replay, self.turn.position),
            owner: self.shared.host.id,
            letter: self.stored.id.clone(),
            claim: self.pending.claim.clone(),
            module_digest: Some(module.digest()),
        }
    }

    /// What the try that `ran` is committed with; nothing ran where the event had been handled.
    fn end(&self, ran: Option<Ran>, digest: [u8; 32]) -> ReplayEnd {
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
            module_digest: Some(digest),
        }
    }

    fn rejected(&self, cause: Cause) -> ReplayResult {
        let (stored, record) = (&self.stored, &self.pending.record);
        let log = (stored.cluster_id.as_str(), stored.log_epoch);
        let round = self.pending.replay_round;
        ReplayResult::Rejected {
            id: letter_id(&self.shared.name, log, &record.source, record.offset, round),
            event: (self.pending.scope().to_owned(), self.pending.known_id()),
            cause: self.shared.config.letters.kept(cause),
        }
    }

    async fn react(&mut self, broken: Broken) {
        let healthy = broken.is_doubtful() && self.shared.inbox.ping().await.is_ok();
        let retry = &self.shared.config.retry;
        let next = self.tries.broke(&broken, healthy, retry, fastrand::f64());
        tracing::debug!(consumer = %self.shared.name, letter = %self.stored.id, failure = %broken.failure, ?next, "a replay's try broke and was rolled back");
        match next {
            Next::Again(wait) => self.wait(wait).await,
            Next::Stop(wait, reason) => {
                self.say(&format!("stopped: {reason}")).await;
                self.wait(wait).await;
            }
            Next::Reject(cause) => self.pending.decided = Some(cause),
            Next::Escape(cause) => {
                self.pending.decided = Some(cause);
                self.escaped().await;
            }
        }
    }

    async fn escaped(&self) {
        let (shared, module) = (&self.shared, self.shared.module());
        let digest = module.digest();
        tracing::error!(consumer = %shared.name, letter = %self.stored.id, module = module.name(), digest = %hex::encode(digest), "the module tried to leave a replay's transaction; it is quarantined until another module is activated");
        shared.quarantine(&module);
    }

    /// Waits; another module ends it.
    async fn wait(&self, time: Duration) {
        let mut modules = self.shared.modules.clone();
        modules.mark_unchanged();
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            _ = modules.changed() => {}
        }
    }

    async fn held(&mut self) {
        let control = self.shared.control();
        let words = match control.runs() {
            false => super::held(&control),
            true => "the module is quarantined until another one is activated".to_owned(),
        };
        self.shared.look.notify_one();
        self.say(&words).await;
        self.wait(HELD).await;
    }

    /// Says once, in the log and in the request, what is waited for.
    async fn say(&mut self, words: &str) {
        if self.waits.as_deref() == Some(words) {
            return;
        }
        let consumer = &self.shared.name;
        tracing::warn!(%consumer, replay = self.turn.replay, words, "a replay waits");
        match self.shared.inbox.replays_wait(consumer, Some(words)).await {
            Ok(()) => self.waits = Some(words.to_owned()),
            Err(error) => tracing::debug!(%consumer, %error, "a replay's wait could not be told"),
        }
    }
}
