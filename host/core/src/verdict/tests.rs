//! The table of verdicts, row by row.

use proptest::prelude::*;

use super::*;
use crate::failure::{Broken, Named};
use crate::sqlstate::Origin;
use crate::witness::{Others, Statement};

fn sql(sqlstate: &str) -> Failure {
    Failure::Sql {
        sqlstate: sqlstate.to_owned(),
        message: "no".into(),
        constraint: None,
        named: Box::default(),
    }
}

fn on(
    failure: &Failure,
    attempts: u32,
    fresh_connection: bool,
    confirmed_healthy: bool,
) -> Verdict {
    verdict(
        failure,
        Facts {
            attempts,
            fresh_connection,
            confirmed_healthy,
            of_nobody: false,
            others: Others::Unknown,
        },
    )
}

fn first(failure: &Failure) -> Verdict {
    on(failure, 1, false, false)
}

fn code_of(verdict: Verdict) -> String {
    if let Verdict::Permanent(cause) | Verdict::Escape(cause) = verdict {
        return cause.code;
    }
    panic!("no cause in {verdict:?}")
}

fn reject(code: &str) -> Failure {
    Failure::Reject {
        code: code.to_owned(),
        message: "m".to_owned(),
    }
}

const TRANSIENT: Verdict = Verdict::Transient { after: None };

#[test]
fn a_lost_connection_is_infrastructure_whatever_else() {
    let lost = Failure::Unreachable {
        message: "gone".to_owned(),
    };
    let unknown = Failure::CommitUnknown {
        message: "gone".to_owned(),
    };
    for failure in [lost, unknown] {
        assert_eq!(first(&failure), Verdict::Infrastructure);
        assert_eq!(on(&failure, 9, true, true), Verdict::Infrastructure);
    }
}

#[test]
fn infrastructure_codes_need_proof() {
    for code in [
        "08006", "57P01", "57P02", "57P03", "53300", "53100", "58030", "25006", "25P03",
    ] {
        assert_eq!(first(&sql(code)), Verdict::Infrastructure, "{code}");
        assert_eq!(on(&sql(code), 1, false, true), TRANSIENT, "{code}");
    }
}

#[test]
fn contention_and_transient_codes() {
    for code in ["40001", "40P01", "55P03"] {
        assert_eq!(first(&sql(code)), Verdict::Contention, "{code}");
    }
    for code in ["57014", "23503", "25P02"] {
        assert_eq!(first(&sql(code)), TRANSIENT, "{code}");
    }
}

/// The server's own word needs no proof, and no connection that works refutes it: a disk may be full for one table alone.
#[test]
fn what_the_server_says_of_itself_is_waited_for() {
    let by = |code, file| {
        let named = Named {
            origin: Origin::new(Some(file), Some("r"), true),
            ..Named::default()
        };
        let failure = Failure::Sql {
            sqlstate: String::from(code),
            message: "no".into(),
            constraint: None,
            named: Box::new(named),
        };
        on(&failure, 99, true, true)
    };
    for code in ["53100", "53200", "57P03", "08006", "58030"] {
        assert_eq!(by(code, "md.c"), Verdict::Infrastructure, "{code}");
        assert_eq!(by(code, "pl_exec.c"), Verdict::Infrastructure, "{code}");
        assert_eq!(by(code, "plpy_elog.c"), TRANSIENT, "{code}");
    }
}

fn refused(sqlstate: &str, file: &str, routine: &str) -> Failure {
    Failure::Sql {
        sqlstate: sqlstate.to_owned(),
        message: "\"ada\" is none".into(),
        constraint: None,
        named: Box::new(Named {
            origin: Origin::new(Some(file), Some(routine), true),
            running: true,
            statement: Some(Statement { form: 1, text: 1 }),
            ..Named::default()
        }),
    }
}

/// What others do not meet is the record's own; what RAISE says is at once.
#[test]
fn a_stop_that_others_do_not_meet_is_their_records_own() {
    let facts = |others| Facts {
        attempts: 1,
        fresh_connection: true,
        others,
        ..Facts::default()
    };
    for sqlstate in ["0A000", "42501", "42883", "42P01", "XX000"] {
        let failure = refused(sqlstate, "numeric.c", "numeric_int8");
        assert!(matches!(
            verdict(&failure, facts(Others::Unknown)),
            Verdict::Stop(_)
        ));
        // What was wrong may have been mended before the other one was tried.
        assert_eq!(
            verdict(&failure, facts(Others::OneWorks)),
            Verdict::Reconnect
        );
        let Verdict::Permanent(cause) = verdict(&failure, facts(Others::Work)) else {
            panic!("{sqlstate}");
        };
        assert_eq!(cause.code, format!("sql-{sqlstate}"));
        assert!(!cause.message.contains("ada"), "{}", cause.message);
        let raised = refused(sqlstate, "pl_exec.c", "exec_stmt_raise");
        assert_eq!(code_of(first(&raised)), format!("sql-{sqlstate}"));
    }
    let damaged = refused("XX001", "bufmgr.c", "ReadBuffer_common");
    assert!(matches!(
        verdict(&damaged, facts(Others::Work)),
        Verdict::Stop(_)
    ));
}

/// Asking whether others work costs transactions: only where the answer counts.
#[test]
fn others_are_asked_where_a_statement_stops_its_record() {
    let asked = |offset, failure: Failure| Broken { offset, failure }.in_question().is_some();
    assert!(asked(Some(7), refused("XX000", "numeric.c", "r")));
    assert!(!asked(None, refused("XX000", "numeric.c", "r")));
    assert!(!asked(Some(7), refused("XX001", "bufmgr.c", "r")));
    assert!(!asked(
        Some(7),
        refused("XX000", "pl_exec.c", "exec_stmt_raise")
    ));
    assert!(!asked(Some(7), refused("53100", "md.c", "mdextend")));
    assert!(!asked(Some(7), sql("42P01")), "no handler's statement");
}

#[test]
fn stop_codes_reconnect_once() {
    for code in [
        "42601", "42P01", "42501", "42P05", "42704", "28000", "3D000", "3F000", "XX000", "26000",
        "0A000",
    ] {
        assert_eq!(first(&sql(code)), Verdict::Reconnect, "{code}");
        assert_eq!(
            on(&sql(code), 1, true, true),
            Verdict::Stop(sql(code).to_string()),
            "{code}"
        );
    }
}

#[test]
fn data_errors_and_unlisted_codes_are_permanent() {
    for code in [
        "22P02", "22003", "23505", "23502", "23514", "21000", "44000", "54000", "P0001", "P0002",
        "40002", "55000",
    ] {
        assert_eq!(code_of(first(&sql(code))), format!("sql-{code}"));
    }
    for odd in ["", "é", "4", "ZZ999"] {
        assert!(matches!(first(&sql(odd)), Verdict::Permanent(_)), "{odd}");
    }
}

#[test]
fn escapes() {
    for code in ["2D000", "25001", "25P01"] {
        assert!(matches!(first(&sql(code)), Verdict::Escape(cause)
            if cause.code == "escape" && cause.sqlstate.as_deref() == Some(code)));
    }
    let escape = Failure::Escape {
        message: "another transaction".to_owned(),
    };
    assert_eq!(code_of(first(&escape)), "escape");
}

#[test]
fn guests_that_break_get_one_fresh_try() {
    let trap = Failure::Trap {
        message: "unreachable".to_owned(),
    };
    assert_eq!(first(&trap), Verdict::AgainFresh);
    assert_eq!(code_of(on(&trap, 2, false, false)), "trap");
    for limit in [
        Limit::Memory,
        Limit::Tables,
        Limit::Instances,
        Limit::Cpu,
        Limit::Wall,
        Limit::RandomBytes,
    ] {
        let failure = Failure::Limit(limit);
        assert_eq!(first(&failure), Verdict::AgainFresh, "{limit:?}");
        assert_eq!(code_of(on(&failure, 2, false, false)), limit.code());
    }
}

#[test]
fn what_a_record_alone_sent_and_got_is_its_own_fault_at_once() {
    for limit in [
        Limit::Statements,
        Limit::StagedStatements,
        Limit::StagedBytes,
        Limit::ParameterBytes,
        Limit::ParameterValues,
        Limit::Nesting,
        Limit::ResultRows,
        Limit::ResultBytes,
    ] {
        assert_eq!(code_of(first(&Failure::Limit(limit))), limit.code());
    }
}

#[test]
fn a_slow_database_is_no_guests_fault() {
    let waited = Failure::Limit(Limit::DatabaseWait);
    for attempts in [1, 2, 50] {
        assert_eq!(on(&waited, attempts, false, false), TRANSIENT);
    }
}

#[test]
fn the_handlers_word() {
    let retry = Failure::Retry {
        message: "later".to_owned(),
        after_ms: Some(250),
    };
    assert_eq!(
        first(&retry),
        Verdict::Transient {
            after: Some(Duration::from_millis(250))
        }
    );
    let cause = exhausted(
        &retry,
        Facts {
            attempts: 5,
            ..Facts::default()
        },
    );
    assert_eq!(
        (cause.code.as_str(), cause.message.as_str(), cause.attempts),
        ("retries-exhausted", "later", 5)
    );
    assert_eq!(code_of(first(&reject("no-account"))), "no-account");
    let (longest, longer) = ("x".repeat(64), "x".repeat(65));
    assert_eq!(code_of(first(&reject(&longest))), longest);
    for odd in ["", "a b", "ä", "a\n", longer.as_str()] {
        assert_eq!(code_of(first(&reject(odd))), "rejected");
    }
}

#[test]
fn statements_that_do_not_fit() {
    let count = Failure::UnexpectedRowCount {
        expected: "exactly 1 rows".to_owned(),
        actual: 0,
    };
    assert_eq!(code_of(first(&count)), "unexpected-row-count");
    let parameter = Failure::BadParameter {
        message: "$1".to_owned(),
    };
    assert_eq!(code_of(first(&parameter)), "bad-parameter");
    let refused = Failure::StatementRefused {
        message: "COMMIT".to_owned(),
    };
    assert_eq!(code_of(first(&refused)), "sql-refused");
}

/// A statement that means nothing is refused when it is read; what is refused later is a value, or something that was
/// dropped meanwhile, or what a function or trigger says.
#[test]
fn values_that_functions_refuse_are_their_records_own() {
    let of = |sqlstate: &str, inside, fresh| {
        let failure = Failure::Sql {
            sqlstate: sqlstate.to_owned(),
            message: "\"ada\" is none".into(),
            constraint: None,
            named: Box::new(Named {
                origin: Origin::new(None, None, inside),
                ..Named::default()
            }),
        };
        on(&failure.while_running(), 1, fresh, true)
    };
    for sqlstate in ["3F000", "42601", "42704", "42P01"] {
        assert_eq!(of(sqlstate, false, false), Verdict::Reconnect);
        let Verdict::Permanent(cause) = of(sqlstate, false, true) else {
            panic!("{sqlstate}");
        };
        assert!(!cause.message.contains("ada"), "{}", cause.message);
        assert!(matches!(of(sqlstate, true, true), Verdict::Stop(_)));
    }
    assert!(matches!(of("42501", false, true), Verdict::Stop(_)));
}

#[test]
fn a_role_that_cannot_be_taken_stops_whoever_met_it() {
    let message = "GRANT".to_owned();
    let refused = Failure::RoleRefused {
        message: message.clone(),
    };
    for fresh in [false, true] {
        let verdict = on(&refused, 1, fresh, true);
        assert_eq!(verdict, Verdict::Stop(message.clone()));
    }
}

#[test]
fn a_refusals_line_holds_names_and_no_values() {
    let named = Named {
        schema: Some("public".to_owned()),
        table: Some("users".to_owned()),
        column: Some("e\nmail".to_owned()),
        ..Named::default()
    };
    let of = |sqlstate: &str, inside| {
        let failure = Failure::Sql {
            sqlstate: sqlstate.to_owned(),
            message: "relation \"ada\"\nis none".into(),
            constraint: Some("pk".to_owned()),
            named: Box::new(Named {
                origin: Origin::new(None, None, inside),
                ..named.clone()
            }),
        };
        assert!(!format!("{failure:?}").contains("ada"));
        cause(&failure, Facts::default())
    };
    let names = "table `public.users`, column `e mail`, constraint `pk`";
    let broken = of("23505", false);
    assert_eq!(
        broken.message,
        format!("unique_violation (SQLSTATE 23505), {names}")
    );
    assert_eq!(
        broken.text(),
        format!("{}\nrelation \"ada\"\nis none", broken.message)
    );
    // The server itself speaks of names alone; a function may say what it likes with the same code.
    let absent = format!("undefined_table (SQLSTATE 42P01), {names}");
    let plain = of("42P01", false).message;
    assert_eq!(plain, format!("{absent}: relation \"ada\" is none"));
    assert_eq!(of("42P01", true).message, absent);
}

proptest! {
    #[test]
    fn causes_are_bounded_and_storable(code in ".{0,80}", message in "(.|\0){0,3000}", state in ".{0,8}") {
        for failure in [
            reject(&code),
            Failure::Reject { code: code.clone(), message: message.clone() },
            Failure::Sql { sqlstate: state.clone(), message: message.as_str().into(), constraint: Some(code.clone()), named: Box::default() },
            Failure::Trap { message: message.clone() },
        ] {
            let cause = cause(&failure, Facts::default());
            prop_assert!(cause.message.len() <= MAX_MESSAGE_BYTES && !cause.message.contains('\0'));
            prop_assert!(cause.code.len() <= MAX_CODE_CHARS && !cause.code.contains('\0'));
            drop(verdict(&failure, Facts::default()));
        }
    }
}

/// The host's own statements: what would be a record's to retry or its end is waited for, or a stop.
#[test]
fn what_is_nobodys_rejects_no_record() {
    let nobodys = |failure: &Failure| {
        let facts = Facts {
            attempts: 9,
            fresh_connection: true,
            confirmed_healthy: true,
            of_nobody: true,
            others: Others::Work,
        };
        verdict(failure, facts)
    };
    for sqlstate in ["57014", "53100", "23503"] {
        assert_eq!(
            nobodys(&sql(sqlstate)),
            Verdict::Infrastructure,
            "{sqlstate}"
        );
    }
    for sqlstate in ["23505", "22003", "P0001", "54000", "42P01"] {
        assert!(
            matches!(nobodys(&sql(sqlstate)), Verdict::Stop(_)),
            "{sqlstate}"
        );
    }
    assert_eq!(nobodys(&sql("40P01")), Verdict::Contention);
}

#[test]
fn every_verdict_is_in_the_list_of_names() {
    let cause = a_cause();
    let all = [
        Verdict::Infrastructure,
        Verdict::Contention,
        Verdict::Transient { after: None },
        Verdict::Reconnect,
        Verdict::AgainFresh,
        Verdict::Permanent(cause.clone()),
        Verdict::Stop(String::new()),
        Verdict::Escape(cause),
    ];
    assert_eq!(all.map(|verdict| verdict.name()), Verdict::NAMES);
}

fn a_cause() -> crate::letter::Cause {
    cause(&reject("c"), Facts::default())
}
