//! Dead letters byte for byte, superseding, the relay's queue, pruning.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tidegate::inbox::{LetterFilter, LetterStatus, PruneRule, Waiting, Wall};
use tidegate_core::letter::{Cause, CauseKind, Letter, letter_id};
use tidegate_core::outcome::Outcome;
use tidegate_core::record::{Header, Record, Timestamp};
use uuid::Uuid;

use super::inbox_support::{Db, claim, db, finish, hour, key};

fn letter(offset: i64, event_id: Option<&str>) -> Letter {
    let header = |name: &str, value: Option<&'static [u8]>| Header {
        name: name.into(),
        value: value.map(Bytes::from_static),
    };
    Letter {
        record: Record {
            source: key().source,
            offset,
            timestamp: Timestamp::Appended(-5),
            key: Some(Bytes::from_static(b"")),
            value: None,
            unreadable_headers: 0,
            headers: vec![
                header("a", Some(b"\0\xff")),
                header("b\0", None),
                header("a", Some(b"")),
            ],
        },
        scope: String::new(),
        event_id: event_id.map(str::to_owned),
        tenant: Some("acme".into()),
        module_digest: Some([9; 32]),
        cause: Cause {
            kind: CauseKind::Trap,
            code: "trap".into(),
            message: "division_by_zero (SQLSTATE 22012)".into(),
            server: Some("a\0b".into()),
            sqlstate: Some("22012".into()),
            attempts: 3,
        },
    }
}

/// A letter as it is read back: the NUL is not.
fn stored(offset: i64, event_id: &str) -> Letter {
    let mut letter = letter(offset, Some(event_id));
    letter.cause.server = Some("a\u{fffd}b".into());
    letter
}

fn id_at(db: &Db, offset: i64) -> String {
    letter_id("c", ("k", db.epoch), &key().source, offset, 0)
}

/// Rejects one record in a batch of its own.
async fn reject(db: &Db, expected: i64, id: &str, offset: i64) {
    let claim = claim(id, offset, Duration::ZERO);
    let (transaction, _) = db.open(expected, vec![claim.clone()]).await;
    let mut end = finish(expected + 1);
    end.outcomes = vec![(Arc::default(), claim.event_id, Outcome::Rejected)];
    end.letters = vec![(id_at(db, offset), letter(offset, Some(id)))];
    transaction.commit(end).await.expect("committed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_is_kept_byte_for_byte_and_once() {
    let db = db(Wall::Grammar).await;
    reject(&db, 0, "e", 4).await;
    let found = db
        .inbox
        .letter(&id_at(&db, 4))
        .await
        .expect("read")
        .expect("there");
    let wanted = stored(4, "e");
    assert_eq!((found.letter, found.status), (wanted, LetterStatus::Open));
    assert_eq!(found.cluster_id, "k");

    let (transaction, _) = db.open(1, vec![]).await;
    let mut end = finish(2);
    end.letters = vec![
        (id_at(&db, 4), letter(4, Some("e"))),
        ("another".into(), letter(4, None)),
    ];
    transaction
        .commit(end)
        .await
        .expect("a redelivery dead-letters nothing twice");
    assert_eq!(
        db.number("SELECT count(*) FROM tidegate.dead_letters")
            .await,
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_is_superseded_and_opened_again() {
    let db = db(Wall::Grammar).await;
    reject(&db, 0, "e", 4).await;
    let (transaction, _) = db.open(1, vec![hour("e", 6)]).await;
    let mut end = finish(2);
    end.superseded = vec![(Arc::default(), hour("e", 6).event_id)];
    transaction.commit(end).await.expect("committed");
    let filter = LetterFilter {
        consumers: vec!["c".into()],
        status: Some(LetterStatus::Superseded),
        ..LetterFilter::default()
    };
    assert_eq!(
        db.inbox.letters(&filter, 10).await.expect("listed").len(),
        1
    );
    let (transaction, _) = db.open(2, vec![]).await;
    let mut end = finish(3);
    end.letters = vec![(id_at(&db, 4), letter(4, Some("e")))];
    transaction.commit(end).await.expect("committed");
    let again = db
        .inbox
        .letter(&id_at(&db, 4))
        .await
        .expect("read")
        .expect("there");
    assert_eq!((again.status, again.closed_at), (LetterStatus::Open, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_adoption_the_same_offset_has_a_letter_of_its_own() {
    let mut db = db(Wall::Grammar).await;
    reject(&db, 0, "open", 4).await;
    reject(&db, 1, "closed", 5).await;
    db.run(
        "UPDATE tidegate.dead_letters SET status = 'discarded', closed_at = now() WHERE event_id = 'closed'",
    )
    .await;
    let old = [id_at(&db, 4), id_at(&db, 5)];
    db.adopt().await;
    reject(&db, 0, "beside the open one", 4).await;
    reject(&db, 1, "beside the closed one", 5).await;

    for (offset, id, status) in [
        (4, "beside the open one", LetterStatus::Open),
        (5, "beside the closed one", LetterStatus::Discarded),
    ] {
        let new = db.inbox.letter(&id_at(&db, offset)).await;
        let new = new.expect("read").expect("a letter of its own");
        assert_eq!(new.letter, stored(offset, id));
        assert_eq!(new.status, LetterStatus::Open);
        let index = usize::try_from(offset - 4).expect("an index");
        let old = db.inbox.letter(&old[index]).await;
        let old = old.expect("read").expect("the old letter stays");
        assert_eq!((old.letter.record.offset, old.status), (offset, status));
        assert_ne!(old.letter.event_id.as_deref(), Some(id));
    }
    let letters = "SELECT count(*) FROM tidegate.dead_letters";
    assert_eq!(db.number(letters).await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_relay_sees_its_own_partitions_letters_in_order() {
    let db = db(Wall::Grammar).await;
    reject(&db, 0, "b", 9).await;
    reject(&db, 1, "a", 4).await;
    let queue = async |owners: &[Uuid], tenant: &str| {
        let waiting = Waiting {
            consumer: "c",
            owners,
            tenants: &[tenant.to_owned()],
            most: 10,
            bytes: 1 << 20,
        };
        let letters = db.inbox.unpublished(waiting).await.expect("read");
        letters.into_iter().map(|l| l.id).collect::<Vec<_>>()
    };
    assert!(queue(&[Uuid::new_v4()], "acme").await.is_empty());
    let ids = queue(&[Uuid::new_v4(), db.owner], "acme").await;
    assert_eq!(ids, [id_at(&db, 4), id_at(&db, 9)]);
    assert!(queue(&[db.owner], "").await.is_empty());
    assert_eq!(db.inbox.mark_published(&ids).await.expect("marked"), 2);
    assert_eq!(db.inbox.mark_published(&ids).await.expect("marked"), 0);
    assert!(queue(&[db.owner], "acme").await.is_empty());
}

/// However many letters wait for one topic, another's are found at once: by index, whoever is before them.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_with_many_letters_hides_nobody_elses() {
    let db = db(Wall::Grammar).await;
    db.run(
        "INSERT INTO tidegate.dead_letters (id, consumer_name, cluster_id, topic, partition, \"offset\", scope, header_names,
             header_values, timestamp_type, code, message, attempts, tenant)
         SELECT 'id' || n, 'c', 'k', 't', 0, n, '', '{}', '{}', 'none', 'x', '', 0,
                CASE WHEN n <= 20000 THEN 'evil' WHEN n = 20001 THEN NULL ELSE 'tenant' || n END
           FROM generate_series(1, 20300) n; ANALYZE tidegate.dead_letters",
    )
    .await;
    let mut tenants = Vec::new();
    let mut from = String::new();
    loop {
        let page = db
            .inbox
            .tenants_with_letters("c", &from, 200)
            .await
            .expect("read");
        let last = page.last().filter(|_| page.len() == 200).cloned();
        tenants.extend(page);
        match last {
            Some(last) => from = last,
            None => break,
        }
    }
    tenants.dedup();
    assert_eq!(tenants.len(), 301);
    assert_eq!((tenants[0].as_str(), tenants[1].as_str()), ("", "evil"));
    let of = async |tenants: &[String]| {
        let waiting = Waiting {
            consumer: "c",
            owners: &[db.owner],
            tenants,
            most: 3,
            bytes: 1 << 20,
        };
        let letters = db.inbox.unpublished(waiting).await.expect("read");
        letters.into_iter().map(|l| l.id).collect::<Vec<_>>()
    };
    assert_eq!(of(&["evil".into()]).await, ["id1", "id2", "id3"]);
    assert_eq!(
        of(&["tenant20300".into(), String::new()]).await,
        ["id20001", "id20300"]
    );
    assert_eq!(of(&tenants).await, ["id1", "id2", "id3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pruning_leaves_grace_open_letters_and_locked_rows() {
    let db = db(Wall::Grammar).await;
    reject(&db, 0, "rejected", 0).await;
    db.handle(
        1,
        vec![
            claim("old", 1, Duration::ZERO),
            hour("live", 2),
            claim("held", 3, Duration::ZERO),
        ],
    )
    .await;
    let rule = |grace| PruneRule {
        grace: vec![("c".into(), grace)],
        others: Duration::ZERO,
    };
    assert_eq!(
        db.inbox
            .prune_once(&rule(Duration::MAX), 100)
            .await
            .expect("pruned"),
        0
    );
    let (transaction, _) = db.open(2, vec![hour("held", 7)]).await;
    assert_eq!(
        db.inbox
            .prune_once(&rule(Duration::ZERO), 100)
            .await
            .expect("pruned"),
        1
    );
    transaction.rollback().await;
    assert_eq!(
        db.inbox
            .prune_once(&rule(Duration::ZERO), 100)
            .await
            .expect("pruned"),
        1
    );
    let found = db.inbox.find("rejected").await.expect("found");
    assert!(found[0].expired && found[0].outcome == "rejected");
    db.run("UPDATE tidegate.dead_letters SET status = 'discarded', closed_at = now()")
        .await;
    assert_eq!(
        db.inbox
            .prune_once(&rule(Duration::ZERO), 100)
            .await
            .expect("pruned"),
        1
    );
    assert_eq!(db.inbox.find("live").await.expect("found").len(), 1);
}
