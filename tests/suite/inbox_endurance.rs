//! The progress row's memory of failures, of marks and of how owners ended; and the consumer's state at the fence.

use std::time::Duration;

use tidegate::inbox::{BatchHead, Begun, Inbox, Wall};
use tidegate_core::control::State;
use tidegate_core::crash::{Ends, Marked};
use tidegate_core::progress::{Failing, Progress};
use uuid::Uuid;

use super::inbox_support::{db, finish, key, take};

const FIRST: u128 = 1;
const SECOND: u128 = 2;

async fn taken(inbox: &Inbox, token: Uuid, host: u128) -> Progress {
    let progress = take(inbox, &key(), token, host).await;
    progress.expect("a token").expect("a row")
}

fn ends(unclean: u32, marked: Option<(i64, u32)>) -> Ends {
    Ends {
        unclean,
        marked: marked.map(|(offset, deaths)| Marked { offset, deaths }),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fence_holds_a_paused_or_braked_consumer_back() {
    let db = db(Wall::Grammar).await;
    let begin = async || {
        let head = BatchHead {
            module: [1; 32],
            ..db.head(0, vec![])
        };
        db.inbox.begin(&head, false).await.expect("answered")
    };
    assert!(db.inbox.pause("c", "why").await.expect("paused"));
    assert!(!db.inbox.pause("c", "again").await.expect("answered"));
    assert!(matches!(begin().await, Begun::Held));
    assert!(db.inbox.resume("c").await.expect("resumed"));
    let (transaction, _) = db.open(0, vec![]).await;
    transaction.rollback().await;

    let bad = [1; 32];
    let hour = Duration::from_secs(3600);
    let brake = async || {
        db.inbox
            .brake("c", "bad", &bad, hour)
            .await
            .expect("braked")
    };
    assert_eq!(brake().await, Some(1));
    assert_eq!(brake().await, None, "it is on already");
    assert!(matches!(begin().await, Begun::Held));
    assert!(db.inbox.resume("c").await.expect("resumed"));
    assert_eq!(brake().await, Some(2));
    // Another consumer is not touched.
    assert_eq!(
        db.inbox.control("d").await.expect("read").state,
        State::Running
    );
}

/// A host that runs another module goes on, until that one trips it too.
#[tokio::test(flavor = "multi_thread")]
async fn a_brake_holds_back_the_modules_that_tripped_it() {
    let db = db(Wall::Grammar).await;
    let (bad, good, hour) = ([1; 32], [2; 32], Duration::from_secs(3600));
    let first = db.inbox.brake("c", "bad", &bad, hour).await;
    assert_eq!(first.expect("braked"), Some(1));
    let with = async |module: [u8; 32]| {
        let head = BatchHead {
            module,
            ..db.head(0, vec![])
        };
        let begun = db.inbox.begin(&head, false).await.expect("answered");
        match begun {
            Begun::Open(transaction, _) => {
                transaction.rollback().await;
                true
            }
            Begun::Held => false,
            Begun::Landed(_) | Begun::Fenced => panic!("neither open nor held"),
        }
    };
    assert!(!with(bad).await);
    assert!(with(good).await);
    let second = [3; 32];
    let joined = db.inbox.brake("c", "bad too", &second, hour).await;
    assert_eq!(joined.expect("braked"), Some(2));
    assert_eq!(
        (with(bad).await, with(second).await, with(good).await),
        (false, false, true)
    );

    // Not lifted by what tripped it, nor while another host runs that.
    let (one, two) = (Uuid::new_v4(), Uuid::new_v4());
    let lift = async |module: &[u8; 32]| db.inbox.lift("c", one, module).await.expect("answered");
    db.inbox
        .beat("c", (two, "two"), &bad)
        .await
        .expect("beaten");
    assert_eq!(
        (lift(&bad).await, lift(&second).await, lift(&good).await),
        (false, false, false)
    );
    db.inbox
        .beat("c", (two, "two"), &good)
        .await
        .expect("beaten");
    assert!(lift(&good).await);
    assert!(with(bad).await);
    let control = db.inbox.control("c").await.expect("read");
    assert_eq!(control.state, State::Running);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_owners_that_died_at_the_same_place_are_counted() {
    let db = db(Wall::Grammar).await;
    let inbox = &db.inbox;
    // The first host took it; the same one again is no death, another one is.
    assert_eq!(
        taken(inbox, Uuid::new_v4(), FIRST).await.ends,
        ends(0, None)
    );
    let token = Uuid::new_v4();
    assert_eq!(taken(inbox, token, SECOND).await.ends, ends(1, None));
    // Given back in good order: none.
    inbox
        .release(&key(), token, Some(0))
        .await
        .expect("released");
    assert_eq!(taken(inbox, db.owner, FIRST).await.ends, ends(1, None));
    assert_eq!(taken(inbox, db.owner, SECOND).await.ends, ends(2, None));
    // The next place begins anew.
    let (transaction, _) = db.open(0, vec![]).await;
    transaction.commit(finish(5)).await.expect("committed");
    assert_eq!(taken(inbox, db.owner, FIRST).await.ends, ends(1, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_stands_at_a_death_is_remembered_until_its_host_says_that_it_lives() {
    let db = db(Wall::Grammar).await;
    let inbox = &db.inbox;
    taken(inbox, db.owner, FIRST).await;
    assert!(inbox.mark(&key(), db.owner, 3).await.expect("marked"));
    assert!(
        !inbox
            .mark(&key(), Uuid::new_v4(), 3)
            .await
            .expect("answered")
    );
    // The same process takes it anew: nobody died. Another one: the first is taken for dead.
    assert_eq!(
        taken(inbox, db.owner, FIRST).await.ends,
        ends(0, Some((3, 0)))
    );
    assert!(inbox.mark(&key(), db.owner, 3).await.expect("marked"));
    assert_eq!(
        taken(inbox, db.owner, SECOND).await.ends,
        ends(1, Some((3, 1)))
    );
    inbox
        .acquit(&key(), Uuid::from_u128(FIRST))
        .await
        .expect("acquitted");
    assert_eq!(
        taken(inbox, db.owner, SECOND).await.ends,
        ends(1, Some((3, 0)))
    );
    // A mark taken back is no death either; one for another record forgets the first's.
    assert!(inbox.mark(&key(), db.owner, 3).await.expect("marked"));
    inbox.unmark(&key(), db.owner).await.expect("taken back");
    assert_eq!(
        taken(inbox, db.owner, FIRST).await.ends,
        ends(2, Some((3, 0)))
    );
    for deaths in 1..=3 {
        let (this, next) = (u128::from(deaths) + 10, u128::from(deaths) + 11);
        taken(inbox, db.owner, this).await;
        assert!(inbox.mark(&key(), db.owner, 4).await.expect("marked"));
        let progress = taken(inbox, db.owner, next).await;
        assert_eq!(progress.ends.marked, Some(Marked { offset: 4, deaths }));
    }
    // N beyond it: it means nothing any more.
    let (transaction, _) = db.open(0, vec![]).await;
    transaction.commit(finish(5)).await.expect("committed");
    assert_eq!(taken(inbox, db.owner, FIRST).await.ends.marked, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_record_is_known_to_the_next_owner_until_n_is_beyond_it() {
    let db = db(Wall::Grammar).await;
    let inbox = &db.inbox;
    let failing = Failing {
        offset: 2,
        attempts: 4,
        elapsed: Duration::from_millis(1500),
    };
    inbox
        .failed(&key(), db.owner, failing)
        .await
        .expect("written");
    // Not by somebody who does not own it.
    let other = Failing {
        attempts: 9,
        ..failing
    };
    inbox
        .failed(&key(), Uuid::new_v4(), other)
        .await
        .expect("answered");
    assert_eq!(taken(inbox, db.owner, SECOND).await.failing, Some(failing));
    let (transaction, _) = db.open(0, vec![]).await;
    transaction.commit(finish(2)).await.expect("committed");
    assert_eq!(taken(inbox, db.owner, SECOND).await.failing, Some(failing));
    let (transaction, _) = db.open(2, vec![]).await;
    transaction.commit(finish(3)).await.expect("committed");
    assert_eq!(taken(inbox, db.owner, SECOND).await.failing, None);
}
