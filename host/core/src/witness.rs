//! Whose fault a *stop* code is, where the server refused a handler's statement: what is wrong with the deployment is wrong
//! for other records too. So a record whose statement works for others is itself at fault.
//!
//! Two kinds of witness: records that were handled before, which a bounded memory tells of, and the records behind, which
//! are tried and rolled back. A statement that a value is written into is another text each time; it counts as the same
//! where its texts differ in constants alone.

use std::num::NonZeroUsize;
use std::time::Duration;

use lru::LruCache;

/// The most records behind that are tried.
pub const MOST_TRIED: usize = 20;
/// How long trying them may take, before the next one begins.
pub const TRIED_FOR: Duration = Duration::from_secs(10);
/// The most statements that are remembered of one module.
const MOST_FORMS: NonZeroUsize = NonZeroUsize::new(1024).expect("1024 is not zero");
/// The most records in a row that the memory condemns: from then on it takes records that are tried now.
const MOST_IN_A_ROW: u32 = 20;

/// What other records say of a statement that was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// Nobody was asked, or nobody can tell.
    #[default]
    Unknown,
    /// One that was tried behind the refusal works: what was wrong may have been mended between the two.
    OneWorks,
    /// It has worked for them under the schema that refused it, or it has been refused again since one worked.
    Work,
}

impl Others {
    /// One that was tried works; `before`: one has worked before the record was refused now.
    pub fn tried(before: bool) -> Self {
        match before {
            true => Others::Work,
            false => Others::OneWorks,
        }
    }
}

/// A handler's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// A number of its text without constants.
    pub form: u64,
    /// A number of its text.
    pub text: u64,
}

/// A statement that was refused with a *stop* code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which.
    pub statement: Statement,
    /// It had been read, and was refused as it ran, with the record's parameters.
    pub running: bool,
}

impl Refusal {
    /// Whether `worked` working means that this refusal is its record's own fault. What is refused as it is read depends on
    /// its text alone: then the same text proves nothing.
    pub fn is_refuted_by(&self, worked: Statement) -> bool {
        let same_form = self.statement.form == worked.form;
        same_form && (self.running || self.statement.text != worked.text)
    }
}

/// What is known of a database's schema at a moment: two are equal only where nothing was created, changed, granted or
/// dropped between them.
pub type Schema = i64;

/// The statements that have worked for a module's records, and under which schema.
#[derive(Debug)]
pub struct Witnesses(LruCache<u64, Known>);

#[derive(Clone, Copy, Debug)]
struct Known {
    text: u64,
    /// Several texts of this form have worked.
    several: bool,
    schema: Schema,
    /// Records condemned since it worked last.
    condemned: u32,
}

impl Default for Witnesses {
    fn default() -> Self {
        Self(LruCache::new(MOST_FORMS))
    }
}

impl Witnesses {
    /// A record was committed for which the statement worked. The schema was this before it ran.
    pub fn worked(&mut self, statement: Statement, schema: Schema) {
        let known = self.0.get_or_insert_mut(statement.form, || Known {
            text: statement.text,
            several: false,
            schema,
            condemned: 0,
        });
        let same = known.schema == schema;
        *known = Known {
            text: statement.text,
            several: same && (known.several || known.text != statement.text),
            schema,
            condemned: 0,
        };
    }

    /// Whether the memory knows that the refusal is its record's own fault, where the schema is this after it. Each yes
    /// counts: without the statement working again there are few in a row.
    pub fn refute(&mut self, refusal: Refusal, schema: Schema) -> bool {
        let Some(known) = self.0.get_mut(&refusal.statement.form) else {
            return false;
        };
        let worked = Statement {
            form: refusal.statement.form,
            text: known.text,
        };
        let refuted = known.schema == schema
            && known.condemned < MOST_IN_A_ROW
            && (known.several || refusal.is_refuted_by(worked));
        known.condemned += u32::from(refuted);
        refuted
    }

    /// Another module is active, or what held this one back is mended.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests;
