//! What a guest says: stdout and stderr line by line, and its own log lines, as log events of ours, bounded.

mod about;
mod pipe;
mod text;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate_core::limits::{GuestLimits, LOG_BYTES, LOG_LINES};
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
    pub(super) fn new(consumer: Arc<str>, limits: &GuestLimits) -> Self {
        let room = Room {
            lines: limits.log_lines,
            bytes: limits.log_bytes,
        };
        Self(Arc::new(Mutex::new(Sink {
            consumer,
            about: About::default(),
            room,
            left: room,
            dropping: None,
            dropped: 0,
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
        sink.left = sink.room;
        sink.dropping = None;
        sink.dropped = 0;
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

    /// How many of the record's lines were dropped, and the code of the limit.
    pub(super) fn dropped(&self) -> Option<(&'static str, u64)> {
        let sink = lock(&self.0);
        sink.dropping.map(|full| (full.code(), sink.dropped))
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
    room: Room,
    left: Room,
    dropping: Option<Full>,
    /// Lines of the record that were dropped.
    dropped: u64,
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
            if self.dropping.is_some() {
                self.dropped += u64::from(piece.ends_with(b"\n"));
                continue;
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
        let full = match self.left {
            _ if self.dropping.is_some() => self.dropping,
            Room { lines: 0, .. } => Some(Full::Lines),
            Room { bytes, .. } if cost > bytes => Some(Full::Bytes),
            Room { .. } => None,
        };
        let Some(full) = full else {
            self.left.lines -= 1;
            self.left.bytes -= cost;
            return true;
        };
        self.dropped += 1;
        if self.dropping.replace(full).is_none() {
            let (key, limit) = match full {
                Full::Lines => ("log_lines", self.room.lines),
                Full::Bytes => ("log_bytes", self.room.bytes),
            };
            let text = format!(
                "dropped: the rest of this record's log lines is beyond the limit ({key}, {limit})"
            );
            self.say(Level::WARN, "log", &text, None);
        }
        false
    }
}

/// What a record may still log.
#[derive(Clone, Copy)]
struct Room {
    lines: usize,
    bytes: usize,
}

/// Which limit the first dropped line was beyond.
#[derive(Clone, Copy)]
enum Full {
    Lines,
    Bytes,
}

impl Full {
    fn code(self) -> &'static str {
        match self {
            Full::Lines => LOG_LINES,
            Full::Bytes => LOG_BYTES,
        }
    }
}

#[cfg(test)]
mod tests;
