//! Looking before taking: whoever will not run takes nothing, so that it fences nobody who does.

use super::{Decision, Facts, StopReason, decide};
use crate::progress::{LastRecord, Progress};

/// Whose a row is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whose {
    /// The group's.
    pub group: String,
    /// The cluster's.
    pub cluster_id: String,
}

impl Whose {
    /// Why what is theirs is not this group's on this cluster, where it is not.
    pub fn another_than(&self, group: &str, cluster_id: &str) -> Option<StopReason> {
        if self.cluster_id != cluster_id {
            return Some(StopReason::OtherCluster {
                recorded: self.cluster_id.clone(),
                found: cluster_id.to_owned(),
            });
        }
        (self.group != group).then(|| StopReason::OtherGroup {
            recorded: self.group.clone(),
            found: group.to_owned(),
        })
    }
}

/// What a row said when it was looked at and nothing was found against taking it; only [`look`] makes one. The taking
/// counts only while the row still says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    whose: Whose,
    log_epoch: i32,
}

impl Seen {
    /// Whose the row was.
    pub fn whose(&self) -> &Whose {
        &self.whose
    }

    /// The row's log.
    pub fn log_epoch(&self) -> i32 {
        self.log_epoch
    }
}

/// What to do before anything is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// There is no row: register first.
    Register,
    /// Look the last handled record up in the log, then look again.
    CheckRecord(LastRecord),
    /// Read the watermarks again, then look again with `asked_twice`.
    AskAgain,
    /// Take the token, where the row still says what was seen.
    Take(Seen),
    /// Take nothing: somebody must decide first.
    Refuse(StopReason),
}

/// Looks at a position that is still another's. K is a hint here, since its owner may commit meanwhile: what it says
/// against the position counts, where to go on is decided once the token is held. Where there is no row, `sibling`
/// says whose another of the topic's rows is: a partition that was added later belongs to nobody else.
pub fn look(facts: &Facts, sibling: Option<&Whose>) -> Look {
    let Some(row) = &facts.row else {
        let another = |whose: &Whose| whose.another_than(&facts.group, &facts.cluster_id);
        let refused = sibling.and_then(another);
        return refused.map_or(Look::Register, Look::Refuse);
    };
    match decide(facts) {
        Decision::CheckRecord(last) => Look::CheckRecord(last),
        Decision::AskAgain => Look::AskAgain,
        Decision::Stop(reason) => Look::Refuse(reason),
        Decision::Start(_) => Look::Take(Seen {
            whose: row.whose(),
            log_epoch: row.log_epoch,
        }),
    }
}

impl Progress {
    /// Whose the position is.
    pub fn whose(&self) -> Whose {
        Whose {
            group: self.group.clone(),
            cluster_id: self.cluster_id.clone(),
        }
    }
}
