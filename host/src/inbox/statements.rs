//! Prepared statements of one connection, by text; a guest's by the role too that it was prepared under.
//!
//! The host's own are few and stay. A guest's are bounded: dropping the one used longest ago closes it on the
//! server.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use tokio_postgres::Statement;

/// The most guest statements a connection keeps.
const GUEST_STATEMENTS: NonZeroUsize = NonZeroUsize::new(256).expect("256 is not zero");

/// A guest's statement, prepared.
#[derive(Clone)]
pub(crate) struct Prepared {
    /// As the guest wrote it.
    pub(crate) plain: Statement,
    /// What the server knows it by, for as long as `plain` lives.
    pub(crate) name: Arc<str>,
    /// Wrapped so that columns of types without a value of their own come as text; where there are such.
    pub(crate) as_text: Option<Statement>,
}

/// A connection's statements.
pub(crate) struct Statements {
    host: HashMap<&'static str, Statement>,
    guest: LruCache<String, Prepared>,
    /// Role and text of the statement looked for, in one piece: no allocation each time.
    wanted: String,
    evicted: u64,
}

/// What a name means depends on the role: on the schemas that it may use, and on the policies that hold for it.
fn key(role: Option<&str>, sql: &str, out: &mut String) {
    out.clear();
    if let Some(role) = role {
        out.push_str(role);
    }
    // No role's name and no statement has it.
    out.push('\0');
    out.push_str(sql);
}

impl Statements {
    pub(crate) fn new() -> Self {
        Self {
            host: HashMap::new(),
            guest: LruCache::new(GUEST_STATEMENTS),
            wanted: String::new(),
            evicted: 0,
        }
    }

    pub(crate) fn host(&self, sql: &'static str) -> Option<Statement> {
        self.host.get(sql).cloned()
    }

    pub(crate) fn keep_host(&mut self, sql: &'static str, statement: Statement) {
        self.host.insert(sql, statement);
    }

    /// The statement of this text, as it was prepared under `role`.
    pub(crate) fn guest(&mut self, role: Option<&str>, sql: &str) -> Option<Prepared> {
        key(role, sql, &mut self.wanted);
        self.guest.get(self.wanted.as_str()).cloned()
    }

    /// Keeps a statement, maybe in place of another. Returns how many have had to go on this connection, when
    /// that has become worth telling: a cache's worth of them, then each time they have doubled.
    pub(crate) fn keep_guest(
        &mut self,
        role: Option<&str>,
        sql: &str,
        prepared: Prepared,
    ) -> Option<u64> {
        key(role, sql, &mut self.wanted);
        let replaced = self.guest.push(self.wanted.clone(), prepared)?;
        if replaced.0 == self.wanted {
            return None;
        }
        self.evicted += 1;
        let told = self.evicted >= GUEST_STATEMENTS.get() as u64 && self.evicted.is_power_of_two();
        told.then_some(self.evicted)
    }
}
