//! One partition's loop: records in, batches committed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::batch::cut;
use tidegate_core::crash::Caution;
use tidegate_core::lanes::Locks;
use tidegate_core::record::TopicPartition;
use tidegate_core::split::Planner;
use tokio::sync::watch;

use crate::faults::{self, Point};
use crate::kafka::{PartitionQueue, QueueEnd};
use crate::meters::Place;
use crate::worker::attempt::{Attempt, attempt};
use crate::worker::burden::Burden;
use crate::worker::cast::ESCAPED;
use crate::worker::intake::Known;
use crate::worker::offsets::Offsets;
use crate::worker::pending::Pending;
use crate::worker::position::{Placed, Position};
use crate::worker::repeats::Repeats;
use crate::worker::shared::Shared;

/// How often an idle partition sees to its offsets.
const IDLE: Duration = Duration::from_secs(1);
/// How often a partition that is idle or waits looks whether the position is still its own: no batch of it meets the
/// fence.
const LOOK: Duration = Duration::from_secs(3);

/// Why a partition's loop ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// No batch runs, and none may begin.
    Drained,
    /// Another owner's token stands in the progress row.
    Fenced,
    /// The position is to be taken anew, for this reason.
    Again(String),
    /// What follows N in the log cannot be read.
    Unreadable(String),
}

/// A partition being consumed.
pub struct Partition {
    pub(super) shared: Arc<Shared>,
    pub(super) source: TopicPartition,
    /// Whether another batch may begin.
    pub(super) may_begin: watch::Receiver<bool>,
    pub(super) at: Position,
    pub(super) pending: VecDeque<Pending>,
    pub(super) planner: Planner,
    /// The next attempt takes a new connection with empty caches.
    pub(super) fresh: bool,
    /// The last attempt had one.
    pub(super) was_fresh: bool,
    pub(super) repeats: Repeats,
    pub(super) caution: Caution,
    /// The record for whose refused statement another one was found to work.
    pub(super) vouched: Option<i64>,
    pub(super) burden: Burden,
    known: Known,
    /// Taken in while a batch ran, behind what is pending.
    pub(super) ahead: Vec<Pending>,
    queue: PartitionQueue,
    offsets: Offsets,
    /// Where it stands, for the metrics.
    place: Arc<Place>,
    /// C as the progress row has it.
    recorded: Option<i64>,
    /// When the token was last looked at.
    looked: Instant,
}

impl Partition {
    /// Starts at `at`; Kafka is known to hold `at.committed`.
    pub fn new(
        shared: Arc<Shared>,
        queue: PartitionQueue,
        may_begin: watch::Receiver<bool>,
        at: Placed,
    ) -> Self {
        let (source, at) = (at.source, at.position);
        let offsets = Offsets::new(shared.kafka.clone(), source.clone(), at.committed);
        let most = shared.config.batch.max_records;
        let caution = Caution::after(at.ends, most);
        if caution.alone() {
            tracing::warn!(consumer = %shared.name, partition = %source, at = at.next, "hosts have died at this place: the next records run alone, each announced first");
        }
        let mut planner = Planner::new(most);
        if let Some(failing) = at.failing {
            planner.expect(failing.offset);
        }
        let known = Known::new(at.failing, caution);
        let burden = Burden::new(Arc::clone(&shared.name), &shared.config);
        Self {
            burden,
            // A group's offset ahead of N was not written down.
            recorded: at.committed.filter(|c| *c <= at.next),
            looked: Instant::now(),
            place: shared.meters.place(&source),
            shared,
            source,
            may_begin,
            at,
            pending: VecDeque::new(),
            planner,
            fresh: false,
            was_fresh: false,
            repeats: Repeats::default(),
            caution,
            vouched: None,
            known,
            ahead: Vec::new(),
            queue,
            offsets,
        }
    }

    /// N.
    pub fn next(&self) -> i64 {
        self.at.next
    }

    /// Runs until no batch may begin any more, or the position must be taken anew.
    pub async fn run(&mut self) -> End {
        // A position that was just written down is told to Kafka at once: an idle partition must not keep
        // a group offset that looks like a rewind to others.
        self.offsets.want(self.at.next);
        loop {
            self.offsets.poll();
            self.place.at(self.at.next, self.offsets.acknowledged());
            if !*self.may_begin.borrow() {
                return End::Drained;
            }
            if let Some(end) = self.step().await {
                return end;
            }
        }
    }

    async fn step(&mut self) -> Option<End> {
        self.refill();
        self.place.holds(!self.pending.is_empty());
        if self.pending.is_empty() {
            return self.idle().await;
        }
        if !self.shared.runs() {
            self.place.holds(false);
            // A command may have set the position: Kafka is told of it, and the row that it was.
            self.offsets.want(self.at.next);
            self.held().await;
            self.offsets.poll();
            self.record_acknowledged().await;
            return self.look().await;
        }
        self.burden
            .look(&self.pending, &self.queue, &self.shared.config);
        if self.must_wait() {
            self.hold_back(LOOK).await;
            return self.look().await;
        }
        self.linger().await;
        if !*self.may_begin.borrow() {
            return None;
        }
        let marked = self.must_be_marked();
        let taken = if marked { 1 } else { self.take() };
        faults::at(Point::BatchCut, self.pending[taken - 1].offset());
        let lanes = Arc::clone(&self.shared.lanes);
        let lane = lanes.enter(taken, &mut self.may_begin).await?;
        let turn = self.turn(marked).await?;
        let began = Instant::now();
        let ended = self.attempt(taken, marked, lane.locks).await;
        drop(turn);
        lane.leave(&ended);
        self.came_to(ended, taken, began.elapsed()).await
    }

    /// Tries the first `taken` records. A marked one is announced first.
    async fn attempt(&mut self, taken: usize, marked: bool, locks: Locks) -> Attempt {
        if marked && let Err(broken) = self.mark().await {
            return Attempt::Broken(broken);
        }
        self.at.committed = self.unrecorded();
        self.was_fresh = std::mem::take(&mut self.fresh);
        let more = self.pending.len() > taken;
        let (batch, fresh) = (self.pending.make_contiguous(), self.was_fresh);
        let how = (fresh, locks);
        let attempt = Box::pin(attempt(
            &self.shared,
            &self.at,
            &batch[..taken],
            how,
            &mut self.burden,
        ));
        let config = &self.shared.config;
        // Ids and TTLs of the next batch are read while the server works on this one.
        let look_ahead = async {
            if !more && !self.queue.is_empty() {
                // What the attempt has sent leaves first.
                tokio::task::yield_now().await;
                let most = (config.batch.max_records, config.batch.max_bytes);
                self.ahead
                    .extend(self.known.take_in(&self.queue, most, config));
            }
        };
        let ended = tokio::join!(attempt, look_ahead).0;
        if marked {
            self.unmark(matches!(ended, Attempt::Committed { .. }))
                .await;
        }
        ended
    }

    async fn came_to(&mut self, ended: Attempt, taken: usize, took: Duration) -> Option<End> {
        match ended {
            Attempt::Committed { next, letters } => {
                self.committed(next, letters);
                if letters > 0 && self.shared.is_barred() {
                    let own = Arc::clone(&self.shared.own);
                    self.brake(&own, &own.module(), ESCAPED).await;
                }
            }
            Attempt::SplitBefore(offset) => self.planner.split_before(offset),
            Attempt::TooLong => self.planner.broke(self.at.next, taken, None),
            Attempt::Landed(next) if next < self.at.next => {
                return Some(End::Again(format!(
                    "the progress row was set back to {next}"
                )));
            }
            Attempt::Landed(next) => self.landed(next),
            Attempt::Fenced => return Some(End::Fenced),
            Attempt::Held => self.await_news().await,
            Attempt::Tripped(tripped) => self.tripped(tripped, taken).await,
            Attempt::Broken(broken) => self.react(broken, taken, took).await,
        }
        None
    }

    /// Takes from the queue what one batch may hold: with what was taken in ahead at most two batches are out of the
    /// queue, which is what is bounded.
    fn refill(&mut self) {
        self.pending.extend(self.ahead.drain(..));
        let limits = self.shared.config.batch;
        let room = limits.max_records.saturating_sub(self.pending.len());
        let held: usize = self.pending.iter().map(|p| p.record.size()).sum();
        let bytes = limits.max_bytes.saturating_sub(held);
        if room > 0 && bytes > 0 && !self.queue.is_empty() {
            let config = &self.shared.config;
            self.pending
                .extend(self.known.take_in(&self.queue, (room, bytes), config));
        }
    }

    async fn linger(&mut self) {
        let limits = self.shared.config.batch;
        // Records that are tried again have waited already.
        let again = self.planner.breaker().is_some()
            || self.pending.front().is_some_and(|p| p.attempts > 0);
        if limits.max_wait.is_zero() || again {
            return;
        }
        let until = tokio::time::Instant::now() + limits.max_wait;
        while self.pending.len() < limits.max_records {
            tokio::select! {
                () = self.queue.wait() => self.refill(),
                _ = self.may_begin.changed() => return,
                () = tokio::time::sleep_until(until) => return,
            }
        }
    }

    fn take(&mut self) -> usize {
        let most = self.shared.lanes.most_records(self.shared.partitions());
        let planned = self
            .planner
            .take(self.pending.iter().map(Pending::offset))
            .clamp(1, most);
        let sizes = self.pending.iter().map(|p| p.record.size());
        let taken = cut(sizes, self.shared.config.batch, planned).max(1);
        if self.shared.is_barred() { 1 } else { taken }
    }

    fn committed(&mut self, next: i64, letters: usize) {
        if let Some(c) = self.at.committed.take() {
            self.recorded = Some(c);
        }
        if letters > 0 {
            self.shared.letters.notify_one();
        }
        self.going_again();
        self.landed(next);
    }

    fn landed(&mut self, next: i64) {
        while self.pending.front().is_some_and(|p| p.offset() < next) {
            self.pending.pop_front();
        }
        self.at.next = next;
        self.planner.committed(next);
        self.offsets.come_to(next);
    }

    async fn idle(&mut self) -> Option<End> {
        match self.queue.failure() {
            Some(QueueEnd::Unreadable(reason)) => return Some(End::Unreadable(reason)),
            Some(end) => return Some(End::Again(end.to_string())),
            None => {}
        }
        if let Some(end) = self.place.cut_at() {
            let next = self.at.next;
            return Some(End::Again(format!(
                "the log ends at {end}, before the next offset {next}"
            )));
        }
        tokio::select! {
            () = self.queue.wait() => {}
            _ = self.may_begin.changed() => {}
            () = self.offsets.follow(self.at.next) => {}
            () = tokio::time::sleep(IDLE) => {
                self.offsets.want(self.at.next);
                self.record_acknowledged().await;
                return self.look().await;
            }
        }
        None
    }

    /// Looks, now and then, whether somebody set the position or gave it away meanwhile.
    async fn look(&mut self) -> Option<End> {
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        let key = self.shared.key(&self.source);
        let held = tokio::select! {
            held = self.shared.inbox.holds(&key, self.at.token) => held,
            _ = self.may_begin.changed() => return None,
        };
        match held {
            Ok(held) => (!held).then_some(End::Fenced),
            Err(error) => {
                tracing::debug!(partition = %self.source, %error, "the token could not be looked at; the next batch meets the fence");
                None
            }
        }
    }

    /// What Kafka acknowledged and the row does not say yet. An offset ahead of N waits until N has come there: C
    /// beyond N would make a skip look like a rewind.
    fn unrecorded(&self) -> Option<i64> {
        let acknowledged = self.offsets.acknowledged();
        acknowledged.filter(|c| Some(*c) != self.recorded && *c <= self.at.next)
    }

    /// Writes C down by itself: no batch is there for it to ride in.
    async fn record_acknowledged(&mut self) {
        let Some(c) = self.unrecorded() else {
            return;
        };
        faults::at(Point::AcknowledgedWriting, c);
        let key = self.shared.key(&self.source);
        match self.shared.inbox.acknowledge(&key, self.at.token, c).await {
            Ok(_) => self.recorded = Some(c),
            Err(error) => {
                tracing::debug!(partition = %self.source, %error, "C could not be written; it rides in a later transaction")
            }
        }
    }

    /// Brings Kafka's offset and C up to N, as far as there is time by `deadline`. The commit in flight is
    /// awaited first.
    pub async fn give_back(&mut self, deadline: Instant) {
        let patience = || deadline.saturating_duration_since(Instant::now());
        self.offsets.settle(patience()).await;
        self.offsets.want(self.at.next);
        self.offsets.settle(patience()).await;
        self.release(patience()).await;
        faults::at(Point::GivenBack, self.at.next);
        let acknowledged = self.offsets.acknowledged();
        tracing::info!(consumer = %self.shared.name, partition = %self.source, next = self.at.next, acknowledged, "partition given back");
    }

    /// Gives the token back, and C with it.
    async fn release(&mut self, patience: Duration) {
        let (key, c) = (self.shared.key(&self.source), self.unrecorded());
        let release = self.shared.inbox.release(&key, self.at.token, c);
        match tokio::time::timeout(patience, release).await {
            // A batch may have landed whose COMMIT was not answered and that no fence has met since.
            Ok(Ok(Some(next))) if next > self.at.next => {
                self.shared.meters.landed(&self.source, self.at.token, next);
            }
            Ok(Err(error)) => {
                tracing::debug!(partition = %self.source, %error, "the token could not be given back; the next owner takes it");
            }
            Ok(Ok(_)) | Err(_) => {}
        }
    }
}
