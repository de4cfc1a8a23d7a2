//! Every metric is documented, every documented one is there, and alerts ask for metrics that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate::meters::{Metric, TABLE};
use tidegate_tests::{Host, Scrape, secs, wait_for};

use crate::scene::{Scene, done_and_rejected, pay};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The documentation's row for a metric.
fn row(metric: &Metric) -> String {
    let labels: Vec<_> = metric.labels.iter().map(|l| format!("`{l}`")).collect();
    let when = match metric.when {
        "" => String::new(),
        when => format!("; {when}"),
    };
    format!(
        "| `{}` | {} | {} | {}{when} |",
        metric.name,
        metric.kind.word(),
        labels.join(", "),
        metric.help,
    )
}

#[test]
fn the_documentation_is_the_table() {
    let documented = read("docs/metrics.md");
    let rows = documented
        .lines()
        .filter(|line| line.starts_with("| `tidegate_"));
    let rows: Vec<_> = rows.map(str::to_owned).collect();
    let expected: Vec<_> = TABLE.iter().map(|metric| row(metric)).collect();
    assert_eq!(rows, expected);
}

/// Metrics that other tests show.
const ELSEWHERE: [&str; 4] = [
    "tidegate_replays_total",
    "tidegate_tenant_records_total",
    "tidegate_tenant_guest_cpu_microseconds_total",
    "tidegate_tenants",
];

/// Waits until the host shows what it learns from Kafka and the database.
async fn wait_known(host: &Host) -> Scrape {
    wait_for(secs(60), "all figures", async || {
        let scrape = host.scrape().await;
        let open = scrape.get("tidegate_open_dead_letters", &[]);
        let sent = scrape.get("tidegate_dead_letters_published_total", &[]);
        let lag = scrape.get("tidegate_committed_lag_records", &[]);
        let held = scrape.get("tidegate_held_back_records", &[]);
        let ready = scrape.get("tidegate_ready", &[]);
        let all = (open, sent, lag, ready) == (Some(1.0), Some(1.0), Some(0.0), Some(1.0));
        let all = all && held == Some(0.0);
        all.then_some(scrape)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_metric_is_in_the_table_and_every_row_is_exposed() {
    let scene = Scene::new("metrics-table", 1, 10).await;
    scene
        .produce(vec![
            pay(1, "a", ""),
            pay(2, "b", "reject"),
            pay(1, "a", ""),
        ])
        .await;
    let consumer = scene.consumer("rejects").await;
    let config = scene.env.config().watched().consumer(consumer);
    let host = scene.env.host(config).start().await;
    let mut counts = done_and_rejected(1, 1);
    counts.republished = 1;
    scene.wait_counts(counts).await;
    let scrape = wait_known(&host).await;

    let mut exposed = scrape.names();
    let table: BTreeSet<_> = TABLE.iter().map(|metric| metric.name.to_owned()).collect();
    assert!(
        exposed.is_subset(&table),
        "{:?}",
        exposed.difference(&table)
    );
    // Nothing was replayed here, and records have no tenants.
    exposed.extend(ELSEWHERE.map(str::to_owned));
    assert_eq!(exposed, table);
    for metric in TABLE {
        let kind = format!("# TYPE {} {}", metric.name, metric.kind.word());
        let help = format!("# HELP {} {}", metric.name, metric.help);
        let conditional = ELSEWHERE.contains(&metric.name);
        assert!(conditional || scrape.text.contains(&kind), "{kind}");
        assert!(conditional || scrape.text.contains(&help), "{help}");
        for label in metric.labels.iter().filter(|_| !conditional) {
            let series = match metric.kind.word() {
                "histogram" => format!("{}_count", metric.name),
                _ => metric.name.to_owned(),
            };
            assert!(!scrape.label(&series, label).is_empty(), "{series} {label}");
        }
    }
    promtool(&["check", "metrics"], Some(&scrape.text));
    assert_eq!(host.terminate().await, 0);
}

/// `- alert:` names, and what their blocks hold.
fn alerts(text: &str) -> BTreeMap<String, String> {
    let blocks = text.split("- alert: ").skip(1);
    let named = blocks.filter_map(|block| block.split_once('\n'));
    named
        .map(|(name, rest)| (name.trim().to_owned(), rest.to_owned()))
        .collect()
}

#[test]
fn alerts_ask_for_metrics_that_exist_and_say_what_to_do() {
    let text = read("deploy/prometheus/alerts.yml");
    let alerts = alerts(&text);
    for name in [
        "DeadLettersWaiting",
        "LagGrowing",
        "Braked",
        "Stopped",
        "RelayStuck",
        "HostDown",
    ] {
        assert!(alerts.contains_key(&format!("Tidegate{name}")), "{name}");
    }
    let known: BTreeSet<_> = TABLE.iter().map(|metric| metric.name).collect();
    for (name, block) in &alerts {
        for part in ["expr:", "for:", "severity:", "summary:", "description:"] {
            assert!(block.contains(part), "{name} has no {part}");
        }
        let words = block.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words.filter(|word| word.starts_with("tidegate_")) {
            let plain = ["_bucket", "_sum", "_count"];
            let base = plain.iter().find_map(|suffix| word.strip_suffix(suffix));
            let exists = known.contains(word) || base.is_some_and(|base| known.contains(base));
            assert!(exists, "{name} asks for {word}");
        }
    }
    let file = root().join("deploy/prometheus/alerts.yml");
    promtool(&["check", "rules", &file.to_string_lossy()], None);
    let tests = root().join("deploy/prometheus/alerts_test.yml");
    promtool(&["test", "rules", &tests.to_string_lossy()], None);
}

/// Runs promtool where it is installed; elsewhere the checks above are all there is.
fn promtool(args: &[&str], stdin: Option<&str>) {
    use std::io::Write;
    use std::process::Stdio;

    let child = Command::new("promtool")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        return;
    };
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(stdin.unwrap_or_default().as_bytes())
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "promtool {args:?}: {out}{err}");
}
