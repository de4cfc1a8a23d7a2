//! `tidegate check` on files with mistakes: all of them at once, each with its line.

use std::process::Command;

use tidegate_tests::tidegate_bin;

/// Exit code, stdout and stderr of `tidegate check` on a file of this text.
async fn check(text: &str) -> (Option<i32>, String, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tidegate.toml"), text).unwrap();
    let mut command = Command::new(tidegate_bin().await);
    let output = command
        .arg("check")
        .current_dir(dir.path())
        .env("XDG_CACHE_HOME", dir.path())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

const FIVE_MISTAKES: &str = r#"[kafka]
bootstrap_servers = "localhost:9092"
[kafka.librdkafka]
"group.id" = "mine"
[postgres]
url = "postgresql://app:geheim@localhost/shop"
max_conections = 4
[[consumer]]
name = "billing"
topics = ["payments", "payments.dlt"]
handler = "credit.wasm"
start = "newest"
[consumer.dedup]
ttl = "7x"
"#;

#[tokio::test]
async fn five_mistakes_are_reported_at_once_with_their_lines() {
    let (code, stdout, stderr) = check(FIVE_MISTAKES).await;
    assert_eq!(code, Some(2), "{stderr}");
    assert_eq!(stdout, "");
    let lines: Vec<&str> = stderr.lines().collect();
    let expected = [
        (4, "kafka.librdkafka.group.id: "),
        (
            7,
            "postgres.max_conections: unknown key; did you mean max_connections?",
        ),
        (
            10,
            "consumer \"billing\": dead_letter.topic: \"payments.dlt\" is read by",
        ),
        (12, "consumer \"billing\": start: \"newest\" is not known"),
        (
            14,
            "consumer \"billing\": dedup.ttl: \"7x\" is not a duration",
        ),
    ];
    assert_eq!(lines.len(), expected.len(), "{stderr}");
    for (line, (number, text)) in lines.iter().zip(expected) {
        let start = format!("tidegate.toml:{number}: {text}");
        assert!(
            line.starts_with(&start),
            "{line} does not start with {start}"
        );
    }
    assert!(!stderr.contains("geheim"));
}

#[tokio::test]
async fn a_good_file_with_a_bad_module_fails_and_says_which() {
    let text = FIVE_MISTAKES
        .replace("\"group.id\" = \"mine\"\n", "")
        .replace("max_conections", "max_connections")
        .replace(", \"payments.dlt\"", "")
        .replace("newest", "latest")
        .replace("7x", "7d");
    let (code, stdout, stderr) = check(&text).await;
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stdout.contains("ok       configuration: 1 consumer"),
        "{stdout}"
    );
    assert!(stdout.contains("problem  consumer \"billing\": ") && stdout.contains("credit.wasm"));
}
