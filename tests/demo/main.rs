//! The demo: payments through a real broker, the real host and a real PostgreSQL, with the host killed
//! twice in mid-run; then the books are compared with what the generated payments alone say.
#![expect(
    clippy::print_stdout,
    reason = "the demo talks to a person at a terminal"
)]

mod books;
mod workload;

use std::process::ExitCode;

use tidegate_tests::{Host, Ledger, TestEnv, millis, secs, test_env, wait_eq};

use crate::books::Books;
use crate::workload::{ACCOUNTS, PARTITIONS, Workload};

/// Small batches make the run long enough to be killed in the middle of.
const BATCH: i64 = 10;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    println!("Starting Kafka and PostgreSQL, building the host and the handler …");
    let env = test_env("demo").await;
    match run(&env).await {
        Ok(true) => {
            println!("\nAll agree.");
            return ExitCode::SUCCESS;
        }
        Ok(false) => println!("\nThe books do NOT agree."),
        Err(error) => println!("\nThe demo broke off: {error:#}"),
    }
    ExitCode::FAILURE
}

async fn run(env: &TestEnv) -> anyhow::Result<bool> {
    let ledger = Ledger::create(&env.db, ACCOUNTS).await;
    let topic = env.topic("payments.received", PARTITIONS).await;
    let letters = format!("{topic}.dlt");
    env.kafka.create_topic(&letters, 1, &[]).await;
    let workload = Workload::generate();
    let total = workload.expected.records;
    env.kafka.produce(&topic, workload.records).await;
    println!("{}", workload.expected.summary());

    let host = start(env, &topic).await;
    let host = kill_at(env, host, total / 3, total).await?;
    let host = kill_at(env, host, total * 2 / 3, total).await?;
    wait_until_handled(env, &topic).await;
    let code = host.terminate().await;
    println!("All {total} handled; host stopped with exit code {code}.\n");

    let balances = ledger.balances().await;
    let books = Books::compare(&workload.expected, &balances, &env.db).await;
    print!("{books}");
    Ok(books.agree() && code == 0)
}

async fn start(env: &TestEnv, topic: &str) -> Host {
    let consumer = env
        .consumer(topic, "credit-rust")
        .await
        .batch("max_records", BATCH);
    let config = env
        .config()
        .librdkafka("group.instance.id", "demo")
        .consumer(consumer);
    env.host(config).start().await
}

/// Kills the host by SIGKILL once `at` records are committed, and starts another.
async fn kill_at(env: &TestEnv, host: Host, at: i64, total: i64) -> anyhow::Result<Host> {
    let client = env.db.client().await;
    let deadline = tokio::time::Instant::now() + secs(120);
    while books::handled(&client).await? < at {
        anyhow::ensure!(
            host.is_running() && tokio::time::Instant::now() < deadline,
            "the host has ended, or not handled {at} of {total} records within 120 s; its log:\n{}",
            host.log()
        );
        tokio::time::sleep(millis(1)).await;
    }
    host.kill();
    let handled = books::handled(&client).await?;
    anyhow::ensure!(
        handled < total,
        "the host was done before it could be killed"
    );
    println!("SIGKILL with {handled} of {total} records committed; starting the host again.");
    Ok(host.restart().await)
}

/// Waits until every partition's progress row stands at the partition's end.
async fn wait_until_handled(env: &TestEnv, topic: &str) {
    for partition in 0..PARTITIONS {
        let (_, end) = env.kafka.watermarks(topic, partition).await;
        let position =
            format!("SELECT next_offset FROM tidegate.progress WHERE partition = {partition}");
        let what = format!("partition {partition} to be handled to its end");
        wait_eq(secs(120), &what, end, async || {
            env.db.query_i64(&position).await.unwrap_or_default()
        })
        .await;
    }
}
