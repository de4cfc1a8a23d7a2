//! What every session of ours begins with, whatever the role, the database or the server have set: each setting that
//! changes what our statements mean, how values read, or how long anything may wait.
//!
//! A role or a database can have any setting of its own that a session may change (`ALTER ROLE … SET`). Each of
//! them is either pinned here, or left as it is for a reason that [`LEFT`] gives; a test reads the server's
//! catalogue and finds one that is in neither list.
//!
//! A pin is set twice. The few that could keep the session from being set up are asked for in the first message of the
//! connection, which comes before what role and database have set; all are set by the first command, since what stands in front
//! of the server (a pooler) may know nothing of the first.

use std::time::Duration;

mod left;

pub use left::LEFT;

/// How long a session's statements may wait, and whether they write without saying so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// For each statement; zero for as long as it takes.
    pub(crate) statement: Duration,
    /// For a lock; zero for as long as it takes.
    pub(crate) lock: Duration,
    /// How long a transaction may stand still.
    pub(crate) idle: Duration,
    /// Whether a transaction may write that does not begin READ WRITE.
    pub(crate) writes: bool,
}

/// What a setting is pinned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Text(&'static str),
    StatementTimeout,
    LockTimeout,
    IdleTimeout,
    ReadOnly,
}

/// A pinned setting.
#[derive(Clone, Copy, Debug)]
struct Pin {
    name: &'static str,
    to: To,
    /// The first version of the server that knows it, or 0.
    since: u32,
    /// The last version that knows it, or 0.
    until: u32,
    /// Whether it is asked for in the first message too.
    early: bool,
    /// Whether the end of a guest's stay proves that it still holds.
    proved: bool,
    why: &'static str,
}

const fn pin(name: &'static str, value: &'static str, why: &'static str) -> Pin {
    Pin {
        name,
        to: To::Text(value),
        since: 0,
        until: 0,
        early: false,
        proved: false,
        why,
    }
}

impl Pin {
    const fn to(self, to: To) -> Self {
        Self { to, ..self }
    }

    const fn since(self, since: u32) -> Self {
        Self { since, ..self }
    }

    const fn until(self, until: u32) -> Self {
        Self { until, ..self }
    }

    const fn is_known_to(self, version: u32) -> bool {
        self.since <= version && (self.until == 0 || (0 < version && version <= self.until))
    }

    const fn early(self) -> Self {
        Self {
            early: true,
            ..self
        }
    }

    const fn proved(self) -> Self {
        Self {
            proved: true,
            ..self
        }
    }
}

/// What is pinned, in the order in which it is set: first what could end the setting of the others.
const PINS: [Pin; 28] = [
    pin("statement_timeout", "", "the configuration says how long")
        .to(To::StatementTimeout)
        .early()
        .proved(),
    pin("lock_timeout", "", "the configuration says how long")
        .to(To::LockTimeout)
        .early(),
    pin(
        "exit_on_error",
        "off",
        "a record's error must not look like a lost connection",
    )
    .early()
    .proved(),
    pin(
        "default_transaction_isolation",
        "read committed",
        "a claim waits for another's and then sees it",
    )
    .early()
    .proved(),
    pin(
        "default_transaction_deferrable",
        "off",
        "a deferrable transaction waits for others before it begins",
    )
    .early(),
    pin(
        "transaction_timeout",
        "0",
        "batches end by the host's own clock",
    )
    .early()
    .since(17),
    pin(
        "idle_in_transaction_session_timeout",
        "",
        "the configuration says how long",
    )
    .to(To::IdleTimeout)
    .proved(),
    pin(
        "idle_session_timeout",
        "0",
        "a connection waits in the pool for as long as it is not needed",
    )
    .early()
    .since(14),
    pin(
        "default_transaction_read_only",
        "",
        "nothing writes after a guest's ROLLBACK",
    )
    .to(To::ReadOnly)
    .proved(),
    pin(
        "synchronous_commit",
        "on",
        "an acknowledged commit is on disk",
    )
    .proved(),
    pin(
        "row_security",
        "on",
        "policies hold for guests, and nobody's statement fails for want of them",
    )
    .proved(),
    pin(
        "standard_conforming_strings",
        "on",
        "the wall reads a guest's literals by it",
    )
    .proved(),
    pin(
        "backslash_quote",
        "safe_encoding",
        "the wall reads a guest's literals by it",
    )
    .proved(),
    pin(
        "client_encoding",
        "UTF8",
        "texts are UTF-8 on this side of the wire",
    )
    .proved(),
    pin(
        "DateStyle",
        "ISO, YMD",
        "the host parses what the server prints",
    )
    .proved(),
    pin(
        "IntervalStyle",
        "postgres",
        "the host parses what the server prints",
    )
    .proved(),
    pin("TimeZone", "UTC", "moments without a zone are UTC").proved(),
    pin(
        "extra_float_digits",
        "1",
        "a number comes back as it went in",
    )
    .proved(),
    pin(
        "bytea_output",
        "hex",
        "the host parses what the server prints",
    )
    .proved(),
    pin(
        "transform_null_equals",
        "off",
        "`= NULL` is no test for null",
    )
    .proved(),
    pin("array_nulls", "on", "NULL in an array's text is null").proved(),
    pin(
        "xmloption",
        "content",
        "what a text of type xml may hold does not depend on who connects",
    ),
    pin(
        "gin_fuzzy_search_limit",
        "0",
        "a search in an index leaves nothing out",
    ),
    pin(
        "default_table_access_method",
        "heap",
        "the seal's proof reads a row's xmin, and migrations make tables",
    )
    .since(12),
    pin(
        "check_function_bodies",
        "on",
        "a migration's function that cannot run is refused",
    ),
    pin("force_parallel_mode", "off", NO_WORKER).until(15),
    pin("debug_parallel_query", "off", NO_WORKER).since(16),
    pin(
        "client_min_messages",
        "error",
        "what is below is dropped on arrival, since it may hold values",
    ),
];

/// Such a worker's transaction says that it is read-only, which the proof would take for an escape.
const NO_WORKER: &str = "the proof runs in the session itself, not in a parallel worker";

/// Settings that are not pinned by a value of this list and hold all the same, and how.
const OTHERWISE: [(&str, &str); 4] = [
    (
        "search_path",
        "set with the role: the host's names mean pg_catalog's objects, a guest's those of postgres.search_path",
    ),
    (
        "application_name",
        "in the connection's first message, which comes before what role and database have set",
    ),
    (
        "client_connection_check_interval",
        "set by a command of its own, which a server may refuse",
    ),
    (
        "session_replication_role",
        "a superuser's to set: set back where the login may, else the connection is refused",
    ),
];

impl To {
    fn value(self, terms: Terms) -> String {
        let millis = |time: Duration| time.as_millis().to_string();
        match self {
            To::Text(text) => text.to_owned(),
            To::StatementTimeout => millis(terms.statement),
            To::LockTimeout => millis(terms.lock),
            To::IdleTimeout => millis(terms.idle),
            To::ReadOnly => if terms.writes { "off" } else { "on" }.to_owned(),
        }
    }
}

fn known(version: u32) -> impl Iterator<Item = Pin> {
    PINS.into_iter().filter(move |pin| pin.is_known_to(version))
}

/// The commands that set what a server of this major version knows.
pub(crate) fn commands(terms: Terms, version: u32) -> String {
    let set = |pin: Pin| format!("SET {} = '{}';", pin.name, pin.to.value(terms));
    known(version).map(set).collect::<Vec<_>>().join(" ")
}

/// The oldest version that a server is taken for before it has told its own.
pub(crate) const OLDEST: u32 = 14;

/// The same for the connection's first message: what could keep the session from being set up, after the URL's own.
pub(crate) fn options(terms: Terms, version: u32, given: Option<&str>) -> String {
    let early = known(version).filter(|pin| pin.early);
    let option = |pin: Pin| {
        let value = pin.to.value(terms).replace(' ', "\\ ");
        format!("-c {}={value}", pin.name)
    };
    let ours = early.map(option);
    let all: Vec<String> = given.map(str::to_owned).into_iter().chain(ours).collect();
    all.join(" ")
}

/// The settings that the end of a guest's stay proves, beside the transaction's own.
pub(crate) fn proved(version: u32) -> impl Iterator<Item = &'static str> {
    let pinned = known(version).filter(|pin| pin.proved);
    pinned
        .map(|pin| pin.name)
        .chain(["session_replication_role"])
}

/// What is decided about a setting that a role or a database may have of its own: whether it is pinned, and why or why
/// not. None: nobody has thought of it.
pub fn decided(name: &str) -> Option<(bool, &'static str)> {
    let pinned = PINS.iter().find(|pin| pin.name == name);
    let otherwise = OTHERWISE.iter().find(|(known, _)| *known == name);
    let why = pinned.map(|pin| pin.why).or(otherwise.map(|(_, why)| *why));
    why.map(|why| (true, why))
        .or_else(|| left::why(name).map(|why| (false, why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms {
        statement: Duration::from_secs(30),
        lock: Duration::from_secs(10),
        idle: Duration::from_secs(60),
        writes: false,
    };

    #[test]
    fn what_could_end_the_set_up_comes_first_and_a_urls_own_before_ours() {
        let options = options(TERMS, OLDEST, Some("-c geqo=off -c statement_timeout=1"));
        assert_eq!(
            options,
            "-c geqo=off -c statement_timeout=1 -c statement_timeout=30000 -c lock_timeout=10000 -c exit_on_error=off \
             -c default_transaction_isolation=read\\ committed -c default_transaction_deferrable=off -c idle_session_timeout=0"
        );
        let commands = commands(TERMS, 15);
        assert!(
            commands.starts_with("SET statement_timeout = '30000'; SET lock_timeout = '10000';")
        );
        assert!(commands.contains("SET default_transaction_read_only = 'on';"));
    }

    #[test]
    fn a_server_is_asked_for_what_it_knows() {
        for (version, idle, whole) in [(0, false, false), (14, true, false), (17, true, true)] {
            let commands = commands(TERMS, version);
            assert_eq!(commands.contains("idle_session_timeout"), idle, "{version}");
            assert_eq!(commands.contains("SET force_parallel_mode"), version == 14);
            assert_eq!(
                commands.contains("SET debug_parallel_query"),
                whole,
                "{version}"
            );
            assert_eq!(
                commands.contains("SET transaction_timeout"),
                whole,
                "{version}"
            );
        }
    }

    #[test]
    fn each_setting_is_decided_once() {
        for pin in PINS {
            let left = left::why(pin.name).filter(|_| pin.name != "debug_parallel_query");
            assert!(left.is_none(), "{}", pin.name);
            let others = OTHERWISE.iter().filter(|(name, _)| *name == pin.name);
            assert_eq!(others.count(), 0, "{}", pin.name);
        }
        assert_eq!(decided("no_such_setting"), None);
    }
}
