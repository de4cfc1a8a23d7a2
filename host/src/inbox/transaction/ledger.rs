//! The window of staged statements, and the earliest failure known.

use std::collections::VecDeque;
use std::sync::Arc;

use tidegate_core::failure::{Broken, Failure};
use tidegate_core::sql::Expectation;
use tidegate_core::sqlstate::SqlClass;
use tidegate_core::witness::Statement;

use super::stay::not_taken;
use crate::inbox::wire::Answer;

/// The most staged statements, and bytes of their parameters, that may be unanswered.
const WINDOW: usize = 256;
const WINDOW_BYTES: usize = 1 << 20;

/// The most different statements that are told of, a guest's turn.
const WORKED: usize = 64;

/// A statement that was sent ahead.
pub(super) struct Staged {
    /// The record that staged it.
    pub(super) offset: Option<i64>,
    pub(super) what: What,
    /// Bytes of its parameters.
    pub(super) bytes: usize,
}

/// Whose statement it is.
pub(super) enum What {
    /// A guest's, with what it expects.
    Guest(Worked, Expectation),
    /// The host's, which a guest's stay begins or ends with.
    Host,
    /// The host's, by which the login takes a role.
    Role { role: Arc<str>, login: Arc<str> },
    /// The host's, which proves that a guest's stay was as the host set it up.
    Proof,
}

/// A guest's statement, and the turn in the transaction that the guest had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Worked {
    pub(super) turn: usize,
    pub(super) statement: Statement,
}

impl What {
    fn statement(&self) -> Option<Statement> {
        match self {
            What::Guest(asked, _) => Some(asked.statement),
            What::Host | What::Role { .. } | What::Proof => None,
        }
    }
}

/// What has been staged and what has failed.
#[derive(Default)]
pub(super) struct Ledger {
    window: VecDeque<Staged>,
    bytes: usize,
    failure: Option<Broken>,
    /// The server refused something: whether the transaction is still ours has to be asked.
    suspicious: bool,
    /// Guests' statements that worked, each once: the first few of them.
    worked: Vec<Worked>,
    /// The first record whose refusal may have been the seal's.
    reached: Option<i64>,
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
            let staged = self.window.pop_front().map(|staged| {
                self.bytes = self.bytes.saturating_sub(staged.bytes);
                (staged.offset, staged.what)
            });
            match (answer, staged) {
                (Answer::Refused(refused), Some((offset, what))) => {
                    let failure = Failure::from(refused).while_running();
                    self.refused_as(&what, offset, failure.of(what.statement()));
                }
                (Answer::Refused(refused), None) => self.refused(None, refused.into()),
                (Answer::Rows(rows), Some((offset, What::Guest(asked, expect)))) => {
                    self.worked(asked);
                    self.touched(offset, expect, rows);
                }
                (Answer::Command(word), Some((offset, What::Guest(..)))) => {
                    self.strayed(offset, &word);
                }
                _ => {}
            }
        }
    }

    /// Notes that a guest's statement worked.
    pub(super) fn worked(&mut self, one: Worked) {
        let latest = self.worked.iter().rev();
        let mut of_turn = latest.take_while(|known| known.turn == one.turn);
        if of_turn.clone().count() < WORKED && !of_turn.any(|known| *known == one) {
            self.worked.push(one);
        }
    }

    /// The guests' statements that have worked, each once.
    pub(super) fn have_worked(&self) -> &[Worked] {
        &self.worked
    }

    fn touched(&mut self, offset: Option<i64>, expect: Expectation, actual: u64) {
        if !expect.holds(actual) {
            let expected = expect.to_string();
            let failure = Failure::UnexpectedRowCount { expected, actual };
            self.note(Broken { offset, failure });
        }
    }

    /// Notes that a guest's statement was no statement that reads or writes rows, by the server's own word for it.
    pub(super) fn strayed(&mut self, offset: Option<i64>, word: &str) {
        let message = format!("a statement ran that is none of a handler's: {word}");
        let failure = Failure::Escape { message };
        self.note(Broken { offset, failure });
    }

    fn refused_as(&mut self, what: &What, offset: Option<i64>, failure: Failure) {
        let sqlstate = match &failure {
            Failure::Sql { sqlstate, .. } if sqlstate != "25P02" => sqlstate,
            _ => return self.refused(offset, failure),
        };
        let passes = matches!(
            failure.class(),
            Some(
                SqlClass::Infrastructure
                    | SqlClass::Doubtful
                    | SqlClass::Contention
                    | SqlClass::Transient
            )
        );
        match what {
            What::Role { role, login } if !passes => {
                let message = not_taken(role, login, sqlstate);
                let failure = Failure::RoleRefused { message };
                self.suspicious = true;
                self.note(Broken { offset, failure });
            }
            What::Proof if !passes => {
                self.escaped("its role or its settings are not those that the host gave it");
            }
            _ => self.refused(offset, failure),
        }
    }

    /// Notes that the server refused a record's statement. What a function says of the transaction is not believed: the
    /// probe finds out.
    pub(super) fn refused(&mut self, offset: Option<i64>, failure: Failure) {
        let Failure::Sql {
            sqlstate, named, ..
        } = &failure
        else {
            return self.lost(failure);
        };
        let (believed, inside) = (named.origin.is_believed(), named.origin.inside);
        match sqlstate.as_str() {
            "25P02" if believed => self.suspicious = true,
            "2D000" | "25001" if believed => {
                // The statement itself reached for the transaction.
                let failure = Failure::Escape {
                    message: failure.to_string(),
                };
                self.note(Broken { offset, failure });
            }
            // A function can forbid itself to write.
            "25006" if believed && !inside => self.escaped(&failure.to_string()),
            "25P01" if believed => self.escaped(&failure.to_string()),
            code => {
                // The seal's code: if the transaction is gone, it was this record's statement.
                if code == "2D000" && self.reached.is_none() {
                    self.reached = offset;
                }
                self.suspicious = true;
                self.note(Broken { offset, failure });
            }
        }
    }

    /// Notes that the transaction is not ours any more. Which record ended it is known only if there was one.
    pub(super) fn escaped(&mut self, how: &str) {
        let offset = self.reached.or_else(|| self.only_offset());
        let message = format!("the transaction is not the one that was begun: {how}");
        self.note(Broken {
            offset,
            failure: Failure::Escape { message },
        });
    }

    /// The record that alone ran in this transaction so far.
    pub(super) fn only_offset(&self) -> Option<i64> {
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
