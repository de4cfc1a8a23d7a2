//! What a replay does to letters and claims, without a host.

use std::sync::Arc;
use std::time::Duration;

use tidegate::inbox::{
    KeepRule, LetterFilter, LetterStatus, ReplayBegun, ReplayEnd, ReplayHead, ReplayRequest,
    ReplayResult, StoredLetter, Taken, Transaction, Turn, Waiting, Wall,
};
use tidegate_core::claim::{ClaimRequest, Claimed};
use tidegate_core::letter::{Cause, CauseKind, Letter, letter_id};
use tidegate_core::outcome::Outcome;
use tidegate_core::record::{Record, Timestamp};
use uuid::Uuid;

use crate::inbox_support::{Db, claim, db, finish, hour, key};

/// The process that replays.
pub(super) const HOST: Uuid = Uuid::from_u128(7);

fn letter(offset: i64, event: &str) -> Letter {
    Letter {
        record: Record {
            source: key().source,
            offset,
            timestamp: Timestamp::Unknown,
            key: None,
            value: None,
            headers: Vec::new(),
            unreadable_headers: 0,
        },
        scope: String::new(),
        event_id: Some(event.to_owned()),
        tenant: None,
        module_digest: None,
        cause: cause("first"),
    }
}

fn cause(code: &str) -> Cause {
    Cause {
        kind: CauseKind::Handler,
        code: code.into(),
        message: "m".into(),
        server: None,
        sqlstate: None,
        attempts: 1,
    }
}

pub(super) fn id(offset: i64, round: u32) -> String {
    letter_id("c", ("k", 0), &key().source, offset, round)
}

/// Rejects a record in a batch of its own.
async fn reject(db: &Db, expected: i64, event: &str) {
    let asked = claim(event, expected, Duration::ZERO);
    let (transaction, _) = db.open(expected, vec![asked.clone()]).await;
    let mut end = finish(expected + 1);
    end.outcomes = vec![(Arc::default(), asked.event_id, Outcome::Rejected)];
    end.letters = vec![(id(expected, 0), letter(expected, event))];
    transaction.commit(end).await.expect("committed");
}

pub(super) fn head(turn: &Turn, claim: Option<ClaimRequest>) -> ReplayHead {
    ReplayHead {
        key: key(),
        log_epoch: 0,
        turn: (turn.replay, turn.position),
        owner: HOST,
        letter: turn.letter.clone(),
        claim,
        module_digest: Some([5; 32]),
        tenants_revision: None,
        module: [5; 32],
    }
}

/// A database with one letter at offset 0 and its turn taken.
pub(super) async fn turn(wall: Wall) -> (Db, Turn) {
    let db = db(wall).await;
    reject(&db, 0, "e").await;
    ask(&db).await.expect("a request");
    let turn = take(&db).await;
    (db, turn)
}

async fn ask(db: &Db) -> Option<i64> {
    let filter = LetterFilter {
        consumers: vec!["c".into()],
        ..LetterFilter::default()
    };
    let request = ReplayRequest {
        filter,
        consumer: "c".into(),
        by: "me".into(),
        words: String::new(),
        rounds: (5, false),
    };
    db.inbox.request_replay(&request).await.expect("asked")
}

async fn take(db: &Db) -> Turn {
    match db.inbox.take_turn("c", HOST).await.expect("taken") {
        Some(Taken::Turn(turn)) => turn,
        other => panic!("no turn: {other:?}"),
    }
}

pub(super) async fn open(db: &Db, turn: &Turn) -> (Box<Transaction>, Option<Claimed>) {
    let head = head(turn, Some(hour("e", 0)));
    match db.inbox.begin_replay(&head, false).await.expect("begun") {
        ReplayBegun::Open(transaction, claimed) => (transaction, claimed),
        other => panic!("not open: {other:?}"),
    }
}

pub(super) fn resolved() -> ReplayEnd {
    ReplayEnd {
        outcomes: Vec::new(),
        superseded: vec![(Arc::default(), hour("e", 0).event_id)],
        result: ReplayResult::Resolved,
        publishes: true,
        module_digest: Some([5; 32]),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_takes_its_own_rejected_claim_and_closes_all_letters_of_the_event() {
    let (db, turn) = turn(Wall::Grammar).await;
    reject(&db, 1, "e").await;
    let (transaction, claimed) = open(&db, &turn).await;
    assert_eq!(claimed, Some(Claimed::Supersedes));
    transaction
        .commit_replay(resolved())
        .await
        .expect("committed");
    let status = async |offset| {
        db.inbox
            .letter(&id(offset, 0))
            .await
            .unwrap()
            .unwrap()
            .status
    };
    assert_eq!(
        (status(0).await, status(1).await),
        (LetterStatus::Resolved, LetterStatus::Superseded)
    );
    let again = db.inbox.begin_replay(&head(&turn, None), false).await;
    assert!(matches!(again, Ok(ReplayBegun::Landed)), "{again:?}");
    let taken = db.inbox.take_turn("c", HOST).await.expect("taken");
    assert_eq!(taken, Some(Taken::Empty(turn.replay)));
    assert!(
        db.inbox
            .finish_replay(turn.replay, HOST)
            .await
            .expect("finished")
    );
    assert!(!db.inbox.has_replay("c").await.expect("asked"));
    assert_eq!(ask(&db).await, None, "nothing is left to replay");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_that_is_rejected_again_makes_room_for_itself_and_keeps_its_claim() {
    let (db, turn) = turn(Wall::Grammar).await;
    // A closed letter of the same record and round is there from an earlier life.
    db.run(&format!(
        "INSERT INTO tidegate.dead_letters (id, consumer_name, cluster_id, topic, partition, \"offset\", scope, header_names,
             header_values, timestamp_type, code, message, attempts, status, closed_at)
         VALUES ('{}', 'c', 'k', 't', 0, 0, '', '{{}}', '{{}}', 'none', 'old', '', 0, 'resolved', now())",
        id(0, 1)
    ))
    .await;
    let (transaction, _) = open(&db, &turn).await;
    let end = ReplayEnd {
        outcomes: vec![(Arc::default(), hour("e", 0).event_id, Outcome::Rejected)],
        superseded: Vec::new(),
        result: ReplayResult::Rejected {
            id: id(0, 1),
            event: (String::new(), Some("e".into())),
            tenant: None,
            cause: cause("again"),
        },
        publishes: true,
        module_digest: Some([5; 32]),
    };
    transaction.commit_replay(end).await.expect("committed");
    let letter = db
        .inbox
        .letter(&id(0, 0))
        .await
        .unwrap()
        .expect("known by its first id");
    assert_eq!((letter.id, letter.replay_round), (id(0, 1), 1));
    assert_eq!(
        (letter.letter.cause.code.as_str(), letter.status),
        ("again", LetterStatus::Open)
    );
    assert_eq!(letter.former_ids, [id(0, 0)]);
    assert_eq!(
        letter.unpublished_rounds,
        [id(0, 0)],
        "it was not published yet"
    );
    let claim = "SELECT count(*) FROM tidegate.processed_events WHERE event_id = 'e' AND outcome = 'rejected'";
    assert_eq!(db.number(claim).await, 1);
    assert_eq!(
        db.number("SELECT count(*) FROM tidegate.dead_letters")
            .await,
        1
    );
}

/// A letter whose replay rejected it before it was published.
async fn rejected_again() -> Db {
    let (db, turn) = turn(Wall::Grammar).await;
    let (transaction, _) = open(&db, &turn).await;
    let end = ReplayEnd {
        outcomes: Vec::new(),
        superseded: Vec::new(),
        result: ReplayResult::Rejected {
            id: id(0, 1),
            event: (String::new(), Some("f".into())),
            tenant: None,
            cause: cause("again"),
        },
        publishes: true,
        module_digest: None,
    };
    transaction.commit_replay(end).await.expect("committed");
    db
}

/// What is to be published next. Bytes bound it, but for the first letter.
async fn queue(db: &Db) -> Vec<StoredLetter> {
    let waiting = Waiting {
        consumer: "c",
        owners: &[db.owner],
        tenants: &[String::new()],
        most: 10,
        bytes: 1,
    };
    db.inbox.unpublished(waiting).await.expect("read")
}

/// A round that its letter has left behind is published, released and kept as the letter is.
#[tokio::test(flavor = "multi_thread")]
async fn rounds_are_published_in_order_and_go_with_their_letter() {
    let db = rejected_again().await;
    let queue = async || queue(&db).await;
    let first = queue().await;
    let seen: Vec<_> = first
        .iter()
        .map(|l| (l.id.clone(), l.replay_round, l.letter.cause.code.clone()))
        .collect();
    assert_eq!(seen, [(id(0, 0), 0, "first".to_owned())]);
    assert_eq!(first[0].letter.event_id.as_deref(), Some("e"));
    let too_large = [(id(0, 0), "too large".to_owned())];
    let marked = db.inbox.mark_unpublishable(&too_large).await;
    assert_eq!(marked.expect("marked"), 1);
    assert_eq!(queue().await[0].id, id(0, 1));
    assert_eq!(
        db.inbox.mark_published(&[id(0, 1)]).await.expect("marked"),
        1
    );
    assert!(queue().await.is_empty());

    // `dlt publish` finds a round by its letter.
    let filter = LetterFilter {
        unpublishable: true,
        ..LetterFilter::default()
    };
    assert_eq!(db.inbox.count_letters(&filter).await.expect("counted"), 1);
    assert_eq!(
        db.inbox
            .release_unpublishable(&filter)
            .await
            .expect("released"),
        1
    );
    assert_eq!(queue().await[0].id, id(0, 0));

    db.run("UPDATE tidegate.dead_letters SET status = 'discarded', closed_at = now() - interval '1 day'").await;
    let rule = KeepRule {
        keep: vec![("c".into(), Duration::ZERO, true)],
        others: Duration::ZERO,
    };
    assert_eq!(
        db.inbox
            .drop_closed_letters(&rule, 10)
            .await
            .expect("asked"),
        0,
        "a round is still to be published"
    );
    db.inbox
        .mark_unpublishable(&[(id(0, 0), "too large".into())])
        .await
        .expect("marked");
    assert_eq!(
        db.inbox
            .drop_closed_letters(&rule, 10)
            .await
            .expect("dropped"),
        1
    );
    let rounds = "SELECT count(*) FROM tidegate.dead_letter_rounds";
    assert_eq!(db.number(rounds).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_host_that_holds_the_request_replays_and_only_while_the_consumer_runs() {
    let (db, turn) = turn(Wall::Grammar).await;
    let other = ReplayHead {
        owner: Uuid::from_u128(8),
        ..head(&turn, None)
    };
    let fenced = db.inbox.begin_replay(&other, false).await;
    assert!(matches!(fenced, Ok(ReplayBegun::Fenced)), "{fenced:?}");
    assert!(db.inbox.pause("c", "why not").await.expect("paused"));
    let held = db.inbox.begin_replay(&head(&turn, None), false).await;
    assert!(matches!(held, Ok(ReplayBegun::Held)), "{held:?}");
    assert!(db.inbox.resume("c").await.expect("resumed"));
    db.run("UPDATE tidegate.dead_letters SET status = 'discarded', closed_at = now()")
        .await;
    let closed = db.inbox.begin_replay(&head(&turn, None), false).await;
    assert!(matches!(closed, Ok(ReplayBegun::Closed)), "{closed:?}");
    // A host that is seen keeps its request; one that is not loses it, and its mark stands.
    db.inbox
        .beat("c", (HOST, "h"), &[5; 32])
        .await
        .expect("seen");
    let thief = Uuid::from_u128(9);
    assert_eq!(db.inbox.take_turn("c", thief).await.expect("asked"), None);
    db.run("DELETE FROM tidegate.hosts").await;
    match db.inbox.take_turn("c", thief).await.expect("taken") {
        Some(Taken::Turn(turn)) => assert_eq!(turn.marks, 2),
        other => panic!("not taken: {other:?}"),
    }
    let late = db.inbox.begin_replay(&head(&turn, None), false).await;
    assert!(matches!(late, Ok(ReplayBegun::Fenced)), "{late:?}");
}
