//! A proxy that adds latency and nothing else: each piece of data goes on a set time after it came, however many are
//! under way. Plain threads, since tokio's timers have steps of a millisecond.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;

/// The most bytes of one piece.
const PIECE: usize = 64 << 10;

/// Pieces that may be under way in one direction.
const UNDER_WAY: usize = 1024;

type Piece = (Instant, Vec<u8>);

#[derive(Default)]
struct Shared {
    delay_ns: AtomicU64,
    stopped: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

/// A listener on 127.0.0.1 in front of a port there. Dropping it cuts its connections and joins its threads.
pub(crate) struct DelayProxy {
    port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl DelayProxy {
    /// Listens on a free port; adds nothing yet.
    pub(crate) fn start(upstream: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        let accepting = std::thread::spawn(move || accept(&listener, upstream, &state));
        Ok(Self {
            port,
            shared,
            accepting: Some(accepting),
        })
    }

    /// Where clients connect.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From now on, data goes on this much later, either way.
    pub(crate) fn set_delay(&self, delay: Duration) {
        let ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.shared.delay_ns.store(ns, Ordering::Relaxed);
    }
}

impl Drop for DelayProxy {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // One more connection, so that the listener looks up.
        let woken = TcpStream::connect(("127.0.0.1", self.port));
        if let (Ok(_), Some(thread)) = (woken, self.accepting.take()) {
            // A panic there has been printed; there is nobody to tell.
            let _joined = thread.join();
        }
    }
}

/// Serves until it is stopped, then cuts everything and waits for the threads.
fn accept(listener: &TcpListener, upstream: u16, shared: &Arc<Shared>) {
    let mut threads = Vec::new();
    for client in listener.incoming() {
        if shared.stopped.load(Ordering::Relaxed) {
            break;
        }
        // A client that is gone again, or a server that is: the client sees its connection closed.
        if let Ok(served) = client.and_then(|client| serve(&client, upstream, shared)) {
            threads.extend(served);
        }
    }
    let mut streams = shared
        .streams
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    for stream in streams.drain(..) {
        // It may be closed already.
        let _shut = stream.shutdown(Shutdown::Both);
    }
    for thread in threads {
        let _joined = thread.join();
    }
}

/// Two threads for each direction: one reads and notes the time, one waits and writes.
fn serve(
    client: &TcpStream,
    upstream: u16,
    shared: &Arc<Shared>,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    let server = TcpStream::connect(("127.0.0.1", upstream))?;
    let mut threads = Vec::new();
    for (from, to) in [(client, &server), (&server, client)] {
        to.set_nodelay(true)?;
        let (sender, receiver) = sync_channel(UNDER_WAY);
        let (from, to, state) = (from.try_clone()?, to.try_clone()?, Arc::clone(shared));
        shared
            .streams
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(to.try_clone()?);
        threads.push(std::thread::spawn(move || read(from, &sender)));
        threads.push(std::thread::spawn(move || write(to, &receiver, &state)));
    }
    Ok(threads)
}

fn read(mut from: TcpStream, pieces: &SyncSender<Piece>) {
    let mut buffer = vec![0; PIECE];
    while let Ok(size @ 1..) = from.read(&mut buffer) {
        let piece = (Instant::now(), buffer[..size].to_vec());
        if pieces.send(piece).is_err() {
            return;
        }
    }
}

fn write(mut to: TcpStream, pieces: &Receiver<Piece>, shared: &Shared) {
    for (came, bytes) in pieces {
        let delay = Duration::from_nanos(shared.delay_ns.load(Ordering::Relaxed));
        std::thread::sleep((came + delay).saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    // The other end learns that there is no more; it may have closed already.
    let _shut = to.shutdown(Shutdown::Both);
}
