//! When a watched file has changed and holds still.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What tells one state of a file from another. The change time is in it because a modification time can be
/// set at will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The state of the file that `path` leads to, if it can be seen.
pub(super) async fn stamp(path: &Path) -> Option<Stamp> {
    let found = tokio::fs::metadata(path).await.ok()?;
    Some(Stamp {
        device: found.dev(),
        inode: found.ino(),
        length: found.len(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

/// What to do after a look at the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing new, or not yet still.
    Nothing,
    /// Gone since the last look.
    Gone,
    /// Changed, and the same in two looks: read it.
    Changed,
}

/// What was seen of the file.
pub(super) struct Seen {
    /// The state that was last read.
    read: Option<Stamp>,
    /// A newer state, seen once.
    pending: Option<Stamp>,
    gone: bool,
}

impl Seen {
    /// `read` is the state that is loaded.
    pub(super) fn new(read: Option<Stamp>) -> Self {
        Self {
            read,
            pending: None,
            gone: false,
        }
    }

    /// Takes in the next look.
    pub(super) fn look(&mut self, now: Option<Stamp>) -> Step {
        let Some(stamp) = now else {
            self.pending = None;
            let first = !std::mem::replace(&mut self.gone, true);
            return if first { Step::Gone } else { Step::Nothing };
        };
        self.gone = false;
        if self.read == Some(stamp) {
            self.pending = None;
            return Step::Nothing;
        }
        if self.pending.replace(stamp) != Some(stamp) {
            return Step::Nothing;
        }
        self.read = self.pending.take();
        Step::Changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(modified: i64) -> Option<Stamp> {
        Some(Stamp {
            device: 1,
            inode: 1,
            length: 1,
            modified: (modified, 0),
            changed: (modified, 0),
        })
    }

    #[test]
    fn a_change_is_read_once_and_only_when_it_holds_still() {
        let mut seen = Seen::new(at(1));
        assert_eq!(seen.look(at(1)), Step::Nothing);
        for moving in 2..6 {
            assert_eq!(seen.look(at(moving)), Step::Nothing);
        }
        assert_eq!(seen.look(at(5)), Step::Changed);
        assert_eq!(seen.look(at(5)), Step::Nothing);
    }

    #[test]
    fn a_file_that_goes_is_reported_once_and_read_when_it_comes_back() {
        let mut seen = Seen::new(at(1));
        assert_eq!(seen.look(None), Step::Gone);
        assert_eq!(seen.look(None), Step::Nothing);
        assert_eq!(seen.look(at(2)), Step::Nothing);
        assert_eq!(seen.look(None), Step::Gone);
        assert_eq!(seen.look(at(2)), Step::Nothing);
        assert_eq!(seen.look(at(2)), Step::Changed);
    }
}
