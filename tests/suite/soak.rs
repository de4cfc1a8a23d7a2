//! The soak: long runs under load with faults at random, from a seed that a failed run can be repeated with.
//!
//! In the suite each takes seconds; `TIDEGATE_TEST_SOAK=1`, which `make soak` sets, runs all of it.

mod cuts;
mod hosts;
mod kills;
mod servers;

use std::time::{Duration, Instant};

use tidegate_tests::{Db, Host, Ledger, Payment, Rec, TestEnv, wait_for};

use crate::rows::{Counts, PATIENCE, counts, letters, settled};

/// `full` in a soak, `part` in the suite.
pub(crate) fn size<T>(part: T, full: T) -> T {
    match std::env::var("TIDEGATE_TEST_SOAK") {
        Ok(soak) if soak == "1" => full,
        _ => part,
    }
}

/// Another run every time, or the one of `TIDEGATE_TEST_SEED`.
fn random(what: &str) -> fastrand::Rng {
    let given = std::env::var("TIDEGATE_TEST_SEED").ok();
    let seed = given.map_or_else(|| fastrand::u64(..), |text| text.parse().unwrap());
    eprintln!("{what}: TIDEGATE_TEST_SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

/// One payment in 200 is rejected after it has written, which breaks its batch.
fn is_poison(number: usize) -> bool {
    number % 200 == 100
}

/// Records for the guest `rejects`; `first` is the number of the first payment.
fn poisoned(payments: &[Payment], first: usize) -> Vec<Rec> {
    let record = |(i, payment): (usize, &Payment)| {
        let mut rec = payment.rec();
        if is_poison(first + i) {
            let value = serde_json::json!({
                "amount_minor": payment.amount_minor,
                "account_id": payment.account_id,
                "trick": "write-then-reject",
            });
            rec.value = Some(value.to_string().into_bytes());
        }
        rec
    };
    payments.iter().enumerate().map(record).collect()
}

/// Waits until so many records are behind the positions, while every host lives.
async fn wait_next(db: &Db, records: usize, hosts: &[&Host]) {
    let wanted = i64::try_from(records).unwrap();
    let what = format!("{records} records to be behind the positions");
    wait_for(PATIENCE, &what, async || {
        assert!(
            hosts.iter().all(|host| host.is_running()),
            "a host ended by itself"
        );
        (counts(db).await.next >= wanted).then_some(())
    })
    .await;
}

/// Every payment had its effect once and in its account's order, the poison became letters, and nothing ran again.
async fn exact(env: &TestEnv, ledger: &Ledger<'_>, sent: &[Payment], rejected: usize) {
    let (all, bad) = (sent.len(), i64::try_from(rejected).unwrap());
    let mut wanted = Counts::done(all);
    (wanted.done, wanted.rejected) = (wanted.done - bad, bad);
    settled(&env.db, wanted).await;
    assert_eq!(ledger.check(sent).await, Ok(()));
    assert_eq!(letters(&env.db).await, bad);
}

/// Lets a fault last so long; the hosts have to live through it.
pub(crate) async fn endure(time: Duration, hosts: &[&Host]) {
    let began = Instant::now();
    wait_for(time * 2, "the fault to be over", async || {
        assert!(
            hosts.iter().all(|host| host.is_running()),
            "a host ended by itself"
        );
        (began.elapsed() >= time).then_some(())
    })
    .await;
}
