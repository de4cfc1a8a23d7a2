//! The table of codes, each by whose word it is.

use super::*;
use SqlClass::*;

/// Every code of the classes 08, 25, 2D, 40, 42, 53, 54, 55, 57, 58 and XX, and what it comes to: by the server's own
/// word, by RAISE, by a library's, and where nobody is named.
const TABLE: &[(&str, [SqlClass; 4])] = &[
    ("08000 08003 08006 08001 08004 08007", INFRASTRUCTURE),
    ("08P01", [Doubtful, Doubtful, Doubtful, Doubtful]),
    ("25000 25002 25008 25003 25004 25005 25007", RECORD),
    (
        "25006 25P03 25P04",
        [Doubtful, Doubtful, Doubtful, Doubtful],
    ),
    ("25P02", [Transient, Transient, Transient, Transient]),
    ("25001 25P01 2D000", [Escape, Permanent, Permanent, Escape]),
    ("40000 40002 40003", RECORD),
    (
        "40001 40P01 55P03",
        [Contention, Transient, Transient, Contention],
    ),
    (
        "42000 42601 42501 42846 42803 42P20 42P19 42830 42602 42622 42939 42804 42P18 42P21 42P22 42809 428C9 42703 42883 42P01 \
         42P02 42704 42701 42P03 42P04 42723 42P05 42P06 42P07 42712 42710 42702 42725 42P08 42P09 42611 42P10 42P11 42P12 42P13 \
         42P14 42P15 42P16 42P17 XX000",
        [Stop, Permanent, Stop, Stop],
    ),
    ("XX001 XX002", [Damage, Permanent, Stop, Damage]),
    ("53000 53100 53200 53300", INFRASTRUCTURE),
    ("53400", [Doubtful, Doubtful, Doubtful, Doubtful]),
    ("54000 54001 54011 54023", RECORD),
    ("55000 55006 55P02 55P04", RECORD),
    ("57000", RECORD),
    ("57014", [Transient, Transient, Transient, Transient]),
    ("57P01 57P02 57P03 57P04 57P05", INFRASTRUCTURE),
    ("58000 58030 58P01 58P02 58P03", INFRASTRUCTURE),
    (
        "0A000 26000 28000 28P01 3D000 3F000",
        [Stop, Permanent, Stop, Stop],
    ),
    ("22P02 23505 P0001 ZZ999", RECORD),
];
const INFRASTRUCTURE: [SqlClass; 4] = [Infrastructure, Doubtful, Doubtful, Doubtful];
const RECORD: [SqlClass; 4] = [Permanent; 4];

fn speakers(inside: bool) -> [Origin; 4] {
    [
        Origin::new(Some("md.c"), Some("mdextend"), inside),
        Origin::new(Some("pl_exec.c"), Some("exec_stmt_raise"), true),
        Origin::new(Some("hstore_io.c"), Some("parse_hstore"), inside),
        Origin::new(None, None, inside),
    ]
}

#[test]
fn each_code_is_judged_by_whose_word_it_is() {
    for (codes, classes) in TABLE {
        for code in codes.split_whitespace() {
            let judged = speakers(false).map(|origin| judge(code, &origin));
            assert_eq!(&judged, classes, "{code}");
        }
    }
}

/// A full disk is full for a trigger's statement too.
#[test]
fn being_inside_a_function_proves_nothing() {
    for (codes, classes) in TABLE {
        for code in codes.split_whitespace() {
            let judged = speakers(true).map(|origin| judge(code, &origin));
            assert_eq!(&judged, classes, "{code}");
        }
    }
}

#[test]
fn files_that_a_statement_names_and_numbers_that_are_used_up() {
    let server = |file| Origin::new(Some(file), Some("r"), false);
    assert_eq!(judge("58P01", &server("genfile.c")), Doubtful);
    assert_eq!(judge("58P01", &server("md.c")), Infrastructure);
    assert_eq!(judge("53100", &server("copyto.c")), Infrastructure);
    assert_eq!(judge("54000", &server("varsup.c")), Infrastructure);
    assert_eq!(judge("54000", &server("varlena.c")), Permanent);
    assert_eq!(judge("54000", &Origin::default()), Permanent);
}
