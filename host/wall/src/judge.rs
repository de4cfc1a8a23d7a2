//! Verdicts on texts, remembered within bounds.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::catalogue::Catalogue;
use crate::parse::{STACK, parse};
use crate::refused::Refused;
use crate::rules::Rules;
use crate::text;
use crate::tree::{Node, form};
use crate::walk::{walk, written};

/// The most verdicts that are remembered.
const MOST_TEXTS: usize = 4096;

/// The most bytes that the remembered texts and refusals have.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// What a statement comes to.
pub type Verdict = Result<Admitted, Arc<Refused>>;

/// What is known of an admitted statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// A number of its text without constants: texts that differ in those alone have the same.
    pub form: u64,
    /// A number of its text.
    pub text: u64,
    /// The constraints that wait for the end of the record that sends it, as a list in SQL.
    pub deferred: Option<Arc<str>>,
}

impl Admitted {
    /// A text that nothing more is known of.
    pub fn unread(sql: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        sql.hash(&mut hasher);
        let text = hasher.finish();
        Self {
            form: text,
            text,
            deferred: None,
        }
    }
}

/// No thread could be started to read a statement.
#[derive(Debug, thiserror::Error)]
#[error("no thread to read a statement on: {0}")]
pub struct NotRead(std::io::Error);

/// Judges statements by one set of rules. Shared by all who live under them.
#[derive(Debug)]
pub struct Judge {
    rules: Rules,
    seen: Mutex<Seen>,
    parses: AtomicU64,
}

/// Verdicts by text, all of them by one catalogue.
#[derive(Debug)]
struct Seen {
    verdicts: LruCache<Box<str>, Verdict>,
    bytes: usize,
    generation: u64,
}

impl Judge {
    /// One that has seen nothing yet.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            seen: Mutex::new(Seen {
                verdicts: LruCache::unbounded(),
                bytes: 0,
                generation: 0,
            }),
            parses: AtomicU64::new(0),
        }
    }

    /// The rules it goes by.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// How many texts have gone through the grammar so far.
    pub fn parses(&self) -> u64 {
        self.parses.load(Ordering::Relaxed)
    }

    /// How many verdicts are remembered, and the bytes of their texts and refusals.
    pub fn remembers(&self) -> (usize, usize) {
        let seen = self.seen();
        (seen.verdicts.len(), seen.bytes)
    }

    /// The verdict on a text that was judged by the catalogue of this generation; none for a new one. One look-up under
    /// a short lock, without an allocation.
    pub fn remembered(&self, sql: &str, generation: u64) -> Option<Verdict> {
        let mut seen = self.seen();
        if seen.generation != generation {
            return None;
        }
        seen.verdicts.get(sql).cloned()
    }

    /// Refuses what needs no grammar and no catalogue to be refused.
    ///
    /// # Errors
    /// The refusal.
    pub fn glance(&self, sql: &str) -> Result<(), Refused> {
        text::check(sql, &self.rules)
    }

    /// Judges a text, and remembers the verdict unless it hangs on a name that the catalogue does not know. Generations
    /// only grow: verdicts by an older catalogue are forgotten. Waits for a thread of its own, whose stack is as deep as
    /// the deepest tree; in time that grows with the text.
    ///
    /// # Errors
    /// There is no room for the thread; nothing is known of the text then.
    pub fn judge(
        &self,
        sql: &str,
        (catalogue, generation): (&Catalogue, u64),
    ) -> Result<Verdict, NotRead> {
        if let Err(refused) = self.glance(sql) {
            return Ok(Err(Arc::new(refused)));
        }
        self.parses.fetch_add(1, Ordering::Relaxed);
        let verdict = std::thread::scope(|scope| {
            let reader = std::thread::Builder::new()
                .name("sql".to_owned())
                .stack_size(STACK);
            let reader = reader.spawn_scoped(scope, || self.look(sql, catalogue))?;
            // The library's own look at a tree knows fewer kinds of it than the grammar, and may give up.
            Ok(reader
                .join()
                .unwrap_or_else(|_| Err(Refused::whole("the statement cannot be read"))))
        });
        let verdict = verdict.map_err(NotRead)?.map_err(Arc::new);
        if !matches!(&verdict, Err(refused) if refused.unknown) {
            self.seen().remember(sql, verdict.clone(), generation);
        }
        Ok(verdict)
    }

    fn look(&self, sql: &str, catalogue: &Catalogue) -> Result<Admitted, Refused> {
        let tree = parse(sql)?;
        walk(&tree, &self.rules, catalogue).map_err(|found| Refused {
            unknown: found.unknown,
            ..Refused::at(sql, found.at, found.reason)
        })?;
        let unread = Admitted::unread(sql);
        Ok(Admitted {
            form: form(&tree),
            deferred: deferred(&tree, catalogue),
            ..unread
        })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Judge {
    fn default() -> Self {
        Self::new(Rules::default())
    }
}

impl Seen {
    fn remember(&mut self, sql: &str, verdict: Verdict, generation: u64) {
        if generation < self.generation {
            return;
        }
        if generation > self.generation {
            self.verdicts.clear();
            (self.bytes, self.generation) = (0, generation);
        }
        self.bytes += size(sql, &verdict);
        if let Some((sql, verdict)) = self.verdicts.push(sql.into(), verdict) {
            self.bytes -= size(&sql, &verdict);
        }
        while self.verdicts.len() > MOST_TEXTS || self.bytes > MOST_BYTES {
            let Some((sql, verdict)) = self.verdicts.pop_lru() else {
                break;
            };
            self.bytes -= size(&sql, &verdict);
        }
    }
}

fn size(sql: &str, verdict: &Verdict) -> usize {
    sql.len()
        + match verdict {
            Ok(admitted) => admitted.deferred.as_deref().map_or(0, str::len),
            Err(refused) => refused.reason.len(),
        }
}

/// Most databases have no such constraint.
fn deferred(tree: &Node, catalogue: &Catalogue) -> Option<Arc<str>> {
    if catalogue.deferred.is_empty() {
        return None;
    }
    catalogue.deferred_by(written(tree).into_iter())
}

#[cfg(test)]
mod tests;
