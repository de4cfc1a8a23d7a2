//! A TCP proxy that fails on demand. It runs on the harness's own runtime, whatever becomes of a test's.

mod connection;
mod hold;
mod pattern;
mod state;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener as Listener;
use tokio::task::AbortHandle;

pub use hold::Hold;
pub use pattern::Pattern;
pub use state::Way;

use crate::{ports, services};
use hold::HoldState;
use state::{Cut, Mode, Rule, State};

/// A listener on 127.0.0.1 whose connections go to one upstream address. Dropping it cuts all of them.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
    accepting: AbortHandle,
}

impl Proxy {
    /// Listens on a free port in front of `upstream`.
    pub async fn start(upstream: SocketAddr) -> Proxy {
        Proxy::on(ports::reserve(), upstream)
    }

    pub(crate) fn on(listener: TcpListener, upstream: SocketAddr) -> Proxy {
        let port = ports::port(&listener);
        let state = Arc::new(State::default());
        let _runtime = services::runtime().enter();
        let listener = listener
            .set_nonblocking(true)
            .and_then(|()| Listener::from_std(listener))
            .unwrap_or_else(|e| panic!("the proxy cannot listen on port {port}: {e}"));
        let accepting = services::runtime().spawn(accept(listener, upstream, state.clone()));
        Proxy {
            port,
            state,
            accepting: accepting.abort_handle(),
        }
    }

    /// `127.0.0.1:port`, where clients connect.
    pub fn addr(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The port alone.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Forwards everything (the mode it starts in).
    pub fn pass(&self) {
        self.state.set_mode(Mode::Pass);
    }

    /// Forwards every piece of data, either way, this much later.
    pub fn delay(&self, by: Duration) {
        self.state.set_mode(Mode::Delay(by));
    }

    /// Cuts every connection, and every new one as soon as it is made, until the mode changes.
    pub fn refuse(&self) {
        self.state.set_mode(Mode::Refuse);
        self.state.cut();
    }

    /// Cuts every connection, once; new ones are served.
    pub fn cut(&self) {
        self.state.cut();
    }

    /// Accepts, and moves no byte either way until the mode changes; what waited then goes on.
    pub fn blackhole(&self) {
        self.state.set_mode(Mode::Blackhole);
    }

    /// Moves no byte this way until the mode changes, the other way everything: a half-open connection.
    pub fn silence(&self, way: Way) {
        self.state.set_mode(Mode::Silent(way));
    }

    /// Forwards so many bytes a second each way.
    pub fn slow(&self, bytes_per_second: u32) {
        self.state.set_mode(Mode::Slow(bytes_per_second));
    }

    /// The next `times` pieces of data this way that are longer than `bytes` are cut off after them, and their
    /// connection with them.
    pub fn truncate(&self, way: Way, bytes: usize, times: usize) {
        self.state.set_cut(Some(Cut {
            way,
            bytes,
            left: times,
        }));
    }

    /// Stops a connection's traffic to the server at the piece of data that holds `pattern`, on every connection where
    /// it shows up, until the hold is released or dropped. If the client goes away meanwhile, what waited is dropped.
    pub fn hold_when(&self, pattern: impl Into<Pattern>) -> Hold {
        let hold = Arc::new(HoldState::default());
        self.state.set_rule(Some(Rule::Hold {
            pattern: pattern.into(),
            hold: hold.clone(),
        }));
        Hold::new(hold)
    }

    /// The next `times` times that `pattern` goes to the server: lets the server have it and finish, lets no byte of its
    /// answer through, and cuts the connection.
    pub fn cut_on_reply_after(&self, pattern: impl Into<Pattern>, times: usize) {
        self.state.set_rule(Some(Rule::CutReply {
            pattern: pattern.into(),
            left: times,
        }));
    }

    /// How many connections `cut_on_reply_after` and `truncate` have cut.
    pub fn cuts(&self) -> usize {
        self.state.cuts.get()
    }

    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.state.open.get()
    }

    /// Connections ever accepted, refused ones among them.
    pub fn accepted(&self) -> usize {
        self.state.accepted.get()
    }

    /// How often the pattern of a hold or of a cut was seen.
    pub fn seen(&self) -> usize {
        self.state.seen.get()
    }

    /// As new: passes, no rule, no connection, counters at zero.
    pub(crate) fn reset(&self) {
        self.state.reset();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.state.cut();
    }
}

async fn accept(listener: Listener, upstream: SocketAddr, state: Arc<State>) {
    loop {
        // An accept fails when the client is gone again or descriptors are short: the next one may do.
        if let Ok((client, _)) = listener.accept().await {
            state.accepted.add();
            tokio::spawn(connection::serve(client, upstream, state.clone()));
        }
    }
}
