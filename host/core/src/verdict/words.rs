//! No word of a guest's, of a record's or of the server's changes what the host does.

use proptest::prelude::*;

use super::*;
use crate::brake::Ended;
use crate::failure::Named;
use crate::letter::CauseKind;
use crate::limits::Limit;
use crate::sqlstate::Origin;
use crate::tenant::BadTenant;

/// Words that mean something to the host.
fn owned() -> Vec<String> {
    let kinds = CauseKind::ALL.map(CauseKind::as_str);
    let limits = Limit::ALL.map(Limit::code);
    let codes = [
        "bad-event-id",
        "bad-header",
        "bad-parameter",
        "bad-tenant",
        "bad-ttl",
        "commit-unknown",
        "escape",
        "host-crash",
        "other",
        "rejected",
        "retries-exhausted",
        "retry",
        "role-refused",
        "sql-refused",
        "sql-23505",
        "tenant-braked",
        "tenant-disabled",
        "tenant-unavailable",
        "unexpected-row-count",
        "unknown-tenant",
        "unreachable",
        "unique_violation (SQLSTATE 23505)",
        "25P02",
        "2D000",
        "57P01",
        "40001",
        "the connection died",
        "",
    ];
    let all = kinds
        .iter()
        .chain(&limits)
        .chain(&codes)
        .chain(&Verdict::NAMES);
    all.map(|word| (*word).to_owned()).collect()
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![prop::sample::select(owned()), ".{0,80}", "[a-z0-9-]{1,70}"]
}

/// One failure of each shape, with these words wherever somebody outside chooses them.
fn failures([code, message, name]: [&str; 3]) -> Vec<Failure> {
    let words = || message.to_owned();
    let sql = |sqlstate: &str, running: bool, inside: bool, file: Option<&str>| Failure::Sql {
        sqlstate: sqlstate.to_owned(),
        message: message.into(),
        constraint: Some(name.to_owned()),
        named: Box::new(Named {
            schema: Some(name.to_owned()),
            table: Some(name.to_owned()),
            column: Some(name.to_owned()),
            data_type: Some(name.to_owned()),
            origin: Origin::new(file, None, inside),
            running,
            ..Named::default()
        }),
    };
    let mut all = vec![
        Failure::Reject {
            code: code.to_owned(),
            message: words(),
        },
        Failure::Retry {
            message: words(),
            after_ms: Some(7),
        },
        Failure::Trap { message: words() },
        Failure::Escape { message: words() },
        Failure::BadParameter { message: words() },
        Failure::StatementRefused { message: words() },
        Failure::RoleRefused { message: words() },
        Failure::NoTenant { message: words() },
        Failure::Unreachable { message: words() },
    ];
    for sqlstate in [
        "23505", "42P01", "40001", "57P01", "25P02", "2D000", "P0001", "XX000", "22P02",
    ] {
        for (running, inside) in [(false, false), (true, false), (true, true)] {
            for file in [None, Some("pl_exec.c"), Some("md.c"), Some("hstore_io.c")] {
                all.push(sql(sqlstate, running, inside, file));
            }
        }
    }
    all
}

/// What the host does about a failure, and what it makes of the letter's row when it reads it again, without any text.
#[derive(Debug, PartialEq)]
struct Doing {
    verdict: &'static str,
    after: Option<Duration>,
    letter: Option<(CauseKind, Option<Ended>)>,
}

fn read_again(cause: Cause) -> (CauseKind, Option<Ended>) {
    let text = cause.text();
    let kind = CauseKind::read(cause.kind.as_str());
    let cause = Cause::from_row(kind, cause.code, text, cause.sqlstate, cause.attempts);
    (cause.kind, cause.ended())
}

fn doing(failure: &Failure, facts: Facts) -> Doing {
    let made = verdict(failure, facts);
    let verdict = made.name();
    let (after, letter) = match made {
        Verdict::Transient { after } => (after, Some(exhausted(failure, facts))),
        Verdict::Permanent(cause) | Verdict::Escape(cause) => (None, Some(cause)),
        Verdict::Infrastructure
        | Verdict::Contention
        | Verdict::Reconnect
        | Verdict::AgainFresh
        | Verdict::Stop(_) => (None, None),
    };
    Doing {
        verdict,
        after,
        letter: letter.map(read_again),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]
    #[test]
    fn no_word_changes_what_the_host_does(
        code in word(), message in word(), name in word(),
        attempts in 1..4u32, fresh_connection: bool, confirmed_healthy: bool, of_nobody: bool,
    ) {
        let facts = Facts { attempts, fresh_connection, confirmed_healthy, of_nobody, ..Facts::default() };
        let (worded, plain) = (failures([&code, &message, &name]), failures(["c", "m", "n"]));
        for (worded, plain) in worded.iter().zip(&plain) {
            prop_assert_eq!(doing(worded, facts), doing(plain, facts), "{:?}", plain);
        }
    }
}

#[test]
fn a_handlers_rejection_is_its_own_whatever_it_calls_it() {
    for word in owned() {
        let failure = Failure::Reject {
            code: word.clone(),
            message: word.clone(),
        };
        let cause = cause(&failure, Facts::default());
        assert_eq!(
            (cause.kind, cause.ended()),
            (CauseKind::Handler, Some(Ended::Rejected)),
            "{word}"
        );
    }
}

#[test]
fn what_the_brake_does_not_count_is_what_no_handler_saw() {
    let ended = |failure: &Failure| cause(failure, Facts::default()).ended();
    assert_eq!(
        ended(&Failure::NoTenant {
            message: String::new()
        }),
        None
    );
    assert_eq!(
        ended(&Failure::Trap {
            message: String::new()
        }),
        Some(Ended::Trapped)
    );
    assert_eq!(ended(&Failure::Limit(Limit::Memory)), Some(Ended::Trapped));
    assert_eq!(
        ended(&Failure::Limit(Limit::Statements)),
        Some(Ended::Rejected)
    );
    assert_eq!(
        Cause::from(BadTenant::NoName).ended(),
        Some(Ended::Rejected)
    );
}
