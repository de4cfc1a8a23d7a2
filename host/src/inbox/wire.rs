//! The wire to the server, shared by the driver and the pipeline of staged statements.
//!
//! The driver ends every statement with a Sync, and the server answers, and flushes, each one alone. Staged
//! statements go out as flights instead: many statements, one Sync. Both use one connection: what the driver writes
//! passes through here and is looked through, what the server answers is shared out by the order of asking.
//!
//! The driver's task alone touches the socket. Inside a transaction a flight means the same as its statements one
//! by one: once one is refused, the server skips the others to the Sync, where each would be refused with 25P02.

mod dial;
mod inbound;
mod outbound;
mod pipeline;

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(crate) use dial::{Address, Socket, addresses, is_consistent};
pub(crate) use inbound::Answer;
pub(crate) use pipeline::Pipeline;

pub(super) use inbound::{Asked, Inbound};
use outbound::Outbound;

/// Bytes read at once.
const READ: usize = 16 << 10;
/// Bytes that may wait to be sent before the driver has to wait.
const UNSENT: usize = 1 << 20;

/// The driver's end: its stream.
pub(crate) struct Wire(Arc<Shared>);

/// Both ends.
pub(crate) fn wire(socket: Socket) -> (Wire, Pipeline) {
    let state = State {
        socket,
        unsent: BytesMut::new(),
        scratch: vec![0; READ],
        outbound: Outbound::default(),
        inbound: Inbound::default(),
        name: None,
        driver: None,
        pipeline: None,
        ended: None,
    };
    let shared = Arc::new(Shared(Mutex::new(state)));
    (Wire(Arc::clone(&shared)), Pipeline::new(shared))
}

struct Shared(Mutex<State>);

struct State {
    socket: Socket,
    unsent: BytesMut,
    scratch: Vec<u8>,
    outbound: Outbound,
    inbound: Inbound,
    /// What the driver named the statement that was looked for.
    name: Option<String>,
    driver: Option<Waker>,
    pipeline: Option<Waker>,
    /// Why nothing will arrive any more.
    ended: Option<String>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        keep(&mut state.driver, cx);
        while state.inbound.driver.is_empty() {
            match ready!(state.receive(cx)) {
                Ok(0) => return Poll::Ready(Ok(())),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let n = buf.remaining().min(state.inbound.driver.len());
        buf.put_slice(&state.inbound.driver[..n]);
        state.inbound.driver.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        keep(&mut state.driver, cx);
        if state.unsent.len() >= UNSENT {
            ready!(state.send(cx))?;
        }
        let sent = state.outbound.scan(bytes)?;
        for _ in 0..sent.requests {
            state.inbound.asked(Asked::Driver);
        }
        if sent.name.is_some() {
            state.name = sent.name;
        }
        state.unsent.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        keep(&mut state.driver, cx);
        ready!(state.send(cx))?;
        Pin::new(&mut state.socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        ready!(state.send(cx))?;
        Pin::new(&mut state.socket).poll_shutdown(cx)
    }
}

/// Whoever waits for a flight's answers must learn that none will come.
impl Drop for Wire {
    fn drop(&mut self) {
        self.0.lock().end("the connection was closed".to_owned());
    }
}

impl State {
    /// Reads once and shares out what arrived; 0 at the end.
    fn receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(&mut self.scratch);
        let received = ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buf));
        let n = buf.filled().len();
        let received = received.and_then(|()| self.inbound.feed(&self.scratch[..n]));
        match &received {
            Ok(()) if n > 0 => {}
            Ok(()) => self.end("the server closed the connection".to_owned()),
            Err(error) => self.end(error.to_string()),
        }
        if !self.inbound.answers.is_empty() {
            wake(&mut self.pipeline);
        }
        Poll::Ready(received.map(|()| n))
    }

    fn send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            match ready!(Pin::new(&mut self.socket).poll_write(cx, &self.unsent)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(n) => self.unsent.advance(n),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn end(&mut self, why: String) {
        self.ended.get_or_insert(why);
        wake(&mut self.pipeline);
    }
}

fn keep(waker: &mut Option<Waker>, cx: &Context<'_>) {
    if !waker.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
        *waker = Some(cx.waker().clone());
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}
