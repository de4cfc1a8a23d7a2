//! Where to resume.

mod approach;
mod reasons;

pub use self::approach::{Look, Seen, Whose, look};
pub use self::reasons::{Notice, StopReason};
use crate::progress::{LastRecord, Progress};

/// Where a consumer starts in a log that neither Kafka nor PostgreSQL knows a position in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the log's beginning.
    Earliest,
    /// At the log's end.
    Latest,
}

/// What is known at an assignment: at first by a look alone ([`look`]), then with the token in hand ([`decide`]), which is
/// taken before K is read, so that no old owner's commit can move either any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The progress row, if there is one.
    pub row: Option<Progress>,
    /// K: the group's offset, or the broker's word that there is none. Not being able to read it is
    /// waiting, never "none".
    pub committed: Option<i64>,
    /// The log's first offset.
    pub low: i64,
    /// The offset after the log's last record.
    pub high: i64,
    /// `low` and `high` were read again after `Decision::AskAgain`.
    pub asked_twice: bool,
    /// The group that consumes.
    pub group: String,
    /// The cluster that is consumed from.
    pub cluster_id: String,
    /// Where to start if nobody knows a position.
    pub start: Start,
    /// The consumer has rows of this topic already: a partition without one appeared later, and starts at
    /// its beginning.
    pub known_topic: bool,
    /// What the log answered about the row's last record.
    pub last: LogCheck,
}

/// What became of the last handled record in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogCheck {
    /// The log was not asked yet.
    NotAsked,
    /// It is there: the log is the same.
    Same,
    /// It is gone, compacted or below the log's start: nothing is proven.
    Gone,
    /// A record of its timestamp is there, and all else that is known of it is an id that the rule of today does not
    /// find: nothing is proven.
    Unsure,
    /// Another record is at its offset: the log is another one.
    Different {
        /// How it differs, in words.
        found: String,
    },
}

/// What to do at an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Look the last handled record up in the log, then decide again.
    CheckRecord(LastRecord),
    /// The position is beyond the log's end, which may be a stale answer: read the watermarks again, then
    /// decide again with `asked_twice`.
    AskAgain,
    /// Go on there.
    Start(Resume),
    /// Go no further until an operator has decided.
    Stop(StopReason),
}

/// Where to go on, and what to do before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The first offset to handle.
    pub at: i64,
    /// N and C, to be written down before anything is consumed.
    pub place: Option<(i64, Option<i64>)>,
    /// What Kafka counts as holding. None: Kafka is to be told the position, even where that puts its offset back.
    pub acknowledged: Option<i64>,
    /// What to tell about the position.
    pub notice: Option<Notice>,
    /// What to tell about the log.
    pub log_notice: Option<Notice>,
}

/// Decides where a partition goes on: the table of Kafka's offset K against the row's C and N.
pub fn decide(facts: &Facts) -> Decision {
    match &facts.row {
        Some(row) => with_row(facts, row),
        None => without_row(facts),
    }
}

fn with_row(facts: &Facts, row: &Progress) -> Decision {
    if let Some(reason) = row.whose().another_than(&facts.group, &facts.cluster_id) {
        return Decision::Stop(reason);
    }
    if let Some(decision) = out_of_range(facts, row.next_offset, Position::Row) {
        return decision;
    }
    match same_log(facts, row) {
        Ok(log_notice) => position(facts, row, log_notice),
        Err(decision) => decision,
    }
}

/// Whether the log is the one that the row is about; a notice if that cannot be told.
fn same_log(facts: &Facts, row: &Progress) -> Result<Option<Notice>, Decision> {
    let Some(last) = &row.last else {
        return Ok(None);
    };
    let gone = Some(Notice::LogRecordGone {
        offset: last.offset,
    });
    match &facts.last {
        // Retention took it: there is nothing to look up.
        LogCheck::NotAsked if last.offset < facts.low => Ok(gone),
        _ if last.offset >= facts.high => Err(beyond_end(facts, row, last)),
        LogCheck::NotAsked => Err(Decision::CheckRecord(last.clone())),
        LogCheck::Same => Ok(None),
        LogCheck::Gone => Ok(gone),
        LogCheck::Unsure => Ok(Some(Notice::LogRecordUnsure {
            offset: last.offset,
        })),
        LogCheck::Different { found } => Err(other_log(facts, row, last, found.clone())),
    }
}

/// A log that ends before the last handled record, as a rewound row shows it, is another one.
fn beyond_end(facts: &Facts, row: &Progress, last: &LastRecord) -> Decision {
    match facts.asked_twice {
        false => Decision::AskAgain,
        true => other_log(facts, row, last, format!("the log ends at {}", facts.high)),
    }
}

fn other_log(facts: &Facts, row: &Progress, last: &LastRecord, found: String) -> Decision {
    Decision::Stop(StopReason::OtherLog {
        offset: last.offset,
        found,
        n: row.next_offset,
        low: facts.low,
        high: facts.high,
    })
}

/// K against C and N, on a log that is in range and not known to be another.
fn position(facts: &Facts, row: &Progress, log_notice: Option<Notice>) -> Decision {
    let n = row.next_offset;
    let start = |at, place, notice| {
        Decision::Start(Resume {
            at,
            place,
            acknowledged: facts.committed,
            notice,
            log_notice,
        })
    };
    if let (Some(k), true) = (facts.committed, row.is_set()) {
        let notice = (k != n).then_some(Notice::SetByCommand { k, n });
        return Decision::Start(Resume {
            at: n,
            place: None,
            acknowledged: None,
            notice,
            log_notice,
        });
    }
    match (facts.committed, row.committed) {
        // A new consumer that never came to its first offset commit is no expired group.
        (None, None) => start(n, None, None),
        (None, Some(_)) => start(n, None, Some(Notice::GroupExpired { n })),
        (Some(k), Some(c)) if k < c => match out_of_range(facts, k, Position::Rewind) {
            Some(decision) => decision,
            None => start(
                k,
                Some((k, Some(k))),
                Some(Notice::RewindAccepted { k, c, n }),
            ),
        },
        (Some(k), _) if k > n => start(n, None, Some(Notice::KafkaAhead { k, n })),
        (Some(k), c) => {
            // K is what Kafka holds: C must not lag behind it, or a rewind to between them goes unseen.
            let place = (c != Some(k)).then_some((n, Some(k)));
            let notice = (k < n).then_some(Notice::KafkaBehind { k, n });
            start(n, place, notice)
        }
    }
}

fn without_row(facts: &Facts) -> Decision {
    let (at, committed) = match (facts.committed, facts.start) {
        (Some(k), _) => {
            if let Some(decision) = out_of_range(facts, k, Position::Group) {
                return decision;
            }
            (k, Some(k))
        }
        // The policy counts once, when the consumer first meets the topic: a partition that appears later
        // is read from its beginning, or what was written before its discovery would be lost.
        (None, Start::Latest) if !facts.known_topic => (facts.high, None),
        (None, Start::Latest | Start::Earliest) => (facts.low, None),
    };
    Decision::Start(Resume {
        at,
        place: Some((at, committed)),
        acknowledged: facts.committed,
        notice: committed.map(|k| Notice::Adopted { k }),
        log_notice: None,
    })
}

/// Whose position is looked at.
#[derive(Clone, Copy)]
enum Position {
    Row,
    Rewind,
    Group,
}

fn out_of_range(facts: &Facts, at: i64, whose: Position) -> Option<Decision> {
    let (low, high) = (facts.low, facts.high);
    if at > high && !facts.asked_twice {
        return Some(Decision::AskAgain);
    }
    let stop = match whose {
        _ if (low..=high).contains(&at) => return None,
        Position::Row if at < low => StopReason::BelowLog { n: at, low, high },
        Position::Row => StopReason::BeyondLog { n: at, low, high },
        Position::Rewind => StopReason::RewindOutside { k: at, low, high },
        Position::Group => StopReason::GroupOutside { k: at, low, high },
    };
    Some(Decision::Stop(stop))
}

impl LogCheck {
    /// Compares the last handled record with what the log holds at its offset, by what no rule of the consumer changes:
    /// its timestamp and its digest. Where the row has no digest, an id that is the same proves the log as well; one that
    /// is not may only mean that the rule for ids has changed since.
    pub fn compare(last: &LastRecord, found: Option<&LastRecord>) -> Self {
        let Some(found) = found.filter(|f| f.offset == last.offset) else {
            return LogCheck::Gone;
        };
        let digests = last.digest.zip(found.digest);
        let ids = last.event_id.as_ref().zip(found.event_id.as_ref());
        let words = if found.timestamp_ms != last.timestamp_ms {
            let of = |ms: Option<i64>| ms.map_or("none".to_owned(), |ms| format!("{ms} ms"));
            let (now, then) = (of(found.timestamp_ms), of(last.timestamp_ms));
            format!("its timestamp is {now}, that of the handled one was {then}")
        } else if let Some((then, now)) = digests {
            if then == now {
                return LogCheck::Same;
            }
            "its key, value or headers are not those of the handled one".to_owned()
        } else if ids.is_some_and(|(then, now)| then != now) {
            return LogCheck::Unsure;
        } else {
            return LogCheck::Same;
        };
        LogCheck::Different { found: words }
    }
}

#[cfg(test)]
mod tests;
