//! Codes of dead letters as a label: handlers invent them, so their number is bounded.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use tidegate_core::cloudevents::BadCloudEvent;
use tidegate_core::limits::Limit;

/// The most codes of handlers that are told apart.
const MOST: usize = 64;
/// What any further one is counted as.
const OTHER: &str = "other";

/// The host's own codes, which never run out of room; those of limits and of CloudEvents beside them.
const OWN: [&str; 18] = [
    "bad-event-id",
    "bad-header",
    "bad-parameter",
    "bad-tenant",
    "bad-ttl",
    "escape",
    "host-crash",
    "rejected",
    "retries-exhausted",
    "retry",
    "sql-refused",
    "tenant-braked",
    "tenant-disabled",
    "tenant-unavailable",
    "trap",
    "unexpected-row-count",
    "unknown-tenant",
    OTHER,
];

/// The codes, or other invented words, of one consumer that have a label of their own.
#[derive(Debug)]
pub(super) struct Codes {
    known: Mutex<HashSet<String>>,
    most: usize,
}

impl Default for Codes {
    fn default() -> Self {
        Self::with_room(MOST)
    }
}

impl Codes {
    /// Tells at most so many apart.
    pub(super) fn with_room(most: usize) -> Self {
        Self {
            known: Mutex::default(),
            most,
        }
    }

    /// The label for `code`.
    pub(super) fn label<'c>(&self, code: &'c str) -> &'c str {
        if OWN.contains(&code)
            || BadCloudEvent::CODES.contains(&code)
            || Limit::ALL.iter().any(|limit| limit.code() == code)
        {
            return code;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(code) {
            code
        } else if known.len() < self.most {
            known.insert(code.to_owned());
            code
        } else {
            OTHER
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_labels_is_bounded_and_the_hosts_own_keep_theirs() {
        let codes = Codes::default();
        let invented: Vec<_> = (0..1000).map(|n| format!("code-{n}")).collect();
        let labels: HashSet<_> = invented.iter().map(|code| codes.label(code)).collect();
        assert_eq!(labels.len(), MOST + 1);
        assert_eq!(codes.label("code-0"), "code-0");
        assert_eq!(codes.label("trap"), "trap");
    }
}
