//! What a batch's transaction does about locks.

use std::time::Duration;

use sha2::{Digest, Sha256};

/// What a transaction does about locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// The longest wait for one, if shorter than what is configured.
    pub wait: Option<Duration>,
    /// Whether it first takes the consumer's own lock, so that no other host's batch runs beside it.
    pub alone: bool,
}

/// The key of the consumer's own lock in the database, which all of its hosts compute alike.
pub fn lock_key(consumer: &str) -> i64 {
    let digest = Sha256::digest(["tidegate lane", consumer].join("\0"));
    let first = digest.iter().take(8);
    first.fold(0, |key, byte| key << 8 | i64::from(*byte))
}
