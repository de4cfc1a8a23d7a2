//! The table of where to resume, row by row.

use super::*;
use crate::crash::Ends;

mod properties;

fn last(offset: i64) -> LastRecord {
    LastRecord {
        offset,
        timestamp_ms: Some(5),
        digest: Some([1; 16]),
        event_id: Some("e".to_owned()),
    }
}

fn row(n: i64, c: Option<i64>) -> Progress {
    Progress {
        group: "g".to_owned(),
        cluster_id: "A".to_owned(),
        log_epoch: 0,
        next_offset: n,
        committed: c,
        last: Some(last(n - 1)),
        failing: None,
        ends: Ends::default(),
    }
}

/// A log of 10 to 100, its last handled record found.
fn facts(row: Option<Progress>, k: Option<i64>) -> Facts {
    Facts {
        row,
        committed: k,
        low: 10,
        high: 100,
        asked_twice: false,
        group: "g".to_owned(),
        cluster_id: "A".to_owned(),
        start: Start::Earliest,
        known_topic: false,
        last: LogCheck::Same,
    }
}

/// `facts` lead to this start, with commits that begin at Kafka's own word.
fn assert_start(facts: &Facts, at: i64, place: Option<(i64, Option<i64>)>, notice: Option<Notice>) {
    let start = Resume {
        at,
        place,
        acknowledged: facts.committed,
        notice,
        log_notice: None,
    };
    assert_eq!(decide(facts), Decision::Start(start));
}

fn stop_text(facts: &Facts) -> String {
    let Decision::Stop(reason) = decide(facts) else {
        panic!("no stop: {:?}", decide(facts))
    };
    reason.to_string()
}

#[test]
fn ordinary_and_crash_between_the_two_commits() {
    assert_start(&facts(Some(row(50, Some(50))), Some(50)), 50, None, None);
    let behind = Some(Notice::KafkaBehind { k: 40, n: 50 });
    assert_start(&facts(Some(row(50, Some(40))), Some(40)), 50, None, behind);
    // Kafka acknowledged 50, and C had not been written yet.
    assert_start(
        &facts(Some(row(50, Some(40))), Some(50)),
        50,
        Some((50, Some(50))),
        None,
    );
    assert_start(
        &facts(Some(row(50, None)), Some(50)),
        50,
        Some((50, Some(50))),
        None,
    );
}

#[test]
fn a_rewind_is_accepted_once() {
    let accepted = Some(Notice::RewindAccepted {
        k: 20,
        c: 40,
        n: 50,
    });
    let placed = Some((20, Some(20)));
    assert_start(
        &facts(Some(row(50, Some(40))), Some(20)),
        20,
        placed,
        accepted,
    );
    // After it was written down and a first batch: an ordinary position.
    let behind = Some(Notice::KafkaBehind { k: 20, n: 25 });
    assert_start(&facts(Some(row(25, Some(20))), Some(20)), 25, None, behind);
    assert!(stop_text(&facts(Some(row(50, Some(40))), Some(9))).contains("10 to 100"));
}

#[test]
fn kafka_ahead_expired_and_never_committed() {
    let ahead = Some(Notice::KafkaAhead { k: 60, n: 50 });
    assert_start(&facts(Some(row(50, Some(40))), Some(60)), 50, None, ahead);
    let expired = Some(Notice::GroupExpired { n: 50 });
    assert_start(&facts(Some(row(50, Some(40))), None), 50, None, expired);
    assert_start(&facts(Some(row(50, None)), None), 50, None, None);
}

#[test]
fn a_position_that_was_set_decides_whatever_kafka_says() {
    // `offsets set` leaves neither C nor a last record; K may be anywhere, in the log or outside.
    let set = |n| {
        Some(Progress {
            last: None,
            log_epoch: 1,
            ..row(n, None)
        })
    };
    for n in [10, 50, 100] {
        for k in [None, Some(5), Some(20), Some(50), Some(60), Some(200)] {
            let Decision::Start(resume) = decide(&facts(set(n), k)) else {
                panic!("no start: {n} {k:?}")
            };
            assert_eq!((resume.at, resume.place), (n, None), "{k:?}");
            assert_eq!(resume.acknowledged, None, "Kafka is told, whatever it says");
            let set = k.filter(|k| *k != n).map(|k| Notice::SetByCommand { k, n });
            assert_eq!(resume.notice, set, "no rewind, no lost tail: {n} {k:?}");
        }
    }
}

#[test]
fn once_kafka_has_acknowledged_a_set_position_its_word_counts_again() {
    let set = |n, c| Progress {
        log_epoch: 1,
        ..row(n, c)
    };
    let accepted = Some(Notice::RewindAccepted {
        k: 15,
        c: 20,
        n: 50,
    });
    let rewound = facts(Some(set(50, Some(20))), Some(15));
    assert_start(&rewound, 15, Some((15, Some(15))), accepted);
    // A crash after the first batches: the rest goes on, none of it is redone, Kafka is told at last.
    let Decision::Start(resume) = decide(&facts(Some(set(30, None)), Some(20))) else {
        panic!("no start")
    };
    assert_eq!((resume.at, resume.acknowledged), (30, None));
}

#[test]
fn without_a_row() {
    let adopted = Some(Notice::Adopted { k: 30 });
    assert_start(&facts(None, Some(30)), 30, Some((30, Some(30))), adopted);
    assert_start(&facts(None, None), 10, Some((10, None)), None);
    let latest = Facts {
        start: Start::Latest,
        ..facts(None, None)
    };
    assert_start(&latest, 100, Some((100, None)), None);
    let later = Facts {
        known_topic: true,
        ..latest
    };
    assert_start(&later, 10, Some((10, None)), None);
    assert!(stop_text(&facts(None, Some(9))).contains("offsets set"));
    assert_eq!(decide(&facts(None, Some(101))), Decision::AskAgain);
    let again = Facts {
        asked_twice: true,
        ..facts(None, Some(101))
    };
    assert!(stop_text(&again).contains("101"));
}

#[test]
fn outside_the_log() {
    let below = stop_text(&facts(Some(row(9, Some(9))), Some(9)));
    assert!(
        below.contains("10 to 100") && below.contains("offsets set"),
        "{below}"
    );
    let beyond = facts(Some(row(101, Some(9))), Some(101));
    assert_eq!(decide(&beyond), Decision::AskAgain);
    let again = stop_text(&Facts {
        asked_twice: true,
        ..beyond.clone()
    });
    assert!(
        again.contains("10 to 100") && again.contains("offsets adopt"),
        "{again}"
    );
    // The second answer may put it right.
    let right = Facts {
        asked_twice: true,
        high: 101,
        ..beyond
    };
    assert!(matches!(
        decide(&right),
        Decision::Start(Resume { at: 101, .. })
    ));
    assert!(matches!(
        decide(&facts(Some(row(100, Some(100))), Some(100))),
        Decision::Start(_)
    ));
}

#[test]
fn another_cluster_comes_before_all_else() {
    let mut other = facts(Some(row(900, Some(40))), Some(20));
    other.cluster_id = "B".to_owned();
    other.group = "h".to_owned();
    let text = stop_text(&other);
    assert!(
        text.contains("`A`") && text.contains("`B`") && text.contains("offsets adopt"),
        "{text}"
    );
}

#[test]
fn another_group_is_refused() {
    let other = Facts {
        group: "h".to_owned(),
        ..facts(Some(row(50, Some(50))), None)
    };
    let text = stop_text(&other);
    assert!(
        text.contains("`g`") && text.contains("`h`") && text.contains("offsets adopt"),
        "{text}"
    );
}

#[test]
fn the_log_is_asked_before_it_is_trusted() {
    let mut asked = facts(Some(row(50, Some(50))), Some(50));
    asked.last = LogCheck::NotAsked;
    assert_eq!(decide(&asked), Decision::CheckRecord(last(49)));
    asked.last = LogCheck::Different {
        found: "its timestamp is 6 ms".to_owned(),
    };
    assert!(stop_text(&asked).contains("49"));
    let gone = Some(Notice::LogRecordGone { offset: 49 });
    let going_on = Decision::Start(Resume {
        at: 50,
        place: None,
        acknowledged: Some(50),
        notice: None,
        log_notice: gone,
    });
    asked.last = LogCheck::Gone;
    assert_eq!(decide(&asked), going_on);
    // Below the log's start there is nothing to ask for.
    asked.last = LogCheck::NotAsked;
    asked.low = 50;
    assert_eq!(decide(&asked), going_on);
    asked.row = asked.row.map(|row| Progress { last: None, ..row });
    assert_start(&asked, 50, None, None);
}

#[test]
fn a_log_that_ends_before_the_handled_record_is_another() {
    // Rewound to 20 after 80 was handled, then the topic was made anew with fewer records.
    let row = Progress {
        last: Some(last(80)),
        ..row(20, Some(20))
    };
    let mut facts = Facts {
        high: 60,
        last: LogCheck::NotAsked,
        ..facts(Some(row), Some(20))
    };
    assert_eq!(decide(&facts), Decision::AskAgain);
    facts.asked_twice = true;
    assert!(stop_text(&facts).contains("offsets adopt"));
}

#[test]
fn records_are_compared() {
    let compare = |found: LastRecord| LogCheck::compare(&last(49), Some(&found));
    assert_eq!(compare(last(49)), LogCheck::Same);
    assert_eq!(
        compare(LastRecord {
            event_id: None,
            ..last(49)
        }),
        LogCheck::Same
    );
    assert_eq!(compare(last(50)), LogCheck::Gone);
    assert_eq!(LogCheck::compare(&last(49), None), LogCheck::Gone);
    for other in [
        LastRecord {
            timestamp_ms: Some(6),
            ..last(49)
        },
        LastRecord {
            timestamp_ms: None,
            ..last(49)
        },
        LastRecord {
            digest: Some([2; 16]),
            ..last(49)
        },
    ] {
        let check = compare(other);
        assert!(
            matches!(&check, LogCheck::Different { found } if !found.contains("[2")),
            "{check:?}"
        );
    }
}

#[test]
fn no_rule_for_ids_makes_a_log_another_one() {
    let by_another_rule = LastRecord {
        event_id: Some("another".to_owned()),
        ..last(49)
    };
    let check = LogCheck::compare(&last(49), Some(&by_another_rule));
    assert_eq!(check, LogCheck::Same, "the digest decides");
    // A row of a host that took no digest.
    let undigested = LastRecord {
        digest: None,
        ..last(49)
    };
    assert_eq!(
        LogCheck::compare(&undigested, Some(&last(49))),
        LogCheck::Same
    );
    let check = LogCheck::compare(&undigested, Some(&by_another_rule));
    assert_eq!(check, LogCheck::Unsure);
    let unsure = Facts {
        last: check,
        ..facts(Some(row(50, Some(50))), Some(50))
    };
    let Decision::Start(resume) = decide(&unsure) else {
        panic!("no start")
    };
    let notice = resume.log_notice.map(|notice| notice.to_string());
    assert!(notice.is_some_and(|text| text.contains("rule for ids")));
    let elsewhen = LastRecord {
        timestamp_ms: Some(6),
        ..last(49)
    };
    let check = LogCheck::compare(&undigested, Some(&elsewhen));
    assert!(matches!(check, LogCheck::Different { .. }));
}
