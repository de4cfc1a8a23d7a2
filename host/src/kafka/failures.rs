//! What the poll thread makes of errors.

use std::time::Instant;

use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use tidegate_core::record::TopicPartition;

use super::poll::Poller;
use super::{GroupEvent, KafkaError, QueueEnd, blame, error, missing, trouble};

impl Poller {
    /// An error that a poll returned: fatal, about one partition, or gone by itself.
    pub(super) fn failure(&mut self, returned: &Client) {
        let said = self.listen();
        let reason = said.unwrap_or_else(|| error::text(returned));
        let code = returned.rdkafka_error_code();
        let fatal = matches!(returned, Client::MessageConsumptionFatal(_));
        let remedy = code.and_then(error::remedy);
        match code {
            Some(Code::PartitionEOF) => {}
            _ if fatal || remedy.is_some() => {
                self.fatal(reason, remedy.unwrap_or("restart the host"))
            }
            Some(Code::AutoOffsetReset | Code::OffsetOutOfRange) => self.out_of_range(&reason),
            Some(Code::BadMessage | Code::BadCompression | Code::NotImplemented) => {
                self.unreadable(&reason);
            }
            _ => self.passing(code, &reason),
        }
    }

    /// librdkafka fetches some partition no more. Where it says that a log was cut, it says at which offset; else the
    /// broker is asked which position it does not hold.
    fn out_of_range(&mut self, reason: &str) {
        let cut = blame::cut(reason, &self.partitions.positions());
        if cut.is_empty() {
            return self.probe.wanted(Instant::now());
        }
        for (tp, expected) in cut {
            let why = format!("the log was cut below offset {expected}: {reason}");
            self.end(&tp, expected, QueueEnd::OutOfRange(why));
        }
    }

    fn passing(&self, code: Option<Code>, reason: &str) {
        if missing::may_be_missing(code) {
            self.missing.suspect();
        }
        let now = Instant::now();
        let remedy = code.and_then(trouble::remedy);
        if let Some(remedy) = remedy {
            self.pulse.trouble.note(format!("{reason}; {remedy}"), now);
        }
        let kind = format!("{code:?}");
        let Some(held_back) = self.noise.let_through(&kind, now) else {
            return;
        };
        let consumer = &*self.subscription.consumer;
        match remedy {
            Some(remedy) => tracing::error!(
                consumer,
                held_back,
                "Kafka does not let this client in: {reason}; {remedy}; the client goes on trying"
            ),
            None => tracing::warn!(
                consumer,
                held_back,
                "Kafka: {reason}; the client goes on trying"
            ),
        }
    }

    fn fatal(&mut self, reason: String, remedy: &'static str) {
        if std::mem::replace(&mut self.failed, true) {
            return;
        }
        tracing::error!(consumer = %self.subscription.consumer, "Kafka: {reason}; {remedy}");
        self.emit(GroupEvent::Failed(KafkaError::Fatal {
            consumer: self.subscription.consumer.to_string(),
            reason,
            remedy,
        }));
    }

    /// A batch that cannot be read would be left out without a word by going on behind it. Where nobody is
    /// to blame, everybody's next record tells: it stands where it is expected, or behind a gap.
    fn unreadable(&mut self, reason: &str) {
        let failed = self.partitions.has_failed();
        let blamed = blame::suspects(reason, &self.partitions.positions(), failed);
        if blamed.is_empty() {
            self.passing(Some(Code::BadMessage), reason);
            self.partitions.suspect(reason);
        }
        for (tp, expected) in blamed {
            let why = format!("a batch at or after offset {expected} cannot be read: {reason}");
            self.end(&tp, expected, QueueEnd::Unreadable(why));
        }
    }

    /// A record came behind a gap that may hide an unreadable batch: its partition has been ended.
    pub(super) fn skipped(&mut self, tp: &TopicPartition, end: &QueueEnd) {
        tracing::error!(consumer = %self.subscription.consumer, partition = %tp, "{end}");
        self.pause(tp);
    }

    /// Ends what is out of range. A guess is not acted on while a partition that has come to grief already
    /// explains the error as well.
    pub(super) fn blame_ranges(&mut self) {
        let found = self
            .probe
            .turn(&self.client, || self.partitions.positions());
        let explained = self.partitions.has_failed();
        for out in found.into_iter().filter(|out| out.certain || !explained) {
            self.end(&out.partition, out.expected, QueueEnd::OutOfRange(out.why));
        }
    }

    fn end(&self, tp: &TopicPartition, expected: i64, end: QueueEnd) {
        let why = end.to_string();
        if self.partitions.fail(tp, expected, end) {
            tracing::error!(consumer = %self.subscription.consumer, partition = %tp, "{why}");
        }
    }
}
