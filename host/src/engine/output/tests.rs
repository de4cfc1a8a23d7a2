//! Output under its budget, and what its lines carry.

use std::io::Write;

use tidegate_core::record::{Record, Timestamp, TopicPartition};
use wasmtime_wasi::p2::OutputStream;

use super::*;

fn record() -> Record {
    Record {
        source: TopicPartition {
            topic: "payments".into(),
            partition: 3,
        },
        offset: 42,
        timestamp: Timestamp::Unknown,
        key: None,
        value: None,
        headers: Vec::new(),
        unreadable_headers: 0,
    }
}

fn event(record: &Record) -> Event<'_> {
    Event {
        id: "e-17\n",
        tenant: None,
        record,
        attempt: 1,
        replay_round: 0,
    }
}

fn bytes(log_bytes: usize) -> GuestLimits {
    GuestLimits {
        log_bytes,
        ..GuestLimits::default()
    }
}

#[test]
fn lines_are_counted_and_so_are_those_that_are_dropped() {
    let limits = GuestLimits {
        log_lines: 3,
        ..GuestLimits::default()
    };
    let output = Output::new("c".into(), &limits);
    let lines = logged(|| {
        output.renew(event(&record()));
        for _ in 0..5 {
            output.log(Level::INFO, "said", &[]);
        }
        let mut pipe = output.stream(Stream::Stdout);
        pipe.write("a\nb\n".into()).unwrap();
    });
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(lines[3].contains("(log_lines, 3)"), "{lines:#?}");
    assert_eq!(output.dropped(), Some((LOG_LINES, 4)));
}

#[test]
fn the_tail_of_stderr_is_kept_though_the_budget_is_spent() {
    let output = Output::new("c".into(), &bytes(100));
    let mut pipe = output.stream(Stream::Stderr);
    for i in 0..1000 {
        pipe.write(format!("line {i}\n").into()).unwrap();
    }
    assert!(output.stderr_tail().ends_with("line 999"));
    assert!(output.stderr_tail().len() <= MAX_TAIL);
    let (code, lines) = output.dropped().unwrap();
    assert_eq!(code, LOG_BYTES);
    assert!((996..1000).contains(&lines), "{lines}");
    output.renew(event(&record()));
    assert_eq!(output.stderr_tail(), "");
    assert_eq!(output.dropped(), None);
}

#[test]
fn unended_lines_are_bounded() {
    let output = Output::new("c".into(), &bytes(1 << 20));
    let mut pipe = output.stream(Stream::Stdout);
    pipe.write(vec![b'x'; 3 * MAX_LINE + 5].into()).unwrap();
    assert_eq!(lock(&output.0).stdout.len(), 5);
    output.flush();
    assert!(lock(&output.0).stdout.is_empty());
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The log lines that `speak` causes.
fn logged(speak: impl FnOnce()) -> Vec<String> {
    let written = Written::default();
    let writer = written.clone();
    let log = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone());
    tracing::subscriber::with_default(log.finish(), speak);
    let bytes = written.0.lock().unwrap();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(str::to_owned).collect()
}

#[test]
fn every_line_says_which_record_it_is_about() {
    let output = Output::new("billing".into(), &bytes(400));
    let lines = logged(|| {
        let mut pipe = output.stream(Stream::Stdout);
        pipe.write("starting\n".into()).unwrap();
        output.renew(event(&record()));
        pipe.write("printed\n".into()).unwrap();
        output.log(Level::DEBUG, "said", &[("k".into(), "v".into())]);
        output.skipped("nothing\nto do");
        pipe.write(vec![b'x'; 400].into()).unwrap();
        output.flush();
    });
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert!(
        lines[0].contains("starting consumer=\"billing\" stream=\"stdout\""),
        "{lines:#?}"
    );
    let place = r#"topic="payments" partition=3 offset=42 event_id="e-17\n""#;
    for (line, words) in lines[1..]
        .iter()
        .zip(["printed", "said", "nothing\\nto do", "dropped: "])
    {
        assert!(line.contains(words) && line.contains(place), "{lines:#?}");
    }
}
