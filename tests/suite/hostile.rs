//! Hostile records among good ones: each ends as a dead letter with its limit's code, and every good one, of the same
//! batch, of the same consumer's other partition, and of another consumer, commits exactly once.

use tidegate_tests::{Consumer, Host, Rec, secs, wait_for};

use crate::engine_wat::Wat;
use crate::rows::AccountLock;
use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};
use crate::tenants::{letters, of};

/// Trick, size, and the code of its letter.
const HOSTILE: [(&str, u64, &str); 20] = [
    ("memory", 0, "memory-limit"),
    ("loop", 0, "cpu-limit"),
    ("clock", 0, "cpu-limit"),
    ("sleep", 0, "wall-limit"),
    ("recurse", 0, "trap"),
    ("panic", 0, "trap"),
    ("exit", 0, "trap"),
    ("statements", 51, "statement-limit"),
    ("stage", 41, "staged-statements-limit"),
    ("stage-bytes", 1000, "staged-bytes-limit"),
    ("parameter-bytes", 100_000, "parameter-bytes-limit"),
    ("parameter-values", 1001, "parameter-values-limit"),
    ("nesting", 11, "nesting-limit"),
    ("result-rows", 101, "result-rows-limit"),
    ("results", 11, "result-rows-limit"),
    ("result-bytes", 10_000, "result-bytes-limit"),
    ("random", 8192, "random-bytes-limit"),
    ("seed", 8192, "random-bytes-limit"),
    ("log-fields", 1_000_000, "parameter-bytes-limit"),
    ("nulls", 500_000, "parameter-bytes-limit"),
];

/// Good records between two hostile ones.
const BETWEEN: i64 = 4;
/// Good records of another partition, and of another consumer.
const OTHERS: i64 = 100;

/// Low limits, as they stand in a configuration.
const LIMITS: [(&str, &str); 13] = [
    ("memory", "\"48MiB\""),
    ("cpu", "\"200ms\""),
    ("wall", "\"5s\""),
    ("statements", "50"),
    ("staged_statements", "40"),
    ("staged_bytes", "\"4kB\""),
    ("parameter_bytes", "\"100kB\""),
    ("parameter_values", "1000"),
    ("nesting", "10"),
    ("result_rows", "100"),
    ("result_bytes", "\"10kB\""),
    ("random_bytes", "\"4KiB\""),
    ("log_lines", "10"),
];

fn limited(consumer: Consumer) -> Consumer {
    let limits = LIMITS.map(|(key, value)| format!("{key} = {value}"));
    let limits = format!("[consumer.limits]\n{}", limits.join("\n"));
    consumer.raw(&limits).set("brake", "off")
}

fn hostile(account: i64, trick: &str, size: u64) -> Rec {
    let value = serde_json::json!({
        "amount_minor": 1, "account_id": account, "trick": trick, "size": size,
    });
    Rec::new(value.to_string())
        .to(0)
        .event_id(&format!("hostile-{account}"))
}

/// Accounts of the first partition that are credited, and all its records, each given to `name` as one of a good tenant or
/// of a hostile one.
fn mixed(name: impl Fn(&str, Rec) -> Rec) -> (Vec<i64>, Vec<Rec>) {
    let (mut good, mut records) = (Vec::new(), Vec::new());
    let mut account = 0;
    for (trick, size, _) in HOSTILE {
        for _ in 0..BETWEEN {
            account += 1;
            good.push(account);
            records.push(name("calm", pay(account, &format!("e{account}"), "")));
        }
        account += 1;
        records.push(name("evil", hostile(account, trick, size)));
    }
    (good, records)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_limit_ends_its_record_and_spares_all_others() {
    let (good, mut records) = mixed(|_, rec| rec);
    let first = records.len() as i64;
    let scene = Scene::new("hostile", 2, first + 2 * OTHERS).await;
    let second = first + 1..=first + OTHERS;
    records.extend(second.clone().map(|n| pay(n, &format!("e{n}"), "").to(1)));
    scene.produce(records).await;
    let calm_topic = scene.env.topic("calm", 1).await;
    let third = first + OTHERS + 1..=first + 2 * OTHERS;
    let calm_records = third.clone().map(|n| pay(n, &format!("e{n}"), ""));
    scene
        .env
        .kafka
        .produce(&calm_topic, calm_records.collect())
        .await;
    let name = scene.env.unique("calm");
    let calm = Consumer::new(&name).topic(&calm_topic);
    let calm = calm.set("start", "earliest");
    let calm = calm.handler(tidegate_tests::guest("hostile").await);
    let consumer = limited(scene.consumer("hostile").await);
    let config = scene.env.config().watched().consumer(consumer);
    let host = scene.env.host(config.consumer(calm)).start().await;

    let rejected = i64::try_from(HOSTILE.len()).unwrap();
    let done = i64::try_from(good.len()).unwrap() + OTHERS;
    scene.wait_counts(done_and_rejected(done, rejected)).await;
    assert_eq!(scene.codes().await, HOSTILE.map(|(_, _, code)| code));
    wait_for(PATIENCE, "the calm consumer", async || {
        (scene.counts_of(&name).await == done_and_rejected(OTHERS, 0)).then_some(())
    })
    .await;
    let mut credited = scene.journal().await;
    credited.sort_unstable();
    let expected: Vec<_> = good.into_iter().chain(second).chain(third).collect();
    assert_eq!(
        credited, expected,
        "exactly once each, and nothing of a hostile one"
    );
    idle(&host).await;
    counted(&host).await;
    let log = host.log();
    assert!(
        !log.lines().any(|line| line.starts_with("thread '")),
        "{log}"
    );
}

/// Nothing of what was ended computes on.
async fn idle(host: &Host) {
    wait_for(PATIENCE, "the host to be idle", async || {
        let before = cpu_ticks(host.pid());
        tokio::time::sleep(secs(1)).await;
        // A guest that still computed would take a hundred ticks of a second.
        (cpu_ticks(host.pid()) - before < 30).then_some(())
    })
    .await;
}

/// User and system time in hundredths of a second.
fn cpu_ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let fields: Vec<_> = rest.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

async fn counted(host: &Host) {
    let scrape = host.scrape().await;
    for (_, _, code) in HOSTILE.iter().filter(|(_, _, code)| *code != "trap") {
        let hits = scrape.get("tidegate_guest_limits_total", &[("limit", code)]);
        assert!(hits.is_some_and(|hits| hits >= 1.0), "{code}: {hits:?}");
    }
    let none = scrape.get(
        "tidegate_guest_limits_total",
        &[("limit", "database-wait-limit")],
    );
    assert_eq!(none, Some(0.0));
}

/// A flood of lines is dropped and counted; the record itself is well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_of_output_end_no_record_and_are_counted() {
    let scene = Scene::new("hostile-flood", 1, 3).await;
    let records = vec![
        pay(1, "e1", ""),
        hostile(2, "log", 1000),
        hostile(3, "stdout", 500),
    ];
    scene.produce(records).await;
    let consumer = limited(scene.consumer("hostile").await);
    let config = scene.env.config().watched().consumer(consumer);
    let host = scene.env.host(config).start().await;
    scene.wait_counts(done_and_rejected(3, 0)).await;
    assert_eq!(host.log_count("beyond the limit (log_lines, 10)"), 2);
    let scrape = host.scrape().await;
    let dropped = scrape.get(
        "tidegate_guest_limits_total",
        &[("limit", "log-lines-limit")],
    );
    assert!(dropped.is_some_and(|lines| lines >= 1480.0), "{dropped:?}");
}

/// What a call carries is counted before the host copies it: no size of it shows in the host's memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_call_costs_the_host_no_memory() {
    let scene = Scene::new("hostile-huge", 1, 10).await;
    let huge = [
        ("nulls", 3_000_000),
        ("log-fields", 3_000_000),
        ("parameter-values", 5_000_000),
    ];
    let records = (1..)
        .zip(huge)
        .map(|(n, (trick, size))| hostile(n, trick, size));
    scene
        .produce(records.chain([pay(9, "e9", "")]).collect())
        .await;
    let consumer = scene.consumer("hostile").await;
    let consumer = consumer.limits("memory", "256MiB").limits("cpu", "20s");
    let host = scene.run(consumer.set("brake", "off")).await;
    scene.wait_counts(done_and_rejected(1, 3)).await;
    assert_eq!(scene.codes().await, ["parameter-bytes-limit"; 3]);
    // The guest itself may hold 256 MiB; copies of its lists would come to twice that, and more.
    let peak = peak_kib(host.pid());
    assert!(peak < 450 << 10, "{peak} KiB");
}

fn peak_kib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

/// A guest that still waits on the database at its wall limit is not to blame: it is tried again until the lock is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_on_the_database_beyond_the_wall_limit_is_waited_out() {
    let scene = Scene::new("hostile-wait", 1, 3).await;
    let lock = AccountLock::take(&scene.env.db, 3).await;
    let sql = "UPDATE accounts SET balance = balance + 1 WHERE id = 3";
    scene
        .produce(vec![Rec::new(sql).to(0).event_id("e1")])
        .await;
    let consumer = scene.consumer("sql").await.limits("wall", "1s");
    let config = scene.env.config().watched().consumer(consumer);
    let host = scene.env.host(config).start().await;
    wait_for(PATIENCE, "the wall limit to be met twice", async || {
        let limit = [("limit", "database-wait-limit")];
        let hits = host
            .scrape()
            .await
            .get("tidegate_guest_limits_total", &limit);
        hits.is_some_and(|hits| hits >= 2.0).then_some(())
    })
    .await;
    lock.release().await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    assert_eq!(scene.journal().await, [3]);
}

/// `check` and `run` refuse a module that cannot start, and a host that runs goes on with the one it has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_that_cannot_start_is_never_activated() {
    let scene = Scene::new("hostile-start", 1, 10).await;
    scene.produce(vec![pay(1, "e1", "")]).await;
    let file = scene.env.dir().join("handler.wasm");
    let consumer = scene.consumer("rejects").await.handler(&*file);
    let consumer = consumer.limits("cpu", "300ms").limits("memory", "16MiB");
    let config = scene.env.config().consumer(consumer);
    let looping = Wat {
        start: "(loop (br 0))",
        ..Wat::default()
    };
    let grow = "(if (i32.eq (memory.grow (i32.const 16384)) (i32.const -1)) (then (unreachable)))";
    let growing = Wat {
        start: grow,
        ..Wat::default()
    };
    let bad = [
        (looping.build(), "cpu-limit"),
        (growing.build(), "memory-limit"),
    ];
    for (wasm, code) in &bad {
        std::fs::write(&file, wasm).unwrap();
        let said = scene.env.cli(&["check"], &config).await;
        let text = format!("{}{}", said.stdout, said.stderr);
        assert!(
            said.code != 0 && text.contains("cannot start") && text.contains(code),
            "{said:?}"
        );
        let host = scene.env.host(config.clone()).start().await;
        assert!(matches!(host.wait_exit(PATIENCE).await, 1 | 2));
        assert!(host.log().contains(code), "{}", host.log());
    }
    std::fs::write(&file, tidegate_tests::guest_bytes("rejects").await).unwrap();
    let host = scene.env.host(config).start().await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    for (wasm, code) in &bad {
        std::fs::write(&file, wasm).unwrap();
        host.wait_log(&format!("({code})"), PATIENCE).await;
        assert!(host.log().contains("the module that is loaded goes on"));
    }
    idle(&host).await;
    scene.produce(vec![pay(2, "e2", "")]).await;
    scene.wait_counts(done_and_rejected(2, 0)).await;
    assert_eq!(scene.journal().await, [1, 2]);
}

/// Two tenants of one consumer in one partition, the hostile one under limits of its own: the good one loses nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_tenant_costs_another_nothing() {
    let (good, records) = mixed(of);
    let accounts = i64::try_from(records.len()).unwrap();
    let scene = Scene::new("hostile-tenant", 1, accounts).await;
    scene.produce(records).await;
    let limits = LIMITS.map(|(key, value)| format!("{key} = {value}"));
    let toml = format!(
        "[consumer.tenants]\nfrom = \"header:tenant\"\nshare = \"off\"\n[consumer.tenant.calm]\n[consumer.tenant.evil]\nlimits = {{ {} }}\n",
        limits.join(", ")
    );
    let consumer = scene.consumer("hostile").await.raw(&toml);
    let host = scene.run(consumer.set("brake", "off")).await;
    let rejected = i64::try_from(HOSTILE.len()).unwrap();
    let done = i64::try_from(good.len()).unwrap();
    scene.wait_counts(done_and_rejected(done, rejected)).await;
    let letters = letters(&scene).await;
    let found: Vec<_> = letters
        .iter()
        .map(|(_, tenant, code)| (tenant.as_str(), code.as_str()))
        .collect();
    assert_eq!(found, HOSTILE.map(|(_, _, code)| ("evil", code)));
    let mut credited = scene.journal().await;
    credited.sort_unstable();
    assert_eq!(credited, good, "exactly once each");
    idle(&host).await;
}
