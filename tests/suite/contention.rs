//! Batches of several partitions that touch the same rows in different orders: they deadlock, and yet all goes through.

use tidegate_tests::{
    Host, HostConfig, Ledger, Payment, Rec, TestEnv, payments, test_env, wait_eq, wait_for,
};

use crate::rows::{AccountLock, Counts, PATIENCE, counts, letters, settled, wait_blocked};

const PARTITIONS: i32 = 8;
const RECORDS: usize = 24_000;
/// Enough for hosts that do not take turns to roll back far more often.
const LONG: usize = 80_000;
/// Few enough that any two batches share dozens.
const ACCOUNTS: i64 = 2_000;
/// Transactions rolled back until few enough run at the same time: three of eight partitions on the way down, some
/// that ran beside them, and now and then one that tried whether more lanes do.
const ROLLED_BACK: i64 = 40;

const CLOSED: &str = "fewer run at the same time until that is over";
const OPEN: &str = "all partitions' batches run at the same time again";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_that_touch_the_same_rows_roll_back_a_few_times_and_go_on() {
    let env = test_env("contention").await;
    let (topic, ledger) = scene(&env).await;
    let paid = payments(RECORDS, ACCOUNTS);
    env.kafka.produce(&topic, dealt(&paid)).await;
    let host = env.host(config(&env, &topic).await).start().await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(RECORDS)).await;
    assert_eq!(letters(&env.db).await, 0);
    assert_eq!(host.terminate().await, 0);
    let rolled_back = rolled_back(&env).await;
    eprintln!("{rolled_back} transactions rolled back");
    assert!(
        host.log().contains(CLOSED),
        "they were to be in each other's way"
    );
    assert!(rolled_back <= ROLLED_BACK, "{rolled_back} rolled back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_of_two_hosts_that_touch_the_same_rows_take_turns() {
    let env = test_env("contention-two").await;
    let (topic, ledger) = scene(&env).await;
    let config = config(&env, &topic).await;
    let hosts = [
        env.host(config.clone()).start().await,
        env.host(config).start().await,
    ];
    wait_eq(PATIENCE, "owners", 2, async || owners(&hosts)).await;
    let paid = payments(LONG, ACCOUNTS);
    env.kafka.produce(&topic, dealt(&paid)).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(LONG)).await;
    assert_eq!(letters(&env.db).await, 0);
    for host in &hosts {
        assert_eq!(host.terminate().await, 0);
    }
    let rolled_back = rolled_back(&env).await;
    eprintln!("{rolled_back} transactions rolled back");
    assert!(rolled_back <= ROLLED_BACK, "{rolled_back} rolled back");
}

/// Somebody else's lock holds up the record that meets it, in whatever partition, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_of_somebody_elses_is_waited_for_beside_the_others() {
    let env = test_env("contention-lock").await;
    let (topic, ledger) = scene(&env).await;
    let host = env.host(config(&env, &topic).await).start().await;
    // Every partition has accounts of its own, but for account 1, which the first six meet in the middle of a batch.
    let mut paid = apart(0, 8_000);
    for partition in 0..6 {
        paid[4_000 + partition] = payment(&format!("held-{partition}"), 1);
    }
    let lock = AccountLock::take(&env.db, 1).await;
    env.kafka.produce(&topic, dealt(&paid)).await;
    wait_eq(PATIENCE, "the other partitions", 2 * 1_000, async || {
        done_by(&env, "partition > 5").await
    })
    .await;
    // Up to the record itself, and it alone stands there for longer than any batch would.
    let before = "partition <= 5 AND next_offset = 500";
    wait_eq(PATIENCE, "what is before the record", 6 * 500, async || {
        done_by(&env, before).await
    })
    .await;
    let more = apart(8_000, 8_000);
    env.kafka.produce(&topic, dealt(&more)).await;
    wait_eq(PATIENCE, "further records", 2 * 2_000, async || {
        done_by(&env, "partition > 5").await
    })
    .await;
    wait_blocked(&env.db, 6).await;
    lock.release().await;
    paid.extend(more);
    ledger.wait_exact(&paid, PATIENCE).await;
    open_again(&env, &topic, &host).await;
    assert_eq!(letters(&env.db).await, 0);
    assert_eq!(host.terminate().await, 0);
}

/// Lets records come until all lanes are open.
async fn open_again(env: &TestEnv, topic: &str, host: &Host) {
    let (producer, mut round) = (env.kafka.producer(), 2);
    wait_for(PATIENCE, "all lanes to be open", async || {
        let log = host.log();
        if log.matches(CLOSED).count() == 0 || log.rfind(OPEN) > log.rfind(CLOSED) {
            return Some(());
        }
        round += 1;
        let next = counts(&env.db).await.next + 800;
        producer
            .send(topic, dealt(&apart(round * 8_000, 800)))
            .await;
        wait_eq(PATIENCE, "this round", next, async || {
            counts(&env.db).await.next
        })
        .await;
        None
    })
    .await;
}

async fn scene(env: &TestEnv) -> (String, Ledger<'_>) {
    let topic = env.topic("t", PARTITIONS).await;
    (topic, Ledger::create(&env.db, ACCOUNTS).await)
}

async fn config(env: &TestEnv, topic: &str) -> HostConfig {
    let consumer = env.consumer(topic, "credit-rust").await;
    let consumer = consumer.batch("max_records", 500);
    env.config().consumer(consumer)
}

fn payment(event_id: &str, account_id: i64) -> Payment {
    Payment {
        event_id: event_id.to_owned(),
        account_id,
        amount_minor: 7,
    }
}

/// So many payments, from number `first`, dealt to partitions so that no two partitions share an account. None is to
/// account 1.
fn apart(first: usize, n: usize) -> Vec<Payment> {
    let one = |i: usize| {
        let account = 8 + i64::try_from(i).unwrap() % (ACCOUNTS - 8);
        payment(&format!("apart-{i:06}"), account)
    };
    (first..first + n).map(one).collect()
}

/// The payments dealt out to the partitions in turn, whatever their accounts.
fn dealt(payments: &[Payment]) -> Vec<Rec> {
    let partitions = (0..PARTITIONS).cycle();
    let records = payments.iter().zip(partitions);
    records.map(|(payment, to)| payment.rec().to(to)).collect()
}

/// How many hosts have taken a position.
fn owners(hosts: &[Host]) -> usize {
    let own = |host: &&Host| host.log_count("position taken") > 0;
    hosts.iter().filter(own).count()
}

/// Records behind the positions of some of the partitions.
async fn done_by(env: &TestEnv, which: &str) -> i64 {
    let sql = format!(
        "SELECT coalesce(sum(next_offset), 0)::bigint FROM tidegate.progress WHERE {which}"
    );
    env.db.query_one_i64(&sql).await
}

/// Transactions that the server counted as rolled back, once all sessions but ours have ended and told it.
async fn rolled_back(env: &TestEnv) -> i64 {
    let others = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    wait_eq(PATIENCE, "other sessions", 0, async || {
        env.db.query_one_i64(others).await
    })
    .await;
    let sql = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    env.db.query_one_i64(sql).await
}
