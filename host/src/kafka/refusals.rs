//! Why a letter was not published: the record's own fault, or whose to mend. The one table of produce errors.

use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use tidegate_core::relay::Mends;

use super::error::text;
use super::trouble;

/// Why a letter was not published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unpublished {
    /// What the record itself is, such as too large: trying again is in vain as long as nobody wants other records.
    Record(String),
    /// Anything else: the topic may take the same letter later, and refuses others too until then.
    Topic {
        /// librdkafka's words, and what is likely behind them.
        reason: String,
        /// What mends it.
        mends: Mends,
    },
}

impl Unpublished {
    /// No answer in time.
    pub(super) fn late(reason: String) -> Self {
        Self::Topic {
            reason,
            mends: Mends::Time,
        }
    }

    /// Something that somebody has to put right.
    pub(super) fn setup(reason: String) -> Self {
        Self::Topic {
            reason,
            mends: Mends::Somebody,
        }
    }
}

/// What a code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// The record's own.
    Record,
    /// Time mends it; what is likely behind it, where that is worth saying.
    Time(Option<&'static str>),
    /// Somebody has to mend what is likely behind it.
    Setup(&'static str),
}

/// What `error` says of a letter. A client that stopped for good says why in `fatal`.
pub(super) fn unpublished(error: &Client, fatal: Option<Code>) -> Unpublished {
    let code = error.rdkafka_error_code();
    let code = match (code, fatal) {
        (Some(Code::Fatal), Some(fatal)) => Some(fatal),
        (code, _) => code,
    };
    let words = code.map_or_else(|| text(error), |code| code.to_string());
    match code.map_or(Refusal::Time(None), refusal) {
        Refusal::Record => Unpublished::Record(words),
        Refusal::Time(cause) => Unpublished::late(with(words, cause)),
        Refusal::Setup(cause) => Unpublished::setup(with(words, Some(cause))),
    }
}

fn with(words: String, cause: Option<&str>) -> String {
    match cause {
        Some(cause) => format!("{words}; likely: {cause}"),
        None => words,
    }
}

/// A letter's timestamp is the time of publishing, so only clocks, or a topic that allows next to no difference, can make
/// it a bad one.
const CLOCKS: &str = "this host's clock and the broker's are further apart than the topic's \
    message.timestamp.before.max.ms and message.timestamp.after.max.ms allow";

fn refusal(code: Code) -> Refusal {
    use Refusal::{Record, Setup, Time};
    if let Some(remedy) = trouble::remedy(code) {
        return Setup(remedy);
    }
    match code {
        Code::MessageSizeTooLarge
        | Code::MessageBatchTooLarge
        | Code::InvalidRecord
        | Code::InvalidArgument => Record,
        Code::InvalidTimestamp => Setup(CLOCKS),
        Code::UnknownTopic
        | Code::UnknownTopicOrPartition
        | Code::UnknownPartition
        | Code::UnknownTopicId => Setup(
            "the topic does not exist, or the host's user may not DESCRIBE it: create it, or grant that",
        ),
        Code::InvalidTopic => Setup("the brokers take no topic of this name"),
        Code::TopicAuthorizationFailed => {
            Setup("the host's user may not write there: grant WRITE and DESCRIBE on the topic")
        }
        Code::ClusterAuthorizationFailed | Code::TransactionalIdAuthorizationFailed => Setup(
            "the host's user may not write idempotently: grant IDEMPOTENT_WRITE on the cluster",
        ),
        Code::PolicyViolation => Setup("a policy of the brokers does not allow it"),
        Code::UnsupportedCompressionType | Code::BadCompression => {
            Setup("the topic or the brokers do not take compression.type of [kafka.librdkafka]")
        }
        Code::UnsupportedForMessageFormat
        | Code::UnsupportedVersion
        | Code::UnsupportedFeature
        | Code::InvalidRequest => Setup(
            "the brokers are too old for headers or idempotent producers, or set up for an older message format",
        ),
        Code::InvalidRequiredAcks | Code::InvalidConfig | Code::NotConfigured => {
            Setup("the configuration of the brokers, or [kafka.librdkafka]")
        }
        Code::SecurityDisabled
        | Code::DelegationTokenAuthDisabled
        | Code::DelegationTokenNotFound
        | Code::DelegationTokenExpired
        | Code::DelegationTokenAuthorizationFailed
        | Code::UnacceptableCredential
        | Code::PrincipalDeserializationFailure => {
            Setup("the host's user at the brokers, and its credentials in [kafka.librdkafka]")
        }
        Code::NotEnoughReplicas | Code::NotEnoughReplicasAfterAppend | Code::ISRInsufficient => {
            Time(Some(
                "fewer replicas are in sync than min.insync.replicas asks for",
            ))
        }
        Code::KafkaStorageError | Code::LogDirNotFound => {
            Time(Some("a disk of the broker is full or broken"))
        }
        Code::ThrottlingQuotaExceeded => Time(Some("the host's user is over its quota")),
        Code::MessageTimedOut | Code::TimedOutQueue => Time(Some(
            "the partition has no leader, or its broker cannot be reached",
        )),
        // Brokers and leaders that come and go, sequences that the client puts right, and what is new.
        _ => Time(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: Code) -> Unpublished {
        unpublished(&Client::MessageProduction(code), None)
    }

    #[test]
    fn only_what_the_record_is_marks_it() {
        for code in [
            Code::MessageSizeTooLarge,
            Code::MessageBatchTooLarge,
            Code::InvalidRecord,
            Code::InvalidArgument,
        ] {
            assert!(matches!(of(code), Unpublished::Record(_)), "{code:?}");
        }
    }

    #[test]
    fn clocks_rights_and_configuration_are_somebodys_to_mend_and_named() {
        for (code, word) in [
            (Code::InvalidTimestamp, "clock"),
            (Code::TopicAuthorizationFailed, "WRITE"),
            (Code::ClusterAuthorizationFailed, "IDEMPOTENT_WRITE"),
            (Code::UnknownTopicOrPartition, "create it"),
            (Code::UnknownTopic, "create it"),
            (Code::InvalidTopic, "name"),
            (Code::PolicyViolation, "policy"),
            (Code::UnsupportedCompressionType, "compression.type"),
            (Code::UnsupportedForMessageFormat, "too old"),
            (Code::InvalidRequiredAcks, "configuration"),
            (Code::SSL, "ssl.ca.location"),
            (Code::SaslAuthenticationFailed, "sasl"),
        ] {
            let Unpublished::Topic { reason, mends } = of(code) else {
                panic!("{code:?} marks the record");
            };
            assert!(
                reason.contains(word) && mends == Mends::Somebody,
                "{reason}"
            );
        }
    }

    #[test]
    fn what_comes_and_goes_is_waited_for() {
        for code in [
            Code::NotLeaderForPartition,
            Code::NotEnoughReplicas,
            Code::MessageTimedOut,
            Code::BrokerTransportFailure,
            Code::OutOfOrderSequenceNumber,
            Code::KafkaStorageError,
            Code::ThrottlingQuotaExceeded,
            Code::Unknown,
        ] {
            let mends = match of(code) {
                Unpublished::Topic { mends, .. } => mends,
                Unpublished::Record(_) => panic!("{code:?} marks the record"),
            };
            assert_eq!(mends, Mends::Time, "{code:?}");
        }
    }

    #[test]
    fn a_client_that_stopped_for_good_is_judged_by_why() {
        let fatal = Client::MessageProduction(Code::Fatal);
        let why = unpublished(&fatal, Some(Code::ClusterAuthorizationFailed));
        assert!(
            matches!(
                why,
                Unpublished::Topic {
                    mends: Mends::Somebody,
                    ..
                }
            ),
            "{why:?}"
        );
        let unsaid = unpublished(&fatal, None);
        assert!(matches!(
            unsaid,
            Unpublished::Topic {
                mends: Mends::Time,
                ..
            }
        ));
    }
}
