//! What can go wrong with Kafka, and whether waiting helps.

use std::time::Duration;

use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use tidegate_core::record::TopicPartition;

use super::trouble;

/// An error of the Kafka adapter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KafkaError {
    /// librdkafka refuses the options.
    #[error(
        "the Kafka client for {owner} cannot be made: {reason}; check [kafka] and [kafka.librdkafka]"
    )]
    Options {
        /// The consumer or purpose.
        owner: String,
        /// librdkafka's words.
        reason: String,
    },
    /// Not a name Kafka allows.
    #[error(
        "{name:?} is not a topic name: 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-' are allowed"
    )]
    TopicName {
        /// The name.
        name: String,
    },
    /// No answer in time. Waiting helps.
    #[error(
        "Kafka did not answer within {after:?} ({what}); check that the brokers can be reached"
    )]
    Timeout {
        /// What was asked.
        what: String,
        /// How long was waited.
        after: Duration,
    },
    /// Kafka, or librdkafka, answered with an error.
    #[error("Kafka refused: {what}: {reason}")]
    Refused {
        /// What was asked.
        what: String,
        /// The error's text.
        reason: String,
        /// Whether the same call may succeed later.
        transient: bool,
    },
    /// The partition is not, or no longer, assigned to this consumer.
    #[error("{0} is not assigned to this host")]
    NotAssigned(TopicPartition),
    /// The offset is no place in a log.
    #[error("{offset} is not an offset that {partition} can be read from")]
    BadOffset {
        /// The partition.
        partition: TopicPartition,
        /// The offset.
        offset: i64,
    },
    /// The consumer has been closed, or its thread has ended.
    #[error("the Kafka consumer {0:?} is closed")]
    Closed(String),
    /// The client is unusable for good.
    #[error("the Kafka client of consumer {consumer:?} has stopped: {reason}; {remedy}")]
    Fatal {
        /// The consumer's name.
        consumer: String,
        /// librdkafka's words.
        reason: String,
        /// What to do about it.
        remedy: &'static str,
    },
}

impl KafkaError {
    /// Whether the same call may succeed later without anybody's doing.
    pub fn is_transient(&self) -> bool {
        match self {
            KafkaError::Timeout { .. } => true,
            KafkaError::Refused { transient, .. } => *transient,
            KafkaError::Options { .. }
            | KafkaError::TopicName { .. }
            | KafkaError::NotAssigned(_)
            | KafkaError::BadOffset { .. }
            | KafkaError::Closed(_)
            | KafkaError::Fatal { .. } => false,
        }
    }

    /// An error that answered `what`.
    pub(super) fn refused(what: impl Into<String>, error: &Client) -> Self {
        let code = error.rdkafka_error_code();
        let to_do = code.and_then(|code| remedy(code).or(trouble::remedy(code)).or(passing(code)));
        KafkaError::Refused {
            what: what.into(),
            reason: match to_do {
                Some(to_do) => format!("{}; {to_do}", text(error)),
                None => text(error),
            },
            transient: code.is_none_or(|code| remedy(code).is_none() && !is_final(code)),
        }
    }

    /// `error` as the cause why the client for `owner` could not be made.
    pub(super) fn options(owner: impl Into<String>, error: &Client) -> Self {
        KafkaError::Options {
            owner: owner.into(),
            reason: text(error),
        }
    }
}

/// `error` in words, without the value of an option: it may be a secret.
pub(super) fn text(error: &Client) -> String {
    match error {
        Client::ClientConfig(_, _, name, _) => format!("the option {name:?} is refused"),
        Client::ClientCreation(reason) => reason.clone(),
        other => other
            .rdkafka_error_code()
            .map_or_else(|| other.to_string(), |code| code.to_string()),
    }
}

/// What to do about an error that no waiting mends; none where waiting does.
pub(super) fn remedy(code: Code) -> Option<&'static str> {
    match code {
        Code::FencedInstanceId => {
            Some("another member uses the same group.instance.id; give each host its own")
        }
        Code::TopicAuthorizationFailed => Some("grant READ and DESCRIBE on the topic"),
        Code::GroupAuthorizationFailed => Some("grant READ on the group"),
        Code::ClusterAuthorizationFailed => Some("grant the rights on the cluster"),
        Code::UnsupportedFeature | Code::UnsupportedVersion => {
            Some("the broker is too old or set up otherwise; check [kafka.librdkafka]")
        }
        Code::InconsistentGroupProtocol => Some(
            "other members of the group assign partitions in another way than cooperative-sticky; give Tidegate a group of its own",
        ),
        Code::InvalidGroupId => Some("give the consumer another group"),
        Code::InvalidSessionTimeout => {
            Some("set session.timeout.ms within the broker's group.min/max.session.timeout.ms")
        }
        Code::Fatal => Some("restart the host"),
        _ => None,
    }
}

/// What a broker means that is there and does not do now what it was asked. It passes by itself, or once somebody ends a
/// transaction.
fn passing(code: Code) -> Option<&'static str> {
    match code {
        Code::UnstableOffsetCommit => Some(
            "the broker answers (error 88): a transaction that commits offsets of this group is still open; end it, or wait for its transaction.timeout.ms",
        ),
        Code::CoordinatorLoadInProgress => {
            Some("the broker answers (error 14): the group's coordinator is loading; wait for it")
        }
        Code::RequestTimedOut => Some(
            "the broker answers (error 7): it did not get done in its own time what it was asked; look at its replicas and its load",
        ),
        Code::WaitingForCoordinator => Some(
            "the brokers answer, but the group's coordinator does not tell the offsets: it is loading or moving (errors 14 to 16), or a transaction that commits offsets of this group is still open (error 88)",
        ),
        _ => None,
    }
}

/// Errors about one message that sending again cannot mend.
fn is_final(code: Code) -> bool {
    matches!(
        code,
        Code::MessageSizeTooLarge
            | Code::InvalidRecord
            | Code::InvalidArgument
            | Code::InvalidTimestamp
            | Code::UnsupportedCompressionType
            | Code::PolicyViolation
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A broker that says no is there: its word is told, and the next try may succeed.
    #[test]
    fn a_brokers_own_answer_is_told_as_that() {
        for (code, words) in [
            (Code::UnstableOffsetCommit, "error 88"),
            (Code::CoordinatorLoadInProgress, "error 14"),
            (Code::RequestTimedOut, "error 7"),
            (Code::WaitingForCoordinator, "brokers answer"),
        ] {
            let error = KafkaError::refused("the offsets", &Client::OffsetFetch(code));
            let text = error.to_string();
            assert!(text.contains(words) && error.is_transient(), "{text}");
            assert!(
                !text.contains("did not answer") && !text.contains("reached"),
                "{text}"
            );
        }
    }
}
