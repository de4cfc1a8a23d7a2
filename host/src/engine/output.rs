//! What a guest says: stdout and stderr line by line, and its own log lines, as log events of ours, bounded.

mod about;
mod pipe;
mod text;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::Level;

use self::about::About;
use self::pipe::Pipe;
use self::text::{Line, cut, emit, printable, render};
use super::Event;

/// A longer line is cut into several.
const MAX_LINE: usize = 4 << 10;
/// What a line costs beside its bytes, so that empty lines are not free.
const LINE_COST: usize = 32;
/// The last bytes of stderr that a trap's text quotes.
const MAX_TAIL: usize = 2 << 10;

/// Which of a guest's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// A guest's output, shared by its streams.
pub(super) struct Output(Arc<Mutex<Sink>>);

impl Output {
    pub(super) fn new(consumer: Arc<str>, log_bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(Sink {
            consumer,
            about: About::default(),
            log_bytes,
            left: log_bytes,
            dropping: false,
            stdout: Vec::new(),
            stderr: Vec::new(),
            tail: Vec::new(),
        })))
    }

    /// A WASI stream that writes here.
    pub(super) fn stream(&self, stream: Stream) -> Pipe {
        Pipe::new(Arc::clone(&self.0), stream)
    }

    /// The next record, with a budget of its own.
    pub(super) fn renew(&self, event: Event<'_>) {
        let mut sink = lock(&self.0);
        sink.about.set(event);
        sink.left = sink.log_bytes;
        sink.dropping = false;
        sink.tail.clear();
    }

    /// Logs what stands in unended lines.
    pub(super) fn flush(&self) {
        let mut sink = lock(&self.0);
        sink.end_line(Stream::Stdout);
        sink.end_line(Stream::Stderr);
    }

    /// The last bytes that the record wrote to stderr: where scripting languages put their stack traces.
    pub(super) fn stderr_tail(&self) -> String {
        let sink = lock(&self.0);
        String::from_utf8_lossy(&sink.tail).trim().to_owned()
    }

    /// A line of the guest's own logging.
    pub(super) fn log(&self, level: Level, message: &str, fields: &[(String, String)]) {
        let mut sink = lock(&self.0);
        let size: usize = fields.iter().map(|(k, v)| k.len() + v.len()).sum();
        if sink.spend(message.len() + size) {
            let fields = (!fields.is_empty()).then(|| render(fields));
            sink.say(level, "log", message, fields.as_deref());
        }
    }

    /// Why the guest had nothing to do with the record. A handler may skip most of a topic, so it takes a
    /// closer look at the log to see them.
    pub(super) fn skipped(&self, reason: &str) {
        lock(&self.0).say(Level::DEBUG, "skip", reason, None);
    }
}

fn lock(sink: &Mutex<Sink>) -> MutexGuard<'_, Sink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Sink {
    consumer: Arc<str>,
    about: About,
    log_bytes: usize,
    left: usize,
    dropping: bool,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    tail: Vec<u8>,
}

impl Sink {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        if stream == Stream::Stderr {
            self.remember(bytes);
        }
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            if self.dropping {
                return;
            }
            for part in piece.chunks(MAX_LINE) {
                let line = self.line(stream);
                line.extend_from_slice(part);
                if line.ends_with(b"\n") || line.len() >= MAX_LINE {
                    self.end_line(stream);
                }
            }
        }
    }

    fn remember(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(MAX_TAIL)..];
        let keep = MAX_TAIL - bytes.len();
        let excess = self.tail.len().saturating_sub(keep);
        self.tail.drain(..excess);
        self.tail.extend_from_slice(bytes);
    }

    fn line(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn end_line(&mut self, stream: Stream) {
        let line = std::mem::take(self.line(stream));
        if line.is_empty() || !self.spend(line.len()) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        let (level, name) = match stream {
            Stream::Stdout => (Level::INFO, "stdout"),
            Stream::Stderr => (Level::WARN, "stderr"),
        };
        self.say(level, name, text, None);
    }

    fn say(&self, level: Level, stream: &str, text: &str, fields: Option<&str>) {
        let line = Line {
            consumer: &self.consumer,
            about: &self.about,
            stream,
            fields,
        };
        emit(level, line, &printable(cut(text)));
    }

    /// Takes a line's cost from the budget; the first line that finds too little is replaced by one that says so.
    fn spend(&mut self, bytes: usize) -> bool {
        let cost = bytes + LINE_COST;
        if self.dropping || cost <= self.left {
            self.left = self.left.saturating_sub(cost);
            return !self.dropping;
        }
        self.dropping = true;
        let text = format!(
            "dropped: the rest of this record's log lines is beyond the limit (log_bytes, {})",
            self.log_bytes
        );
        self.say(Level::WARN, "log", &text, None);
        false
    }
}

#[cfg(test)]
mod tests;
