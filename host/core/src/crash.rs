//! Records that take the process down with them.
//!
//! Nothing is written for it while all is well: taking a position counts how often its owners died at the same N. After
//! two such ends the records from there on run alone, each announced first by a mark that is committed. Only a record
//! whose own mark stood when three processes died is dead-lettered: whatever else kills a host kills it at other marks, or
//! none.

use crate::letter::{Cause, CauseKind};

/// Owners that died at one N before its records run alone.
pub const UNCLEAN_ENDS: u32 = 2;
/// Deaths under its own mark that condemn a record.
pub const DEATHS: u32 = 3;
/// The code of a condemned record's dead letter.
pub const CODE: &str = "host-crash";

/// What a progress row tells, at assignment, of how its owners ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Owners that died at this N, one after the other.
    pub unclean: u32,
    /// A record at or behind N whose mark stood when owners died.
    pub marked: Option<Marked>,
}

/// A record that was announced, and the processes that died over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Its offset.
    pub offset: i64,
    /// Processes that died while its mark stood.
    pub deaths: u32,
}

/// How careful a partition has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caution {
    /// Records that still run alone, each under a mark.
    left: usize,
    condemned: Option<Marked>,
}

impl Caution {
    /// After `ends`. The culprit is among the records of one batch, which are at most `batch` (at least 1).
    pub fn after(ends: Ends, batch: usize) -> Self {
        let died = ends.marked.is_some_and(|marked| marked.deaths > 0);
        let careful = died || ends.unclean >= UNCLEAN_ENDS;
        Self {
            left: if careful { batch.max(1) } else { 0 },
            condemned: ends.marked.filter(|marked| marked.deaths >= DEATHS),
        }
    }

    /// Whether the next record runs alone, under a mark.
    pub fn alone(&self) -> bool {
        self.left > 0
    }

    /// A record ran alone and was committed.
    pub fn passed(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Why the record at `offset` must not run again, if so.
    pub fn condemns(&self, offset: i64) -> Option<Cause> {
        let marked = self.condemned.filter(|marked| marked.offset == offset)?;
        Some(Cause {
            kind: CauseKind::Crash,
            code: CODE.to_owned(),
            message: format!(
                "{} hosts died while they ran this record alone",
                marked.deaths
            ),
            server: None,
            sqlstate: None,
            attempts: marked.deaths,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(unclean: u32, deaths: u32) -> Ends {
        let marked = (deaths > 0).then_some(Marked { offset: 7, deaths });
        Ends { unclean, marked }
    }

    #[test]
    fn two_unclean_ends_or_a_death_under_a_mark_make_careful() {
        assert!(!Caution::after(ends(0, 0), 5).alone());
        assert!(!Caution::after(ends(1, 0), 5).alone());
        assert!(Caution::after(ends(2, 0), 5).alone());
        assert!(Caution::after(ends(1, 1), 5).alone());
    }

    #[test]
    fn care_lasts_for_a_batch() {
        let mut caution = Caution::after(ends(2, 0), 2);
        caution.passed();
        assert!(caution.alone());
        caution.passed();
        assert!(!caution.alone());
    }

    #[test]
    fn only_three_deaths_under_its_own_mark_condemn() {
        assert_eq!(Caution::after(ends(9, 2), 5).condemns(7), None);
        let caution = Caution::after(ends(0, 3), 5);
        assert_eq!(caution.condemns(8), None);
        let cause = caution.condemns(7).expect("condemned");
        assert_eq!((cause.code.as_str(), cause.attempts), (CODE, 3));
    }
}
