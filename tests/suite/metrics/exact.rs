//! At the end of a run without kills, the metrics say what the progress rows and dead letters say.

use tidegate_tests::{Ledger, Rec, Scrape, TestEnv, payments, test_env, wait_eq, wait_for};

use crate::rows::{self, PATIENCE, recs, settled};
use crate::scene::{Counts, Scene, numbers, pay};

/// What the metrics say of a consumer and topic.
fn counts(scrape: &Scrape, consumer: &str, topic: &str) -> Counts {
    let own = [("consumer", consumer), ("topic", topic)];
    let of = |name: &str, label: &str, word: &str| {
        scrape.count(name, &[&own[..], &[(label, word)]].concat())
    };
    Counts {
        done: of("tidegate_records_total", "outcome", "done"),
        skipped: of("tidegate_records_total", "outcome", "skipped"),
        rejected: of("tidegate_records_total", "outcome", "rejected"),
        redelivered: of("tidegate_duplicates_total", "kind", "redelivered"),
        republished: of("tidegate_duplicates_total", "kind", "republished"),
        taken_over: scrape.count("tidegate_taken_over_total", &own),
    }
}

/// Codes and numbers of the consumer's dead letters, as the table has them.
async fn letters(env: &TestEnv, consumer: &str) -> Vec<(String, i64)> {
    let sql = format!(
        "SELECT code, count(*) FROM tidegate.dead_letters WHERE consumer_name = '{consumer}'
          GROUP BY code ORDER BY code"
    );
    let rows = env.db.query_text(&sql).await.into_iter();
    let cell = |cell: &Option<String>| cell.clone().unwrap();
    rows.map(|row| (cell(&row[0]), cell(&row[1]).parse().unwrap()))
        .collect()
}

fn lettered(scrape: &Scrape, consumer: &str) -> Vec<(String, i64)> {
    const NAME: &str = "tidegate_dead_letters_total";
    let codes = scrape.label(NAME, "code").into_iter();
    let count = |code: &str| scrape.count(NAME, &[("consumer", consumer), ("code", code)]);
    codes
        .map(|code| (code.clone(), count(&code)))
        .filter(|(_, n)| *n > 0)
        .collect()
}

fn told_to_reject(account: i64, code: &str) -> Rec {
    let value = serde_json::json!({
        "amount_minor": 1, "account_id": account, "trick": "reject", "code": code,
    });
    Rec::new(value.to_string())
        .to(0)
        .event_id(&format!("e{account}"))
}

fn varied() -> Vec<Rec> {
    let mut records = Vec::new();
    for account in 1..=200 {
        records.push(match account % 20 {
            3 => told_to_reject(account, "too-late"),
            7 => told_to_reject(account, "not-mine"),
            11 => pay(account, &format!("e{account}"), "write-then-reject"),
            13 => pay(100_000 + account, &format!("e{account}"), ""),
            17 => Rec::new("{}").to(0),
            _ => pay(account, &format!("e{account}"), ""),
        });
        // The same event again, in the same batch or another.
        if account % 5 == 0 {
            records.push(pay(account, &format!("e{account}"), ""));
        }
    }
    records
}

/// Handled again: events whose claims have expired, and rejected ones corrected.
async fn run(scene: &Scene, orders: &str) {
    let places = scene.produce(varied()).await.len() as i64;
    let tombstones = (1..=9).map(|n| {
        Rec::new("")
            .null_value()
            .to(0)
            .event_id(&format!("gone-{n}"))
    });
    scene.env.kafka.produce(orders, tombstones.collect()).await;
    wait_eq(PATIENCE, "the varied records", places, async || {
        handled(scene.counts().await)
    })
    .await;
    scene.expire_all().await;
    let again = (1..=40).map(|account| pay(account, &format!("e{account}"), ""));
    let again: Vec<_> = again.collect();
    let more = again.len() as i64;
    scene.produce(again).await;
    wait_eq(PATIENCE, "the republished", places + more, async || {
        handled(scene.counts().await)
    })
    .await;
}

fn handled(counts: Counts) -> i64 {
    let Counts {
        done,
        skipped,
        rejected,
        redelivered,
        republished,
        ..
    } = counts;
    done + skipped + rejected + redelivered + republished
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_counters_are_the_ledgers_to_the_last_one() {
    let scene = Scene::new("metrics-exact", 1, 400).await;
    let table = "CREATE TABLE orders (order_id text PRIMARY KEY, status text, version bigint)";
    scene.env.db.exec(table).await;
    let orders = scene.env.topic("orders", 1).await;
    let second = scene.env.consumer(&orders, "orders-rust").await;
    let name = scene.env.unique("c2");
    let second = second.set("name", &name).set("dead_letter", "off");
    let first = scene.consumer("rejects").await.batch("max_records", 50);
    let config = scene.env.config().watched();
    let config = config.consumer(first).consumer(second);
    let host = scene.env.host(config).start().await;
    run(&scene, &orders).await;
    wait_eq(PATIENCE, "the tombstones", 9, async || {
        scene.counts_of(&name).await.skipped
    })
    .await;

    let ledger = scene.counts().await;
    assert!(ledger.taken_over > 20 && ledger.republished > 20);
    assert!(ledger.rejected > 40, "{ledger:?}");
    // A batch is in the database a moment before it is counted.
    wait_eq(PATIENCE, "the counters", ledger, async || {
        counts(&host.scrape().await, &scene.consumer, &scene.topic)
    })
    .await;
    let scrape = host.scrape().await;
    let (of_second, skipped) = (counts(&scrape, &name, &orders), 9);
    assert_eq!(
        of_second,
        Counts {
            skipped,
            ..Counts::default()
        }
    );
    let letters = letters(&scene.env, &scene.consumer).await;
    assert!(letters.len() >= 5, "{letters:?}");
    assert_eq!(lettered(&scrape, &scene.consumer), letters);
    check_histograms(&scrape, &scene, ledger);
    assert_eq!(host.terminate().await, 0);
}

/// Every record was in one committed batch, and every duplicate met a claim of some age.
fn check_histograms(scrape: &Scrape, scene: &Scene, ledger: Counts) {
    let own = [("consumer", scene.consumer.as_str())];
    let of = |name: &str| scrape.count(name, &own);
    assert_eq!(of("tidegate_batch_records_sum"), handled(ledger));
    let duplicates = ledger.republished + ledger.redelivered;
    assert_eq!(of("tidegate_duplicate_age_ratio_count"), duplicates);
    let batches = of("tidegate_batch_duration_seconds_count");
    assert!(batches > 0);
    for phase in ["queue", "begin", "guest", "statements", "commit"] {
        let labels = [own[0], ("phase", phase)];
        let count = scrape.count("tidegate_phase_seconds_count", &labels);
        assert_eq!(count, batches, "{phase}");
    }
    let sum = |name: &str, labels: &[(&str, &str)]| scrape.get(name, labels).unwrap();
    let inside: f64 = ["begin", "guest", "statements", "commit"]
        .map(|phase| sum("tidegate_phase_seconds_sum", &[own[0], ("phase", phase)]))
        .iter()
        .sum();
    let whole = sum("tidegate_batch_duration_seconds_sum", &own);
    assert!((inside - whole).abs() < 1e-6, "{inside} of {whole}");
    assert!(sum("tidegate_guest_cpu_seconds_sum", &own) > 0.0);
    assert!(sum("tidegate_guest_memory_bytes_sum", &own) >= 65536.0);
}

/// The group was set back while no host ran: the next one counts what comes again, and nothing of the first one's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_delivered_again_are_counted_as_redelivered() {
    let scene = Scene::new("metrics-again", 1, 40).await;
    let records = (1..=30).map(|n| pay(n, &format!("e{n}"), ""));
    scene.produce(records.collect()).await;
    let consumer = scene.consumer("credit-rust").await;
    let config = scene.env.config().watched().consumer(consumer);
    let host = scene.env.host(config).start().await;
    let done = Counts {
        done: 30,
        ..Counts::default()
    };
    scene.wait_counts(done).await;
    assert_eq!(host.terminate().await, 0);
    let (kafka, group) = (&scene.env.kafka, &scene.consumer);
    kafka.commit_group_offset(group, &scene.topic, 0, 10).await;
    let host = host.restart().await;
    let redelivered = Counts {
        redelivered: 20,
        ..done
    };
    scene.wait_counts(redelivered).await;
    let only = Counts {
        redelivered: 20,
        ..Counts::default()
    };
    wait_eq(PATIENCE, "the counters", only, async || {
        counts(&host.scrape().await, &scene.consumer, &scene.topic)
    })
    .await;
    assert_eq!(host.terminate().await, 0);
}

/// Twenty batches whose COMMIT was not answered, and which had landed: each is counted once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_whose_commit_was_not_answered_are_counted_once() {
    let env = test_env("metrics-cut").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 20).await);
    let proxy = env.pg_proxy().await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let (name, consumer) = (consumer.name.clone(), consumer.batch("max_records", 10));
    let config = env.config().watched().postgres(&env.db.url_via(&proxy));
    let host = env.host(config.consumer(consumer)).start().await;
    let paid = payments(410, 20);
    env.kafka.produce(&topic, recs(&paid[..10])).await;
    settled(&env.db, rows::Counts::done(10)).await;

    proxy.cut_on_reply_after(&b"COMMIT\0"[..], 20);
    env.kafka.produce(&topic, recs(&paid[10..])).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    wait_for(PATIENCE, "twenty cuts", async || {
        (proxy.cuts() == 20).then_some(())
    })
    .await;
    settled(&env.db, rows::Counts::done(410)).await;
    let sql = "SELECT done FROM tidegate.progress";
    let done = numbers(env.db.query_text(sql).await)[0][0];
    wait_eq(PATIENCE, "the counter", done, async || {
        counts(&host.scrape().await, &name, &topic).done
    })
    .await;
    assert_eq!(host.terminate().await, 0);
}
