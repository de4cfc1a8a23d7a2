//! What kind of cause rejected a record: the host's own word, by which alone the host decides.

/// The kind of a dead letter's cause. A code beside it tells more, for people and filters; a handler chooses its own
/// codes, which may be spelled like the host's, so that nothing is ever decided by a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CauseKind {
    /// The handler rejected the record, with a code of its own.
    Handler,
    /// The record stayed transient to the end of its retries.
    Retries,
    /// The record has no usable event id, TTL or tenant.
    Record,
    /// The record has a header that cannot be read: it is not kept whole.
    Header,
    /// The database refused what the record's guest sent, or a check of the host's did.
    Database,
    /// The record's guest trapped, or was ended at a limit of its instance.
    Trap,
    /// The record's guest was ended at a limit of what one record may do.
    Limit,
    /// The record's guest tried to leave its transaction.
    Escape,
    /// The record's tenant could not run: no handler has seen it.
    Tenant,
    /// Hosts died while they ran the record alone.
    Crash,
    /// No record: an operator had a range of offsets skipped.
    Skipped,
}

impl CauseKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        CauseKind::Handler,
        CauseKind::Retries,
        CauseKind::Record,
        CauseKind::Header,
        CauseKind::Database,
        CauseKind::Trap,
        CauseKind::Limit,
        CauseKind::Escape,
        CauseKind::Tenant,
        CauseKind::Crash,
        CauseKind::Skipped,
    ];

    /// The word in the table, in headers, listings, filters and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            CauseKind::Handler => "handler",
            CauseKind::Retries => "retries",
            CauseKind::Record => "record",
            CauseKind::Header => "header",
            CauseKind::Database => "database",
            CauseKind::Trap => "trap",
            CauseKind::Limit => "limit",
            CauseKind::Escape => "escape",
            CauseKind::Tenant => "tenant",
            CauseKind::Crash => "crash",
            CauseKind::Skipped => "skipped",
        }
    }

    /// The kind of that word; an unknown one, of a newer version, says no more than that the record was rejected.
    pub fn read(word: &str) -> Self {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        known.unwrap_or(CauseKind::Handler)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_kind_has_a_word_of_its_own_that_is_read_back() {
        let words: HashSet<_> = CauseKind::ALL.map(CauseKind::as_str).into();
        assert_eq!(words.len(), CauseKind::ALL.len());
        for kind in CauseKind::ALL {
            assert_eq!(CauseKind::read(kind.as_str()), kind);
        }
        assert_eq!(CauseKind::read("of-tomorrow"), CauseKind::Handler);
    }
}
