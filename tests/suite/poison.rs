//! Poison records: whatever breaks a record, its neighbours commit exactly once, in order, and nothing of it is left.

mod copies;
mod retries;
mod swallows;

use tidegate_tests::Rec;

use crate::scene::{Scene, done_and_rejected, pay};

/// Records of a partition: one whole batch.
const BATCH: i64 = 500;

/// Where the poison sits, a partition each: first, in the middle, last, and in seven places.
const PLACES: [&[i64]; 4] = [
    &[0],
    &[250],
    &[BATCH - 1],
    &[0, 1, 77, 250, 251, 400, BATCH - 1],
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trap_spares_the_other_records_of_its_batch() {
    spares_the_others("poison-trap", "trap", "trap", |account| {
        pay(account, &format!("e{account}"), "trap")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_staged_write_before_a_rejection_is_undone_alone() {
    spares_the_others("poison-staged", "rejects", "rejected", |account| {
        pay(account, &format!("e{account}"), "write-then-reject")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_awaited_write_before_a_rejection_is_undone_alone() {
    spares_the_others("poison-awaited", "rejects", "rejected", |account| {
        pay(account, &format!("e{account}"), "execute-then-reject")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejection_without_a_write_spares_the_other_records() {
    spares_the_others("poison-bare", "rejects", "rejected", |account| {
        pay(account, &format!("e{account}"), "reject")
    })
    .await;
}

/// The poison credits its own account first, and then one that is not there: half of it must not stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unexpected_row_count_undoes_the_whole_record_alone() {
    let credit = |id: i64| {
        serde_json::json!({
            "sql": "UPDATE accounts SET balance = balance + 1 WHERE id = $1",
            "params": [{ "type": "int64", "value": id }],
            "mode": "stage",
            "expect": { "exactly": 1 },
        })
    };
    let record = move |account: i64, poison: bool| {
        let mut steps = vec![credit(account)];
        steps.extend(poison.then(|| credit(-1)));
        let id = format!("e{account}");
        Rec::new(serde_json::to_vec(&steps).unwrap()).event_id(&id)
    };
    let scene = Scene::new("poison-count", 4, 4 * BATCH).await;
    scene.produce(all(record)).await;
    check(&scene, "all-values", "unexpected-row-count").await;
}

async fn spares_the_others(
    name: &str,
    guest: &str,
    code: &str,
    poison: impl Fn(i64) -> Rec + Copy,
) {
    let scene = Scene::new(name, 4, 4 * BATCH).await;
    let good = |account: i64| pay(account, &format!("e{account}"), "");
    let record = |account, is_poison| match is_poison {
        true => poison(account),
        false => good(account),
    };
    scene.produce(all(record)).await;
    check(&scene, guest, code).await;
}

/// Every partition's records, made of an account of their own each, and of whether they are poison.
fn all(record: impl Fn(i64, bool) -> Rec) -> Vec<Rec> {
    let mut records = Vec::new();
    for (partition, poison) in (0..).zip(PLACES) {
        for offset in 0..BATCH {
            let account = account(partition, offset);
            records.push(record(account, poison.contains(&offset)).to(partition));
        }
    }
    records
}

fn account(partition: i32, offset: i64) -> i64 {
    i64::from(partition) * BATCH + offset + 1
}

async fn check(scene: &Scene, guest: &str, code: &str) {
    let consumer = scene.consumer(guest).await.batch("max_records", BATCH);
    let _host = scene.run(consumer).await;
    let rejected: i64 = PLACES.iter().map(|places| places.len() as i64).sum();
    let expected = done_and_rejected(4 * BATCH - rejected, rejected);
    scene.wait_counts(expected).await;

    let letters = scene.letters().await;
    let places = letters.iter().map(|l| (l.partition, l.offset));
    let expected = (0..)
        .zip(PLACES)
        .flat_map(|(p, places)| places.iter().map(move |offset| (p, *offset)));
    assert_eq!(places.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert!(letters.iter().all(|l| l.code == code), "{letters:?}");

    let journal = scene.journal().await;
    for (partition, poison) in (0..).zip(PLACES) {
        let mine = account(partition, 0)..=account(partition, BATCH - 1);
        let changed: Vec<_> = journal
            .iter()
            .filter(|a| mine.contains(a))
            .copied()
            .collect();
        let good = (0..BATCH).filter(|offset| !poison.contains(offset));
        let expected: Vec<_> = good.map(|offset| account(partition, offset)).collect();
        assert_eq!(
            changed, expected,
            "partition {partition}: once each, in order"
        );
    }
}
