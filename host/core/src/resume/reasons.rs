//! What is said when a partition stops at its assignment, or goes on with something worth telling.

/// Why a partition goes no further, and the remedy. The caller names consumer and partition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// The row is of another cluster.
    #[error(
        "the recorded position belongs to cluster `{recorded}`, but this is cluster `{found}`, where the \
         same records may have other offsets; to go on from the group's offset here and let the inbox \
         decide what is new, run `tidegate offsets adopt`"
    )]
    OtherCluster {
        /// The row's.
        recorded: String,
        /// The one consumed from.
        found: String,
    },
    /// The row is of another group.
    #[error(
        "the recorded position belongs to group `{recorded}`, but the consumer runs as group `{found}`; \
         give it its own `name`, set `group = \"{recorded}\"`, or take over with \
         `tidegate offsets adopt`"
    )]
    OtherGroup {
        /// The row's.
        recorded: String,
        /// The one that consumes.
        found: String,
    },
    /// N is below the log's start.
    #[error(
        "the next offset is {n}, but the log begins at {low} (it holds {low} to {high}): retention has \
         deleted {lost} offsets unread; to go on without them, run `tidegate offsets set` with an offset \
         from {low} to {high}, or `tidegate offsets adopt`",
        lost = low.saturating_sub(*n)
    )]
    BelowLog {
        /// N.
        n: i64,
        /// The log's first offset.
        low: i64,
        /// The offset after its last.
        high: i64,
    },
    /// N is beyond the log's end.
    #[error(
        "the next offset is {n}, but the log ends at {high} (it holds {low} to {high}): this is another \
         log, or one that lost its tail; run `tidegate offsets adopt` to go on from the group's offset, \
         or `tidegate offsets set` with an offset from {low} to {high}"
    )]
    BeyondLog {
        /// N.
        n: i64,
        /// The log's first offset.
        low: i64,
        /// The offset after its last.
        high: i64,
    },
    /// The group was rewound to where the log no longer, or not yet, is.
    #[error(
        "the group was rewound to {k}, but the log holds {low} to {high}; rewind it to an offset in that \
         range, or run `tidegate offsets set` with one"
    )]
    RewindOutside {
        /// K.
        k: i64,
        /// The log's first offset.
        low: i64,
        /// The offset after its last.
        high: i64,
    },
    /// There is no row, and the group's offset is outside the log.
    #[error(
        "the group's offset is {k}, but the log holds {low} to {high}; run `tidegate offsets set` with an \
         offset in that range, `--earliest` or `--latest`: the partition then goes on there by itself"
    )]
    GroupOutside {
        /// K.
        k: i64,
        /// The log's first offset.
        low: i64,
        /// The offset after its last.
        high: i64,
    },
    /// Another record is where the last handled one was.
    #[error(
        "the log is not the one that was consumed: the record handled last, at offset {offset}, is not there ({found}); \
         the next offset is {n}, and this log holds {low} to {high}; was the topic made anew, or its log cut? To go on from the group's offset and let the inbox decide what is new, \
         run `tidegate offsets adopt`"
    )]
    OtherLog {
        /// The last handled record's offset.
        offset: i64,
        /// How the record there differs.
        found: String,
        /// N.
        n: i64,
        /// The log's first offset.
        low: i64,
        /// The offset after its last.
        high: i64,
    },
}

/// What is worth telling although the partition goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// C ≤ K < N: nothing is redone.
    KafkaBehind {
        /// Kafka's offset.
        k: i64,
        /// The next offset.
        n: i64,
    },
    /// K < C: an operator rewound the group.
    RewindAccepted {
        /// Kafka's offset, now the position.
        k: i64,
        /// The last offset that Kafka had acknowledged.
        c: i64,
        /// The next offset before the rewind.
        n: i64,
    },
    /// K > N: PostgreSQL lost a tail, or somebody skipped ahead.
    KafkaAhead {
        /// Kafka's offset.
        k: i64,
        /// The next offset.
        n: i64,
    },
    /// A command set the position, and Kafka was not told of it yet.
    SetByCommand {
        /// Kafka's offset.
        k: i64,
        /// The position: the one that was set, or behind what was handled since.
        n: i64,
    },
    /// Kafka has forgotten the group's offset.
    GroupExpired {
        /// The next offset.
        n: i64,
    },
    /// An existing group's offset became the position.
    Adopted {
        /// Kafka's offset.
        k: i64,
    },
    /// What stands at the last handled record's offset has its timestamp and, by the rule of today, another id.
    LogRecordUnsure {
        /// Its offset.
        offset: i64,
    },
    /// The last handled record is gone, so whether the log is the same cannot be told.
    LogRecordGone {
        /// Its offset.
        offset: i64,
    },
}

impl Notice {
    /// Whether it is a warning rather than information.
    pub fn is_warning(self) -> bool {
        match self {
            Notice::KafkaAhead { .. } | Notice::RewindAccepted { .. } => true,
            Notice::KafkaBehind { .. }
            | Notice::SetByCommand { .. }
            | Notice::GroupExpired { .. }
            | Notice::Adopted { .. }
            | Notice::LogRecordUnsure { .. }
            | Notice::LogRecordGone { .. } => false,
        }
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Notice::KafkaBehind { k, n } => write!(
                f,
                "the group's offset {k} is behind the recorded position {n}; going on at {n}, nothing is \
                 redone (to rewind, use `tidegate offsets set`)"
            ),
            Notice::RewindAccepted { k, c, n } => write!(
                f,
                "the group was rewound to {k} (it had acknowledged {c}); records from {k} to {n} come \
                 again, and the inbox decides which of them are new"
            ),
            Notice::KafkaAhead { k, n } => write!(
                f,
                "the group's offset {k} is ahead of the recorded position {n}; going on at {n}, since the \
                 database may have lost what followed (to skip ahead, use `tidegate offsets set`)"
            ),
            Notice::SetByCommand { k, n } => write!(
                f,
                "the position was set by a command: going on at {n}, and the group's offset, still {k}, is put there"
            ),
            Notice::GroupExpired { n } => write!(
                f,
                "Kafka no longer knows an offset of the group; going on at the recorded position {n}"
            ),
            Notice::Adopted { k } => {
                write!(
                    f,
                    "no position was recorded; going on at the group's offset {k}"
                )
            }
            Notice::LogRecordUnsure { offset } => write!(
                f,
                "the record at offset {offset}, handled last, has the timestamp of then and another event id; the rule for \
                 ids may have changed since, so whether the log is still the same cannot be told; going on"
            ),
            Notice::LogRecordGone { offset } => write!(
                f,
                "the last handled record, at offset {offset}, is no longer in the log, so whether the log \
                 is still the same cannot be told; going on"
            ),
        }
    }
}
