//! Where the server says that it raised an error.

use super::files::is_of_the_server;
use crate::text::bounded;

/// The most bytes of a file's or a routine's name.
const NAME_BYTES: usize = 63;

/// The place in the server's source, from the fields `F`, `R` and `W` of its answer. They are in no language, and no
/// function can set them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The source file.
    pub file: Option<String>,
    /// The routine in it.
    pub routine: Option<String>,
    /// It was raised inside a function, a trigger or the like. That proves nothing by itself: a disk that is full is full for
    /// a trigger's statement too.
    pub inside: bool,
}

/// Whose word an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// The server itself.
    Server,
    /// A function's author, by RAISE: code and words are of the author's choosing.
    Raise,
    /// A library: an extension; or another language, which raises what its author says and what the server told it alike.
    Library,
    /// Nobody said. Poolers and other servers leave the fields out.
    Untold,
}

impl Origin {
    /// From the names that the server gave, bounded.
    pub fn new(file: Option<&str>, routine: Option<&str>, inside: bool) -> Self {
        let name = |name: &str| bounded(name, NAME_BYTES);
        Self {
            file: file.map(name),
            routine: routine.map(name),
            inside,
        }
    }

    /// Whose word it is.
    pub fn speaker(&self) -> Speaker {
        match (self.file.as_deref(), self.routine.as_deref()) {
            (None, _) => Speaker::Untold,
            (Some("pl_exec.c"), Some("exec_stmt_raise") | None) => Speaker::Raise,
            (Some(file), _) if is_of_the_server(file) => Speaker::Server,
            (Some(_), _) => Speaker::Library,
        }
    }

    /// Whether a code that says something about the transaction is believed: nobody chose it, as far as anybody knows.
    pub fn is_believed(&self) -> bool {
        matches!(self.speaker(), Speaker::Server | Speaker::Untold)
    }

    pub(super) fn is_one_of(&self, files: &[&str]) -> bool {
        let file = self.file.as_deref();
        file.is_some_and(|file| files.contains(&file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_and_the_routine_tell_whose_word_it_is() {
        let of = |file, routine| Origin::new(file, routine, true).speaker();
        assert_eq!(of(Some("md.c"), Some("mdextend")), Speaker::Server);
        assert_eq!(
            of(Some("pl_exec.c"), Some("exec_stmt_raise")),
            Speaker::Raise
        );
        assert_eq!(
            of(Some("pl_exec.c"), Some("exec_stmt_case")),
            Speaker::Server
        );
        assert_eq!(
            of(Some("plpy_elog.c"), Some("PLy_elog_impl")),
            Speaker::Library
        );
        assert_eq!(
            of(Some("hstore_io.c"), Some("parse_hstore")),
            Speaker::Library
        );
        assert_eq!(of(None, Some("mdextend")), Speaker::Untold);
        assert_eq!(Origin::default().speaker(), Speaker::Untold);
    }
}
