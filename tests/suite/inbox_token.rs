//! The token: taken only where the row still says what was seen, and handed back as if it had never been taken.

use tidegate::inbox::{Standing, Wall};
use tidegate_core::resume::Whose;
use uuid::Uuid;

use super::inbox_support::{Db, db, key, seen, take};

/// All of the row, as text.
async fn row(db: &Db) -> String {
    let text = "SELECT p::text FROM tidegate.progress p WHERE partition = 0";
    db.client.query_one(text, &[]).await.expect("a row").get(0)
}

/// An owner that died twice at the same place, and a record's mark that stands.
const TROUBLED: &str = "UPDATE tidegate.progress
   SET owner_host = gen_random_uuid(), unclean_at = 0, unclean_ends = 2, marked_offset = 3, marked_by = gen_random_uuid(),
       marked_deaths = ARRAY[gen_random_uuid(), gen_random_uuid()], updated_at = now() - interval '1 hour'";

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_handed_back_leaves_the_row_as_it_was() {
    let db = db(Wall::Grammar).await;
    for before in [
        TROUBLED,
        "UPDATE tidegate.progress SET owner = NULL, owner_host = NULL",
    ] {
        db.run(before).await;
        let was = row(&db).await;
        let (seen, token) = (seen(&db.inbox, &key()).await, Uuid::new_v4());
        let taken = db
            .inbox
            .take_token(&key(), (token, Uuid::from_u128(9)), &seen, "key")
            .await
            .expect("answered")
            .expect("taken");
        assert_ne!(row(&db).await, was);
        let other = db.inbox.hand_back(&key(), Uuid::new_v4(), &taken).await;
        assert!(!other.expect("answered"), "not its token");
        let back = db.inbox.hand_back(&key(), token, &taken).await;
        assert!(back.expect("answered"));
        assert_eq!(row(&db).await, was);
    }
    // The deaths are counted once, by who takes it for good.
    db.run(TROUBLED).await;
    db.run("UPDATE tidegate.progress SET owner = gen_random_uuid()")
        .await;
    let progress = take(&db.inbox, &key(), Uuid::new_v4(), 2).await;
    let progress = progress.expect("answered").expect("taken");
    assert_eq!(progress.ends.unclean, 3);
    assert_eq!(progress.ends.marked.map(|marked| marked.deaths), Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_has_changed_hands_since_it_was_looked_at_is_not_taken() {
    let db = db(Wall::Grammar).await;
    let changes = [
        "UPDATE tidegate.progress SET \"group\" = 'another'",
        "UPDATE tidegate.progress SET cluster_id = 'another'",
        "UPDATE tidegate.progress SET log_epoch = log_epoch + 1",
    ];
    for change in changes {
        let seen = seen(&db.inbox, &key()).await;
        db.run(change).await;
        let was = row(&db).await;
        let owner = (Uuid::new_v4(), Uuid::from_u128(2));
        let taken = db.inbox.take_token(&key(), owner, &seen, "key").await;
        assert!(taken.expect("answered").is_none(), "{change}");
        assert_eq!(row(&db).await, was, "{change}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_without_a_row_is_registered_beside_its_own_groups_alone() {
    let db = db(Wall::Grammar).await;
    let mut second = key();
    second.source.partition = 1;
    let whose = |group: &str, cluster: &str| Whose {
        group: group.to_owned(),
        cluster_id: cluster.to_owned(),
    };
    let standing = db.inbox.look(&second).await.expect("a look");
    assert_eq!(standing, Standing::Sibling(whose("g", "k")));
    for (group, cluster) in [("another", "k"), ("g", "another")] {
        let rows = [(1, 0, None)];
        let registered = db.inbox.register(("c", "t"), group, cluster, &rows).await;
        registered.expect("answered");
        assert_eq!(db.inbox.registered("c", "t").await, Ok(vec![0]));
        let topics = ["t".to_owned()];
        let other = whose(group, cluster);
        let theirs = db.inbox.is_theirs("c", &topics, &other).await;
        assert_eq!(theirs, Ok(false));
    }
    let rows = [(1, 0, None)];
    let registered = db.inbox.register(("c", "t"), "g", "k", &rows).await;
    registered.expect("answered");
    assert_eq!(db.inbox.registered("c", "t").await, Ok(vec![0, 1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_that_a_host_without_digests_left_behind_says_nothing() {
    let db = db(Wall::Grammar).await;
    let last = async || match db.inbox.look(&key()).await.expect("a look") {
        Standing::Row(row) => row.last.expect("a last record"),
        other => panic!("{other:?}"),
    };
    db.run("UPDATE tidegate.progress SET last_offset = 4, digest_offset = 4, last_digest = decode(repeat('07', 16), 'hex')")
        .await;
    assert_eq!(last().await.digest, Some([7; 16]));
    db.run("UPDATE tidegate.progress SET last_offset = 5").await;
    assert_eq!(last().await.digest, None);
}
