//! How long the records of a consumer take.

use std::time::Duration;

/// A batch waits for a lock as long as this many of its kind take: others end and give their locks free.
const BATCHES: u32 = 4;
/// A record that takes longer than this gains little by sharing a transaction's cost, and much by not queueing.
const SLOW: Duration = Duration::from_micros(500);
/// A batch of fewer records tells nothing of what one costs.
const TELLING: usize = 16;
/// So many undisturbed batches in a row prove records slow: one alone may have waited.
const PROOFS: u32 = 3;

/// What a record takes, as the batches that committed tell it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Where nothing stands in its way.
    record: Option<Duration>,
    /// Undisturbed batches in a row whose records were slow.
    slow: u32,
}

impl Pace {
    /// A batch of so many records committed after `time`, `undisturbed` by others of its host.
    pub(super) fn committed(&mut self, records: usize, time: Duration, undisturbed: bool) {
        if records < TELLING {
            return;
        }
        let record = time / u32::try_from(records).unwrap_or(u32::MAX);
        // Waiting makes a batch slower, never faster: the quickest tells, and is forgotten little by little.
        let forgotten = |known: Duration| known + known / 16;
        self.record = Some(
            self.record
                .map_or(record, |known| record.min(forgotten(known))),
        );
        if record <= SLOW {
            self.slow = 0;
        } else if undisturbed {
            self.slow = self.slow.saturating_add(1);
        }
    }

    /// Whether records are proven slow.
    pub(super) fn is_slow(self) -> bool {
        self.slow >= PROOFS
    }

    /// How long a batch of so many records waits for others; zero while nothing is known.
    pub(super) fn patience(self, records: usize) -> Duration {
        let records = u32::try_from(records).unwrap_or(u32::MAX);
        let record = self.record.unwrap_or_default();
        record.saturating_mul(records.saturating_mul(BATCHES))
    }
}
