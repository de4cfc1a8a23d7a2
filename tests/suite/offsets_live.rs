//! `offsets set` and a consumer's hosts: refused while it runs; held back or stopped, row and Kafka's offset agree.

use serde_json::Value;
use tidegate_tests::{Host, Pattern, Payment, payments, wait_eq};

use crate::reader::{ACCOUNTS, Reader, gone, sum};
use crate::rows::{Counts, PATIENCE, settled};

/// Ten records handled; the host runs on.
async fn ten(reader: &Reader, paid: &[Payment]) -> Host {
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    host
}

async fn wait_positions(reader: &Reader, at: i64) {
    let agreed = (at, Some(at), Some(at));
    wait_eq(PATIENCE, "N = C = K", agreed, async || {
        reader.positions().await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_runs_is_refused_by_name_and_nothing_is_changed() {
    let reader = Reader::new("runs", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    let host = ten(&reader, &paid).await;
    let (name, machine) = (reader.name(), format!(":{}", host.pid()));
    let set = reader.set_args("0", &["--earliest"]);
    let adopt = vec!["offsets", "adopt", name];
    for args in [set, adopt] {
        let refused = reader.env.cli(&args, &reader.config()).await;
        assert_eq!(refused.code, 1, "{}{}", refused.stdout, refused.stderr);
        let text = refused.stderr;
        for word in [
            "nothing was changed",
            &format!("tidegate consumer pause {name}"),
            &format!("members of group \"{name}\": tidegate"),
            &machine,
        ] {
            assert!(text.contains(word), "{word} is not in {text}");
        }
    }
    assert_eq!(reader.positions().await, (10, Some(10), Some(10)));
    assert_eq!(host.log_count("fenced"), 0);
    settled(&reader.env.db, Counts::done(10)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_paused_consumer_the_owner_puts_kafka_back_and_expired_records_run_again() {
    let reader = Reader::forgetful("paused", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    let host = ten(&reader, &paid).await;
    reader.wait_expired(10).await;
    let (name, config) = (reader.name(), reader.config());
    reader.command(&["consumer", "pause", name], &config).await;
    let args = reader.set_args("0", &["--to-offset", "4", "--format", "json"]);
    let output = reader.command(&args, &config).await;
    let rows: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(rows[0]["kafka_before"], 10);
    assert_eq!(rows[0]["kafka_after"], 4, "{}", output.stdout);
    assert_eq!(rows[0]["after"]["next_offset"], 4);
    wait_positions(&reader, 4).await;
    ledger.assert_exact(&paid).await;

    reader.command(&["consumer", "resume", name], &config).await;
    let again = Counts {
        next: 10,
        committed: 10,
        taken_over: 6,
        ..Counts::done(16)
    };
    settled(&reader.env.db, again).await;
    assert_eq!(ledger.sum().await, sum(&paid) + sum(&paid[4..]));
    for word in ["rewound", "is ahead of", "is behind"] {
        assert_eq!(host.log_count(word), 0, "{word}");
    }
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_stopped_consumer_the_command_puts_kafka_back_and_known_records_are_duplicates() {
    let reader = Reader::new("stopped", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(12, ACCOUNTS));
    let host = ten(&reader, &paid).await;
    assert_eq!(host.terminate().await, 0);
    let args = reader.set_args("0", &["--to-offset", "4"]);
    reader.command(&args, &reader.config()).await;
    assert_eq!(reader.positions().await, (4, Some(4), Some(4)));

    let host = host.restart().await;
    reader.pay(&paid[10..]).await;
    let again = Counts {
        republished: 6,
        ..Counts::done(12)
    };
    settled(&reader.env.db, again).await;
    ledger.assert_exact(&paid).await;
    for word in ["rewound", "is ahead of", "is behind"] {
        assert_eq!(host.log_count(word), 0, "{word}");
    }
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(12));
}

/// `offsets set` killed when the row is written and its word to Kafka on its way.
async fn killed_between(reader: &Reader, to: &str) {
    let proxy = reader.env.kafka_proxy().await;
    let hold = proxy.hold_when(Pattern::KafkaApi(8));
    let config = reader.config().bootstrap(&proxy.addr());
    let args = reader.set_args("0", &["--to-offset", to]);
    let command = reader.env.host(config).args(&args).start().await;
    hold.held(PATIENCE).await;
    command.kill();
    gone(&proxy).await;
    drop(hold);
    let at = to.parse().unwrap();
    assert_eq!(reader.positions().await, (at, None, Some(10)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_row_and_kafka_on_the_way_back_the_row_decides_and_kafka_is_told() {
    let reader = Reader::forgetful("cut-back", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    let host = ten(&reader, &paid).await;
    assert_eq!(host.terminate().await, 0);
    reader.wait_expired(10).await;
    killed_between(&reader, "4").await;

    let host = host.restart().await;
    let told = "the position was set by a command: going on at 4, and the group's offset, still 10";
    host.wait_log(told, PATIENCE).await;
    let again = Counts {
        next: 10,
        committed: 10,
        taken_over: 6,
        ..Counts::done(16)
    };
    settled(&reader.env.db, again).await;
    assert_eq!(ledger.sum().await, sum(&paid) + sum(&paid[4..]));
    assert_eq!(host.log_count("is ahead of"), 0, "no lost tail");
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_row_and_kafka_on_the_way_forward_nothing_comes_back() {
    let reader = Reader::forgetful("cut-on", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    let host = ten(&reader, &paid).await;
    assert_eq!(host.terminate().await, 0);
    reader.pay(&paid[10..]).await;
    killed_between(&reader, "15").await;

    let host = host.restart().await;
    let told = "the position was set by a command: going on at 15";
    host.wait_log(told, PATIENCE).await;
    reader.wait_place(0, 20, 15).await;
    ledger
        .assert_exact(&[&paid[..10], &paid[15..]].concat())
        .await;
    assert_eq!(host.log_count("rewound"), 0);
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_host_counts_as_running_until_nobody_sees_it_any_more() {
    let reader = Reader::new("killed", 1).await;
    let (_ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    let host = ten(&reader, &paid).await;
    host.kill();
    let args = reader.set_args("0", &["--to-offset", "4"]);
    let refused = reader.env.cli(&args, &reader.config()).await;
    assert_eq!(refused.code, 1, "{}{}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("runs"), "{}", refused.stderr);
    wait_eq(PATIENCE, "the command's exit code", 0, async || {
        reader.env.cli(&args, &reader.config()).await.code
    })
    .await;
    assert_eq!(reader.positions().await, (4, Some(4), Some(4)));
}
