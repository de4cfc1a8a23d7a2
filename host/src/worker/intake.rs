//! Takes records in: their ids and TTLs are read, and what earlier owners knew of them is remembered.

use tidegate_core::crash::Caution;
use tidegate_core::progress::Failing;
use tidegate_core::record::Record;

use crate::config::ConsumerConfig;
use crate::kafka::PartitionQueue;
use crate::worker::pending::Pending;

/// What the progress row told of records to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    failing: Option<Failing>,
    caution: Caution,
}

impl Known {
    pub(super) fn new(failing: Option<Failing>, caution: Caution) -> Self {
        Self { failing, caution }
    }

    /// Takes at most so many records and bytes from the queue.
    pub(super) fn take_in<'a>(
        self,
        queue: &PartitionQueue,
        (records, bytes): (usize, usize),
        config: &'a ConsumerConfig,
    ) -> impl Iterator<Item = Pending> + use<'a> {
        let records = queue.take(records, bytes).into_iter();
        records.map(move |(record, fetched)| Pending {
            fetched,
            ..self.pending(record, config)
        })
    }

    fn pending(self, record: Record, config: &ConsumerConfig) -> Pending {
        let mut pending = Pending::new(record, config);
        if let Some(failing) = self.failing.filter(|f| f.offset == pending.offset()) {
            pending.attempts = failing.attempts;
            pending.elapsed = failing.elapsed;
        }
        if let Some(cause) = self.caution.condemns(pending.offset()) {
            pending.decided = Some(cause);
        }
        pending
    }
}
