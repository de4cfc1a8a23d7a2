//! Claims: new, duplicate, taken over, superseding; who wins a race.

use std::sync::Arc;
use std::time::Duration;

use tidegate::inbox::Wall;
use tidegate_core::claim::{Claimed, DuplicateKind};
use tidegate_core::outcome::Outcome;
use uuid::Uuid;

use super::inbox_support::{claim, db, finish, hour, key, take};

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_new_once_and_then_a_duplicate_of_either_kind() {
    let db = db(Wall::Grammar).await;
    assert_eq!(
        db.handle(0, vec![hour("b", 0), hour("a", 1)]).await,
        [Claimed::New, Claimed::New]
    );
    let (same, fresh, other) = (hour("a", 1), hour("c", 5), hour("b", 9));
    let (mut transaction, claimed) = db.open(1, vec![same.clone(), fresh, other.clone()]).await;
    assert_eq!(
        claimed,
        [Claimed::Duplicate, Claimed::New, Claimed::Duplicate]
    );
    let kinds = transaction.standing(&[&same, &other]).await.expect("kinds");
    let kinds: Vec<_> = kinds.iter().map(|claim| claim.kind).collect();
    assert_eq!(kinds, [DuplicateKind::Redelivery, DuplicateKind::Republish]);
    transaction.rollback().await;
    assert_eq!(db.handle(1, vec![hour("c", 5)]).await, [Claimed::New]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_claim_is_taken_over_and_an_absurd_ttl_harms_nobody() {
    let db = db(Wall::Grammar).await;
    let for_ever = claim("b", 1, Duration::MAX);
    assert_eq!(
        db.handle(0, vec![claim("a", 0, Duration::ZERO), for_ever])
            .await,
        [Claimed::New; 2]
    );
    let again = vec![hour("a", 5), hour("b", 6)];
    assert_eq!(
        db.handle(1, again).await,
        [Claimed::TakenOver, Claimed::Duplicate]
    );
    assert_eq!(
        db.number("SELECT count(*) FROM tidegate.processed_events WHERE replaced = 'done'")
            .await,
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_claim_yields_to_another_record_only() {
    let db = db(Wall::Grammar).await;
    let first = claim("a", 0, Duration::ZERO);
    let (transaction, _) = db.open(0, vec![first.clone()]).await;
    let mut end = finish(1);
    end.outcomes = vec![(Arc::default(), first.event_id.clone(), Outcome::Rejected)];
    transaction.commit(end).await.expect("committed");
    assert_eq!(
        db.handle(1, vec![first]).await,
        [Claimed::Duplicate],
        "its own record, though expired"
    );
    assert_eq!(
        db.handle(2, vec![hour("a", 7)]).await,
        [Claimed::Supersedes]
    );
    assert_eq!(db.handle(3, vec![hour("a", 8)]).await, [Claimed::Duplicate]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_race_for_an_expired_claim_one_wins() {
    let db = db(Wall::Grammar).await;
    db.inbox
        .register(("c", "t"), "g", "k", &[(1, 0, None)])
        .await
        .expect("registered");
    let mut second = key();
    second.source.partition = 1;
    let owner = Uuid::new_v4();
    take(&db.inbox, &second, owner, 1).await.expect("a token");
    db.handle(0, vec![claim("a", 0, Duration::ZERO)]).await;
    let (winner, claimed) = db.open(1, vec![hour("a", 1)]).await;
    assert_eq!(claimed, [Claimed::TakenOver]);
    let mut head = db.head(0, vec![hour("a", 0)]);
    (head.key, head.owner) = (second, owner);
    let (inbox, racer) = (db.inbox.clone(), head);
    let racer = tokio::spawn(async move { inbox.begin(&racer, false).await });
    db.wait_blocked().await;
    winner.commit(finish(2)).await.expect("committed");
    match racer.await.expect("joined").expect("begun") {
        tidegate::inbox::Begun::Open(transaction, claimed) => {
            assert_eq!(claimed, [Claimed::Duplicate]);
            transaction.rollback().await;
        }
        other => panic!("not open: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_adoption_no_record_is_the_same_as_one_of_the_old_log() {
    let mut db = db(Wall::Grammar).await;
    let (rejected, done) = (hour("a", 5), hour("b", 6));
    let (transaction, _) = db.open(0, vec![rejected.clone(), done.clone()]).await;
    let mut end = finish(7);
    end.outcomes = vec![(Arc::default(), rejected.event_id.clone(), Outcome::Rejected)];
    transaction.commit(end).await.expect("committed");
    db.adopt().await;

    // The corrected event stands where the old log had the rejected one.
    let (mut transaction, claimed) = db.open(0, vec![rejected.clone(), done.clone()]).await;
    assert_eq!(claimed, [Claimed::Supersedes, Claimed::Duplicate]);
    let standing = transaction.standing(&[&done]).await.expect("kinds");
    assert_eq!(standing[0].kind, DuplicateKind::Republish);
    transaction.commit(finish(7)).await.expect("committed");
    let epoch = "SELECT log_epoch::bigint FROM tidegate.processed_events WHERE event_id = 'a'";
    assert_eq!(db.number(epoch).await, 1);

    let (mut transaction, claimed) = db.open(7, vec![rejected.clone()]).await;
    assert_eq!(claimed, [Claimed::Duplicate]);
    let standing = transaction.standing(&[&rejected]).await.expect("kinds");
    assert_eq!(standing[0].kind, DuplicateKind::Redelivery);
    transaction.rollback().await;
}
