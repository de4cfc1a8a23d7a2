//! What must hold of every decision on where to resume.

use proptest::prelude::*;

use super::*;

prop_compose! {
    fn any_facts()(
        n in 0i64..60, c in prop::option::of(0i64..60), has_row: bool, log_epoch in 0i32..2, k in prop::option::of(0i64..60),
        low in 0i64..40, size in 0i64..40, asked_twice: bool, latest: bool, known_topic: bool, check in 0u8..4,
        group in "[gh]", cluster_id in "[AB]",
    ) -> Facts {
        let row = has_row.then(|| Progress { log_epoch, ..row(n, c.map(|c| c.min(n))) });
        let last = match check {
            0 => LogCheck::NotAsked,
            1 => LogCheck::Same,
            2 => LogCheck::Gone,
            _ => LogCheck::Different { found: "other".to_owned() },
        };
        let start = if latest { Start::Latest } else { Start::Earliest };
        Facts { low, high: low + size, asked_twice, start, known_topic, last, group, cluster_id, ..facts(row, k) }
    }
}

proptest! {
    #[test]
    fn nothing_is_skipped_and_only_a_rewind_redoes(facts in any_facts()) {
        let Decision::Start(resume) = decide(&facts) else { return Ok(()) };
        prop_assert!((facts.low..=facts.high).contains(&resume.at));
        match (&facts.row, facts.committed) {
            (Some(row), k) => {
                prop_assert!(resume.at <= row.next_offset);
                let rewound = k.zip(row.committed).is_some_and(|(k, c)| k < c);
                prop_assert_eq!(resume.at == row.next_offset, !rewound || k == Some(row.next_offset));
                prop_assert!(!rewound || resume.place == Some((resume.at, k)));
            }
            (None, Some(k)) => prop_assert_eq!((resume.at, resume.place), (k, Some((k, Some(k))))),
            (None, None) => prop_assert_eq!(resume.place, Some((resume.at, None))),
        }
        // What a command set is told to Kafka; else Kafka's own word is where commits begin.
        let set = facts.row.as_ref().is_some_and(Progress::is_set);
        prop_assert_eq!(resume.acknowledged, facts.committed.filter(|_| !set));
        // C is only ever what Kafka said, and never beyond N.
        if let Some((n, Some(c))) = resume.place {
            prop_assert!(facts.committed == Some(c) && c <= n);
        }
    }

    #[test]
    fn a_written_place_is_an_ordinary_position(facts in any_facts()) {
        let Decision::Start(resume) = decide(&facts) else { return Ok(()) };
        let Some((n, c)) = resume.place else { return Ok(()) };
        let (last, epoch) = (facts.row.as_ref().and_then(|r| r.last.clone()), facts.row.as_ref().map(|r| r.log_epoch));
        let (group, cluster_id) = (facts.group.clone(), facts.cluster_id.clone());
        let written = Progress { next_offset: n, committed: c, last, log_epoch: epoch.unwrap_or(0), ..row(0, None) };
        let row = Progress { group, cluster_id, ..written };
        let again = Facts { row: Some(row), ..facts };
        let Decision::Start(second) = decide(&again) else { panic!("{:?}", decide(&again)) };
        prop_assert_eq!((second.at, second.place), (resume.at, None));
    }

    #[test]
    fn it_is_asked_again_once_only(facts in any_facts()) {
        let twice = Facts { asked_twice: true, ..facts };
        prop_assert_ne!(decide(&twice), Decision::AskAgain);
    }

    #[test]
    fn what_would_be_refused_is_never_taken(facts in any_facts(), group in "[gh]", cluster_id in "[AB]") {
        let sibling = Whose { group, cluster_id };
        match look(&facts, Some(&sibling)) {
            Look::Take(seen) => {
                prop_assert!(matches!(decide(&facts), Decision::Start(_)));
                let row = facts.row.as_ref().expect("a row is seen");
                prop_assert_eq!((seen.whose(), seen.log_epoch()), (&row.whose(), row.log_epoch));
                prop_assert_eq!((&row.group, &row.cluster_id), (&facts.group, &facts.cluster_id));
                prop_assert!((facts.low..=facts.high).contains(&row.next_offset));
                let different = matches!(facts.last, LogCheck::Different { .. });
                prop_assert!(!different);
            }
            Look::Register => {
                prop_assert!(facts.row.is_none());
                prop_assert_eq!((sibling.group, sibling.cluster_id), (facts.group, facts.cluster_id));
            }
            Look::Refuse(reason) => {
                let stop = Decision::Stop(reason);
                prop_assert!(facts.row.is_none() || decide(&facts) == stop);
            }
            Look::AskAgain => prop_assert!(!facts.asked_twice),
            Look::CheckRecord(_) => prop_assert_eq!(&facts.last, &LogCheck::NotAsked),
        }
    }
}
