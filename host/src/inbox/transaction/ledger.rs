//! The window of staged statements, and the earliest failure known.

use std::collections::VecDeque;

use tidegate_core::failure::{Broken, Failure};
use tidegate_core::sql::Expectation;

use crate::inbox::wire::Answer;

/// The most staged statements, and bytes of their parameters, that may be unanswered.
const WINDOW: usize = 256;
const WINDOW_BYTES: usize = 1 << 20;

/// A statement that was sent ahead.
pub(super) struct Staged {
    /// The record that staged it.
    pub(super) offset: Option<i64>,
    pub(super) expect: Expectation,
    /// Bytes of its parameters.
    pub(super) bytes: usize,
}

/// What has been staged and what has failed.
#[derive(Default)]
pub(super) struct Ledger {
    window: VecDeque<Staged>,
    bytes: usize,
    failure: Option<Broken>,
    /// The server refused something: whether the transaction is still ours has to be asked.
    suspicious: bool,
    /// Records entered, and the last of them.
    entered: u32,
    last_entered: Option<i64>,
}

impl Ledger {
    pub(super) fn enter(&mut self, offset: i64) {
        if self.last_entered != Some(offset) {
            self.entered += 1;
            self.last_entered = Some(offset);
        }
    }

    pub(super) fn failure(&self) -> Option<&Broken> {
        self.failure.as_ref()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.window.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.window.len() >= WINDOW || self.bytes >= WINDOW_BYTES
    }

    /// Adds a statement that is on its way.
    pub(super) fn stage(&mut self, staged: Staged) {
        self.bytes += staged.bytes;
        self.window.push_back(staged);
    }

    /// Takes in answers to the oldest staged statements.
    pub(super) fn settle(&mut self, answers: impl IntoIterator<Item = Answer>) {
        for answer in answers {
            let offset = self.window.pop_front().map(|staged| {
                self.bytes = self.bytes.saturating_sub(staged.bytes);
                (staged.offset, staged.expect)
            });
            match (answer, offset) {
                (Answer::Rows(rows), Some((_, expect))) if expect.holds(rows) => {}
                (Answer::Rows(actual), Some((offset, expect))) => {
                    let expected = expect.to_string();
                    let failure = Failure::UnexpectedRowCount { expected, actual };
                    self.note(Broken { offset, failure });
                }
                (Answer::Refused(refused), staged) => {
                    self.refused(staged.and_then(|(offset, _)| offset), refused.into());
                }
                (Answer::Rows(_), None) | (Answer::Skipped, _) => {}
            }
        }
    }

    /// Notes that the server refused a record's statement.
    pub(super) fn refused(&mut self, offset: Option<i64>, failure: Failure) {
        let Failure::Sql { sqlstate, .. } = &failure else {
            return self.lost(failure);
        };
        match sqlstate.as_str() {
            "25P02" => self.suspicious = true,
            "2D000" | "25001" => {
                // The statement itself reached for the transaction.
                let failure = Failure::Escape {
                    message: failure.to_string(),
                };
                self.note(Broken { offset, failure });
            }
            "25006" | "25P01" => self.escaped(&failure.to_string()),
            _ => {
                self.suspicious = true;
                self.note(Broken { offset, failure });
            }
        }
    }

    /// Notes that the transaction is not ours any more. Which record ended it is known only if there was one.
    pub(super) fn escaped(&mut self, how: &str) {
        let offset = self.only_offset();
        let message = format!("the transaction is not the one that was begun: {how}");
        self.note(Broken {
            offset,
            failure: Failure::Escape { message },
        });
    }

    fn only_offset(&self) -> Option<i64> {
        (self.entered == 1).then_some(self.last_entered).flatten()
    }

    /// Notes that the connection is of no use any more; no record is to blame.
    pub(super) fn lost(&mut self, failure: Failure) {
        self.note(Broken {
            offset: None,
            failure,
        });
    }

    pub(super) fn take_suspicion(&mut self) -> bool {
        std::mem::take(&mut self.suspicious)
    }

    /// Takes in the probe's own refusal, which is as it should be where it is 25P02.
    pub(super) fn probed(&mut self, refusal: Failure) {
        match refusal {
            Failure::Sql { .. } if self.failure.is_some() => {}
            Failure::Sql { .. } => self.escaped("it has failed, and none of our statements did"),
            failure => self.lost(failure),
        }
    }

    /// Keeps the failure that counts: one of the connection or the transaction itself before any of a record's,
    /// then the earliest offset, then the first noted.
    pub(super) fn note(&mut self, broken: Broken) {
        let counts_more = |old: &Broken| rank(&broken) < rank(old);
        if self.failure.as_ref().is_none_or(counts_more) {
            self.failure = Some(broken);
        }
    }
}

fn rank(broken: &Broken) -> (u8, i64) {
    match broken.failure {
        Failure::Unreachable { .. } | Failure::CommitUnknown { .. } => (0, 0),
        Failure::Escape { .. } => (1, 0),
        _ => (2, broken.offset.unwrap_or(i64::MIN)),
    }
}

/// Whether the connection must not be used again.
pub(super) fn is_unusable(broken: &Broken) -> bool {
    rank(broken).0 < 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(offset: i64, failure: Failure) -> Broken {
        Broken {
            offset: Some(offset),
            failure,
        }
    }

    fn parameter(message: &str) -> Failure {
        Failure::BadParameter {
            message: message.into(),
        }
    }

    #[test]
    fn the_earliest_offset_counts_and_the_connection_before_it() {
        let mut ledger = Ledger::default();
        ledger.note(broken(7, parameter("late")));
        ledger.note(broken(5, parameter("early")));
        ledger.note(broken(5, parameter("second of the same")));
        assert_eq!(ledger.failure(), Some(&broken(5, parameter("early"))));
        ledger.lost(Failure::Unreachable {
            message: "gone".into(),
        });
        assert_eq!(ledger.failure().and_then(|b| b.offset), None);
    }

    #[test]
    fn an_escape_blames_the_only_record_or_none() {
        let mut ledger = Ledger::default();
        ledger.enter(3);
        ledger.escaped("so");
        assert_eq!(ledger.failure().and_then(|b| b.offset), Some(3));
        let mut ledger = Ledger::default();
        ledger.enter(3);
        ledger.enter(4);
        ledger.escaped("so");
        assert_eq!(ledger.failure().and_then(|b| b.offset), None);
    }
}
