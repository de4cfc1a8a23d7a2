//! The states of an assigned partition: assigned, consuming, draining, closed.

use std::time::Duration;

/// Where an assigned partition stands. Times are durations since any one fixed moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// Assigned; its position is being decided, or waits for an operator.
    Assigned,
    /// Its records are fetched and handled.
    Consuming,
    /// It is to be handed over: no new batch begins, the running one may end.
    Draining {
        /// When the running batch is given up.
        deadline: Duration,
    },
    /// It is handed over; nothing more happens.
    Closed,
}

/// What happened to a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its position is decided and written down.
    Placed {
        /// The first offset to handle.
        at: i64,
    },
    /// Its position cannot be had now: Kafka or PostgreSQL did not answer.
    Unready,
    /// Its position was refused: it waits for an operator.
    Refused,
    /// It is time to try again to decide on the position.
    Again,
    /// The progress row has another owner, or another N, although Kafka still assigns the partition to us.
    Fenced,
    /// Kafka takes it away in good order, or the host shuts down.
    Revoked {
        /// How long the running batch may take to end.
        grace: Duration,
    },
    /// Kafka has given it away already: whatever still runs would be fenced.
    Lost,
    /// No batch runs any more.
    Drained,
    /// Time passed.
    Tick,
}

/// What to do about a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Take the token, read K, decide where to resume.
    FindPosition,
    /// The same, after a backoff.
    FindPositionLater,
    /// Give up deciding where to resume.
    CancelPosition,
    /// Fetch from there.
    Fetch {
        /// The first offset.
        at: i64,
    },
    /// Begin no new batch; say `Drained` once none runs.
    BeginNoBatch,
    /// Roll back the running batch.
    AbandonBatch,
    /// Drop what is buffered.
    DropBuffers,
    /// Commit Kafka's offset and wait for the answer; the one in flight is awaited first.
    CommitOffset {
        /// Until when to wait.
        deadline: Duration,
    },
    /// Give the partition back to Kafka.
    Unassign,
    /// Show the partition as stopped; readiness fails.
    ShowStopped,
}

impl Partition {
    /// A partition just assigned, and what to do first.
    pub fn assigned() -> (Self, Vec<Action>) {
        (Partition::Assigned, vec![Action::FindPosition])
    }

    /// The state after `event` at time `now`, and what to do, in order. An event that comes too late for
    /// its state changes nothing.
    pub fn on(self, event: Event, now: Duration) -> (Self, Vec<Action>) {
        match self {
            Partition::Assigned => on_assigned(event),
            Partition::Consuming => on_consuming(event, now),
            Partition::Draining { deadline } => on_draining(deadline, event, now),
            Partition::Closed => (Partition::Closed, Vec::new()),
        }
    }
}

fn on_assigned(event: Event) -> (Partition, Vec<Action>) {
    use Partition::{Assigned, Closed, Consuming};
    match event {
        Event::Placed { at } => (Consuming, vec![Action::Fetch { at }]),
        Event::Refused => (Assigned, vec![Action::ShowStopped]),
        Event::Again => (Assigned, vec![Action::FindPosition]),
        Event::Unready | Event::Fenced => (Assigned, vec![Action::FindPositionLater]),
        Event::Revoked { .. } | Event::Lost => {
            (Closed, vec![Action::CancelPosition, Action::Unassign])
        }
        Event::Drained | Event::Tick => (Assigned, Vec::new()),
    }
}

fn on_consuming(event: Event, now: Duration) -> (Partition, Vec<Action>) {
    match event {
        Event::Fenced => (
            Partition::Assigned,
            vec![
                Action::AbandonBatch,
                Action::DropBuffers,
                Action::FindPositionLater,
            ],
        ),
        Event::Revoked { grace } => {
            let deadline = now.saturating_add(grace);
            (
                Partition::Draining { deadline },
                vec![Action::BeginNoBatch, Action::DropBuffers],
            )
        }
        Event::Lost => given_up(),
        Event::Placed { .. }
        | Event::Unready
        | Event::Refused
        | Event::Again
        | Event::Drained
        | Event::Tick => (Partition::Consuming, Vec::new()),
    }
}

fn on_draining(deadline: Duration, event: Event, now: Duration) -> (Partition, Vec<Action>) {
    match event {
        Event::Drained => (
            Partition::Closed,
            vec![Action::CommitOffset { deadline }, Action::Unassign],
        ),
        Event::Lost | Event::Fenced => given_up(),
        Event::Tick if now >= deadline => given_up(),
        // A shutdown during a revocation may shorten it, never lengthen it.
        Event::Revoked { grace } => {
            let deadline = deadline.min(now.saturating_add(grace));
            (Partition::Draining { deadline }, Vec::new())
        }
        Event::Placed { .. } | Event::Unready | Event::Refused | Event::Again | Event::Tick => {
            (Partition::Draining { deadline }, Vec::new())
        }
    }
}

/// Nothing may be committed any more: the next owner redoes what was under way.
fn given_up() -> (Partition, Vec<Action>) {
    (
        Partition::Closed,
        vec![Action::AbandonBatch, Action::DropBuffers, Action::Unassign],
    )
}

#[cfg(test)]
mod tests;
