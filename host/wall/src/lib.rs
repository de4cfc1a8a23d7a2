//! Which SQL a handler may send: one statement of PostgreSQL's own grammar, its whole tree on an allow-list.
//!
//! A [`Judge`] holds a consumer's [`Rules`] and remembers its verdicts by text; what the server knows of functions,
//! operators and types comes in as a [`Catalogue`]. Nothing here speaks to a database. Whatever is not known is
//! refused. Behind this wall stands the last one: read-only sessions, the seal trigger and the proof of the final
//! update.

mod catalogue;
mod judge;
mod lists;
mod parse;
mod refused;
mod rules;
#[cfg(test)]
mod testing;
mod text;
mod tree;
mod walk;

pub use catalogue::{Catalogue, Deferred, Traits};
pub use judge::{Admitted, Judge, NotRead, Verdict};
pub use lists::{
    ALLOWED_VOLATILE, DENIED, DENIED_ENDINGS, DENIED_PREFIXES, Listed, NEVER, PREFIX_EXCEPTIONS,
};
pub use refused::{Position, Refused};
pub use rules::{BadRule, MAX_BYTES_BOUND, MAX_DEPTH_BOUND, Rules};

/// What stands in front of guest SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::manual_non_exhaustive,
    reason = "the hidden variant is for the test suite, not for what may come"
)]
pub enum Wall {
    /// The grammar.
    #[default]
    Grammar,
    /// Nothing: for the test suite, which proves the walls behind.
    #[doc(hidden)]
    Off,
}
