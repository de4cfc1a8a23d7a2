//! Records that run alone under a mark, after hosts have died at their place.

use std::sync::Arc;

use tidegate_core::failure::Broken;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::faults::{self, Point};
use crate::worker::partition::Partition;

/// One for the whole process: batches share it, a record under a mark has it alone, so that whoever takes the process
/// down meanwhile is that record.
#[derive(Clone, Default)]
pub struct Stage(Arc<RwLock<()>>);

/// A turn on the stage.
pub(super) enum Turn {
    /// Beside others.
    Shared(#[expect(dead_code, reason = "held, not read")] OwnedRwLockReadGuard<()>),
    /// Alone.
    Alone(#[expect(dead_code, reason = "held, not read")] OwnedRwLockWriteGuard<()>),
}

impl Stage {
    /// Waits for whoever has it alone.
    pub(super) async fn shared(&self) -> Turn {
        Turn::Shared(Arc::clone(&self.0).read_owned().await)
    }

    /// Waits for all others.
    pub(super) async fn alone(&self) -> Turn {
        Turn::Alone(Arc::clone(&self.0).write_owned().await)
    }
}

impl Partition {
    /// Whether the record at the front is to run alone, under a mark. One that is decided runs no guest.
    pub(super) fn must_be_marked(&self) -> bool {
        let front = self.pending.front();
        self.caution.alone() && front.is_some_and(|front| front.decided.is_none())
    }

    /// Waits for a turn; none if no batch may begin any more.
    pub(super) async fn turn(&mut self, marked: bool) -> Option<Turn> {
        let stage = self.shared.stage.clone();
        let turn = async {
            match marked {
                true => stage.alone().await,
                false => stage.shared().await,
            }
        };
        tokio::select! {
            turn = turn => Some(turn),
            _ = self.may_begin.wait_for(|may| !may) => None,
        }
    }

    /// Announces the record at the front. Unannounced it must not run.
    pub(super) async fn mark(&mut self) -> Result<(), Broken> {
        let Some(front) = self.pending.front() else {
            return Ok(());
        };
        let key = self.shared.key(&self.source);
        self.shared.marks(&self.source);
        let marked = self
            .shared
            .inbox
            .mark(&key, self.at.token, front.offset())
            .await;
        faults::at(Point::Marked, front.offset());
        // Where the token is not ours the fence says so next.
        marked.map(drop).map_err(Broken::from)
    }

    /// The marked record's attempt has ended. A mark that cannot be taken back is taken back with the next one, or with
    /// the token; until then it stands for a process that lives.
    pub(super) async fn unmark(&mut self, committed: bool) {
        if committed {
            // N is beyond it: the mark means nothing any more.
            self.caution.passed();
        } else {
            let key = self.shared.key(&self.source);
            if let Err(error) = self.shared.inbox.unmark(&key, self.at.token).await {
                tracing::debug!(partition = %self.source, %error, "a record's mark could not be taken back now");
                return;
            }
        }
        self.shared.unmarks(&self.source);
    }
}
