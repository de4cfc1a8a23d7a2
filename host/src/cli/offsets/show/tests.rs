//! Rows and Kafka's answers side by side.

use tidegate_core::progress::ProgressKey;

use super::*;

fn partition(n: i32) -> TopicPartition {
    TopicPartition {
        topic: "payments".into(),
        partition: n,
    }
}

fn progress(n: i32, group: &str, next_offset: i64) -> ProgressRow {
    ProgressRow {
        key: ProgressKey {
            consumer: "billing".into(),
            source: partition(n),
        },
        group: group.into(),
        log_epoch: 0,
        cluster_id: "c".into(),
        owner: None,
        owner_host: None,
        failing: None,
        stopped_for: None,
        next_offset,
        committed: None,
        last_offset: None,
        updated_at: String::new(),
        counts: Counts::default(),
    }
}

fn consumer() -> ConsumerConfig {
    let file = "[kafka]\nbootstrap_servers = 'k'\n[postgres]\nurl = 'postgresql://a@b/c'\n\
                [[consumer]]\nname = 'billing'\ntopics = ['payments']\nhandler = 'h.wasm'";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tidegate.toml");
    std::fs::write(&path, file).unwrap();
    crate::config::load(&path, [], crate::kafka::check_options)
        .unwrap()
        .consumers
        .remove(0)
}

#[test]
fn partitions_of_either_side_are_shown_with_their_own_group() {
    let consumer = consumer();
    let rows = [progress(0, "other", 7), progress(9, "billing", 1)];
    let existing = BTreeSet::from([partition(0), partition(1)]);
    let lines = lines(&consumer, rows.iter(), existing);
    let answer = GroupOffset {
        partition: partition(0),
        committed: Some(5),
        low: 0,
        high: 10,
    };
    let offsets = Offsets::from([(("other".to_owned(), partition(0)), answer)]);
    let shown: Vec<OffsetRow> = lines
        .into_iter()
        .map(|line| line.row(&offsets, State::Running))
        .collect();
    let brief: Vec<_> = shown
        .iter()
        .map(|row| {
            (
                row.partition,
                row.group.as_str(),
                row.kafka_committed,
                row.next_offset,
                row.lag,
            )
        })
        .collect();
    assert_eq!(
        brief,
        [
            (0, "other", Some(5), Some(7), Some(3)),
            (1, "billing", None, None, None),
            (9, "billing", None, Some(1), None),
        ]
    );
}

/// A partition that waits is not one that runs, whatever its consumer may do.
#[test]
fn a_partition_that_waits_says_so() {
    let consumer = consumer();
    let shown = |failing, stopped_for: Option<&str>, state| {
        let row = ProgressRow {
            failing,
            stopped_for: stopped_for.map(str::to_owned),
            ..progress(0, "billing", 7)
        };
        let lines = lines(&consumer, std::iter::once(&row), BTreeSet::new());
        let line = lines.into_iter().next().unwrap();
        let row = line.row(&Offsets::new(), state);
        (row.state, row.failing_offset, row.stopped_for)
    };
    let got = |state: &str, at, why: Option<&str>| (state.to_owned(), at, why.map(str::to_owned));
    let (failing, why) = (Some((7, 2)), Some("no such table"));
    assert_eq!(
        shown(None, None, State::Running),
        got("running", None, None)
    );
    assert_eq!(
        shown(failing, None, State::Running),
        got("retrying", Some(7), None)
    );
    assert_eq!(
        shown(failing, why, State::Running),
        got("stopped", Some(7), why)
    );
    assert_eq!(
        shown(failing, why, State::Paused),
        got("paused", Some(7), why)
    );
}
