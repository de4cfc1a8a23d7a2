//! An operator puts the group's offset back: the records come again, and the inbox decides which of them are new.

use tidegate_tests::{Host, HostConfig, Ledger, Pattern, Payment, payments, wait_eq};

use crate::reader::{ACCOUNTS, Reader, gone, sum};
use crate::rows::{AccountLock, Counts, PATIENCE, settled, wait_blocked};

/// Ten records handled, the host ended, the group put back to 4.
async fn rewound(reader: &Reader, paid: &[Payment]) -> Host {
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);
    reader.set_group(4).await;
    host
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_ttl_the_rewound_records_run_again() {
    let reader = Reader::forgetful("rerun", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(12, ACCOUNTS));
    let host = rewound(&reader, &paid).await;
    reader.wait_expired(10).await;

    let host = host.restart().await;
    let told = "the group was rewound to 4 (it had acknowledged 10)";
    host.wait_log(told, PATIENCE).await;
    reader.pay(&paid[10..]).await;
    let again = Counts {
        next: 12,
        committed: 12,
        done: 18,
        taken_over: 6,
        ..Counts::default()
    };
    settled(&reader.env.db, again).await;
    assert_eq!(ledger.sum().await, sum(&paid) + sum(&paid[4..10]));
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn within_the_ttl_the_rewound_records_are_counted_as_redelivered() {
    let reader = Reader::new("redelivered", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(12, ACCOUNTS));
    let host = rewound(&reader, &paid).await;

    let host = host.restart().await;
    host.wait_log("the group was rewound to 4", PATIENCE).await;
    reader.pay(&paid[10..]).await;
    let skipped = Counts {
        redelivered: 6,
        ..Counts::done(12)
    };
    settled(&reader.env.db, skipped).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewind_to_the_beginning_and_then_a_smaller_one_are_both_taken() {
    let reader = Reader::new("twice", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    let mut host = rewound(&reader, &paid).await;
    let mut redelivered = 0;
    for to in [0, 9] {
        reader.set_group(to).await;
        redelivered += 10 - to;
        host = host.restart().await;
        let counts = Counts {
            redelivered,
            ..Counts::done(10)
        };
        settled(&reader.env.db, counts).await;
        assert_eq!(host.terminate().await, 0);
        assert_eq!(reader.group_offset().await, Some(10));
    }
    ledger.assert_exact(&paid).await;
}

/// One account a record: a lock on one account stops at one record.
fn one_account_each(n: usize) -> Vec<Payment> {
    let accounts = i64::try_from(n).unwrap();
    let mut paid = payments(n, accounts);
    for (payment, account) in paid.iter_mut().zip(1..) {
        payment.account_id = account;
    }
    paid
}

/// Records one by one, and the group's word through a proxy; a member that is killed comes back at once.
fn one_by_one(reader: &Reader, bootstrap: &str) -> HostConfig {
    let consumer = reader.consumer().batch("max_records", 1);
    let config = reader.env.config().consumer(consumer);
    config
        .bootstrap(bootstrap)
        .librdkafka("group.instance.id", "a")
        // Heartbeats stand behind the commit that is held.
        .librdkafka("session.timeout.ms", "30000")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_first_batch_of_a_rewind_neither_ends_it_nor_begins_it_anew() {
    let reader = Reader::forgetful("crash", 1).await;
    let paid = one_account_each(12);
    let ledger = Ledger::create(&reader.env.db, 12).await;
    drop(rewound(&reader, &paid).await);
    reader.wait_expired(10).await;

    // Not one offset of the rewind is acknowledged: Kafka says 4 until the crash.
    let proxy = reader.env.kafka_proxy().await;
    let hold = proxy.hold_when(Pattern::KafkaApi(8));
    let lock = AccountLock::take(&reader.env.db, 7).await;
    let config = one_by_one(&reader, &proxy.addr());
    let host = reader.env.host(config).start().await;
    wait_eq(PATIENCE, "N after two records", Some(6), async || {
        Some(reader.place(0).await?.next)
    })
    .await;
    wait_blocked(&reader.env.db, 1).await;
    host.kill();
    lock.release().await;
    gone(&proxy).await;
    drop(hold);
    assert_eq!(reader.group_offset().await, Some(4), "K");
    let place = reader.place(0).await.unwrap();
    assert_eq!((place.next, place.committed), (6, Some(4)), "N and C");
    assert_eq!(place.done, 12);
    reader.wait_expired(10).await;

    // The rest runs, the two do not run a third time.
    let host = host.restart().await;
    let counts = |next, done| Counts {
        next,
        committed: next,
        done,
        taken_over: 6,
        ..Counts::default()
    };
    settled(&reader.env.db, counts(10, 16)).await;
    let again = sum(&paid[4..10]);
    assert_eq!(ledger.sum().await, sum(&paid[..10]) + again);
    assert_eq!(host.log_count("rewound"), 0);
    assert_eq!(host.terminate().await, 0);

    let host = host.restart().await;
    reader.pay(&paid[10..]).await;
    settled(&reader.env.db, counts(12, 18)).await;
    assert_eq!(ledger.sum().await, sum(&paid) + again);
    assert_eq!(host.log_count("rewound"), 0);
    assert_eq!(host.terminate().await, 0);
}
