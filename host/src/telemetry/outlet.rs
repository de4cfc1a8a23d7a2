//! The way out for lines: a bounded queue to a thread of its own, the only one that writes. Whoever logs never waits
//! for whoever reads.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The most lines that wait, and the most bytes of them.
const LINES: usize = 16_384;
const BYTES: usize = 8 << 20;
/// What is written at once, at most and a line more.
const PIECE: usize = 64 << 10;
/// How often, at most, is told what was lost; and how soon it is tried again where that fails.
const TELL: Duration = Duration::from_secs(1);
/// How often a full queue is asked for the last place.
const STEP: Duration = Duration::from_millis(5);

thread_local! {
    /// On a writer's own thread: what it logs itself. It has nobody to wait for.
    static OWN: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Takes lines. Clones are the same outlet.
#[derive(Clone)]
pub(super) struct Outlet {
    queue: SyncSender<Word>,
    load: Arc<Load>,
}

/// The thread behind an [`Outlet`], owned by whoever opened it.
pub(super) struct Writer {
    outlet: Outlet,
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

enum Word {
    Line(Vec<u8>),
    End,
}

#[derive(Default)]
struct Load {
    /// Bytes that wait.
    bytes: AtomicUsize,
    lost: AtomicU64,
}

/// What the writer's thread owns.
struct Sink<W> {
    to: W,
    queue: Receiver<Word>,
    load: Arc<Load>,
    /// Of the lost lines, how many were told of, and when.
    told: u64,
    at: Option<Instant>,
    /// Logs how many lines were lost.
    tell: fn(u64),
}

/// Lines that are written at once.
#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    lines: u64,
    /// Nothing comes behind it.
    last: bool,
}

impl Outlet {
    /// Starts a thread that writes to `to`. `tell` logs how many lines were lost, once writing works again.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn open(
        to: impl Write + Send + 'static,
        tell: fn(u64),
    ) -> io::Result<(Outlet, Writer)> {
        let (sender, queue) = sync_channel(LINES);
        let (done, ended) = sync_channel(1);
        let load = Arc::<Load>::default();
        let sink = Sink {
            to,
            queue,
            load: Arc::clone(&load),
            told: 0,
            at: None,
            tell,
        };
        let thread = thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || {
                sink.run();
                drop(done);
            })?;
        let outlet = Outlet {
            queue: sender,
            load,
        };
        let writer = Writer {
            outlet: outlet.clone(),
            ended,
            thread,
        };
        Ok((outlet, writer))
    }

    /// Puts `line`, which ends with a newline, into the queue; counts it as lost where there is no room.
    pub(super) fn offer(&self, line: &[u8]) {
        let own = OWN.with_borrow_mut(|own| match own {
            Some(own) => {
                own.extend_from_slice(line);
                true
            }
            None => false,
        });
        if own {
            return;
        }
        let waiting = self.load.bytes.fetch_add(line.len(), Relaxed);
        let room = waiting.saturating_add(line.len()) <= BYTES;
        if !room || self.queue.try_send(Word::Line(line.to_vec())).is_err() {
            self.load.bytes.fetch_sub(line.len(), Relaxed);
            self.load.lost.fetch_add(1, Relaxed);
        }
    }

    /// How many lines were lost since the start: there was no room, or they could not be written.
    pub(super) fn lost(&self) -> u64 {
        self.load.lost.load(Relaxed)
    }
}

impl Writer {
    /// Writes what waits and ends the thread. What is not written within `deadline` is left, and the thread with it.
    pub(super) fn close(self, deadline: Duration) {
        let until = Instant::now() + deadline;
        while self.outlet.queue.try_send(Word::End).is_err() {
            if Instant::now() >= until || self.thread.is_finished() {
                return;
            }
            thread::sleep(STEP);
        }
        let rest = until.saturating_duration_since(Instant::now());
        if self.ended.recv_timeout(rest) == Err(RecvTimeoutError::Disconnected) {
            // A writer that panicked has said so, as far as it could.
            self.thread.join().ok();
        }
    }
}

impl<W: Write> Sink<W> {
    fn run(mut self) {
        OWN.set(Some(Vec::new()));
        let mut ends = false;
        while !ends {
            let first = match self.owes() {
                true => self.queue.recv_timeout(TELL),
                false => self.queue.recv().map_err(RecvTimeoutError::from),
            };
            let works = match first {
                Ok(word) => {
                    let piece = self.gather(word);
                    ends = piece.last;
                    self.write(&piece)
                }
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if works && self.owes() {
                self.tell();
            }
        }
    }

    /// What waits, from `first` on, as far as it is to be written at once.
    fn gather(&self, first: Word) -> Piece {
        let (mut piece, mut next) = (Piece::default(), Some(first));
        while let Some(word) = next.take() {
            match word {
                Word::Line(line) => piece.bytes.extend_from_slice(&line),
                Word::End => {
                    piece.last = true;
                    break;
                }
            }
            piece.lines += 1;
            if piece.bytes.len() < PIECE {
                next = self.queue.try_recv().ok();
            }
        }
        piece
    }

    fn write(&mut self, piece: &Piece) -> bool {
        let works = self.to.write_all(&piece.bytes).is_ok();
        self.load.bytes.fetch_sub(piece.bytes.len(), Relaxed);
        if !works {
            self.load.lost.fetch_add(piece.lines, Relaxed);
        }
        works
    }

    /// Whether lines were lost that nobody was told of.
    fn owes(&self) -> bool {
        self.load.lost.load(Relaxed) > self.told
    }

    fn tell(&mut self) {
        if self.at.is_some_and(|at| at.elapsed() < TELL) {
            return;
        }
        let lost = self.load.lost.load(Relaxed);
        (self.tell)(lost - self.told);
        let words = OWN.with_borrow_mut(|own| own.as_mut().map(std::mem::take));
        if self.to.write_all(&words.unwrap_or_default()).is_ok() {
            self.told = lost;
            self.at = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;
