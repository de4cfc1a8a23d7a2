//! How the poll thread ends.

use std::sync::Arc;
use std::time::Instant;

use rdkafka::consumer::Consumer as _;

use super::names;
use super::poll::{BUSY, Close, Poller};

impl Poller {
    /// Leaves the group. Dropping the client does it, and waits for the coordinator: hence this thread.
    pub(super) fn close(mut self, close: Close) {
        self.commands.close();
        self.client.context().close();
        let started = self.partitions.clear("the consumer was closed");
        if self.owed > 0
            && let Err(error) = self.client.incremental_unassign(&names::list(&started))
        {
            tracing::warn!(consumer = %self.subscription.consumer, %error, "handing over while closing");
        }
        // Calls that others have running hold the client too; their own deadlines bound them.
        while Arc::strong_count(&self.client) > 1 && Instant::now() < close.until {
            drop(self.client.poll(BUSY));
        }
        let last = Arc::strong_count(&self.client) == 1;
        drop(self);
        if let Some(done) = close.done.filter(|_| last) {
            done.send(()).ok();
        }
    }
}
