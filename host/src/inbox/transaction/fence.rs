//! The row that a transaction begins with, and that proves at its end which transaction it is.

use tidegate_core::failure::Failure;
use uuid::Uuid;

use crate::inbox::error::unreachable;

/// The row that a transaction began with; `begun` is what the fence raised there.
#[derive(Clone, Debug)]
pub(super) enum Fence {
    /// A partition's progress.
    Partition { owner: Uuid, begun: i64 },
    /// A request to replay letters, at the turn of one.
    Replay {
        owner: Uuid,
        begun: i64,
        replay: i64,
        position: i64,
        /// The letter's id.
        letter: String,
    },
}

impl Fence {
    /// Owner and `begun` of a batch's fence.
    pub(super) fn partition(&self) -> Result<(Uuid, i64), Failure> {
        match self {
            Fence::Partition { owner, begun } => Ok((*owner, *begun)),
            Fence::Replay { .. } => Err(unreachable(
                "a batch's end was given to a replay's transaction".to_owned(),
            )),
        }
    }
}
