//! Positions put by a command, in the database: all or none, and one open letter a gap.

use tidegate::inbox::{Gap, NewPosition, Wall};
use tidegate_core::letter;

use crate::inbox_support::{Db, db, key};

fn gap(first: i64, next: i64, epoch: i32) -> Gap {
    let source = key().source;
    Gap {
        id: letter::skipped_id("c", ("k", epoch), &source, first),
        first,
        message: letter::skipped(&source, first, next, "ann@db1"),
    }
}

async fn offsets(db: &Db) -> Vec<i64> {
    let sql = r#"SELECT "offset" FROM tidegate.dead_letters WHERE code = 'skipped' AND status = 'open'
                  ORDER BY log_epoch, "offset""#;
    let rows = db.client.query(sql, &[]).await.expect("letters");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gap_whose_first_offset_has_an_open_letter_is_noted_at_the_next_one() {
    let db = db(Wall::Grammar).await;
    db.run(
        r#"INSERT INTO tidegate.dead_letters (id, consumer_name, cluster_id, topic, partition, "offset", scope,
               header_names, header_values, code, message, attempts, timestamp_type)
           SELECT 'l' || o, 'c', 'k', 't', 0, o, '', '{}', '{}', 'malformed', '', 1, 'none'
             FROM generate_series(0, 1) AS o"#,
    )
    .await;
    db.put(("g", "k"), 5, Some(gap(0, 5, 0))).await;
    assert_eq!(offsets(&db).await, [2]);
    db.put(("g", "k"), 9, Some(gap(5, 9, 1))).await;
    assert_eq!(offsets(&db).await, [2, 5]);
    // Back, and the same gap once more: another epoch, another letter.
    db.put(("g", "k"), 5, None).await;
    db.put(("g", "k"), 9, Some(gap(5, 9, 3))).await;
    assert_eq!(offsets(&db).await, [2, 5, 5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_positions_one_that_is_not_as_expected_leaves_all_as_they_were() {
    let db = db(Wall::Grammar).await;
    let registered = db.inbox.register(("c", "t"), "g", "k", &[(1, 7, None)]);
    registered.await.expect("registered");
    let new = |partition, expected, next| NewPosition {
        partition,
        expected,
        next,
        committed: None,
        gap: Some(gap(0, next, 0)),
    };
    let next = async || {
        let rows = db.inbox.progress_rows().await.expect("rows");
        rows.iter().map(|row| row.next_offset).collect::<Vec<_>>()
    };
    for second in [Some((6, 0)), Some((7, 1)), None] {
        let both = [new(0, Some((0, 0)), 3), new(1, second, 9)];
        let put = db.inbox.put_positions(("c", "t"), ("g", "k"), &both).await;
        assert_eq!(put, Ok(false), "{second:?}");
        assert_eq!((next().await, offsets(&db).await), (vec![0, 7], vec![]));
    }
    let both = [new(0, Some((0, 0)), 3), new(1, Some((7, 0)), 9)];
    let put = db.inbox.put_positions(("c", "t"), ("g", "k"), &both).await;
    assert_eq!((put, next().await), (Ok(true), vec![3, 9]));

    // Kafka's word is noted only while nobody owns the position.
    let told = async |next| db.inbox.position_told(("c", "t"), 0, next).await;
    assert_eq!(told(4).await, Ok(false));
    assert_eq!(told(3).await, Ok(true));
    assert_eq!(told(3).await, Ok(false), "it is noted already");
}
