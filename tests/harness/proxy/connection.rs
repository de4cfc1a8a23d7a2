//! One proxied connection: two directions, and the faults put upon them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;

use super::hold::HoldState;
use super::pattern::Matcher;
use super::state::{Fate, State, Way};

/// How long a server may take to finish what it got before its reply is cut.
const SERVER_FINISH: Duration = Duration::from_secs(10);

/// The most that waits in front of a hold, bytes.
const HELD_MAX: usize = 32 << 20;

/// What the two directions of one connection tell each other.
#[derive(Default)]
struct Link {
    /// Answers are swallowed from now on.
    mute: AtomicBool,
    /// The server has closed its side.
    server_done: Notify,
}

/// Serves one client until either side, the mode or a rule ends it.
pub(super) async fn serve(client: TcpStream, upstream: SocketAddr, state: Arc<State>) {
    let ended = state.ended();
    if state.refuses() {
        return;
    }
    state.open.add();
    tokio::select! {
        () = ended => {}
        () = forward(client, upstream, &state) => {}
    }
    state.open.take();
}

async fn forward(client: TcpStream, upstream: SocketAddr, state: &State) {
    let Ok(server) = TcpStream::connect(upstream).await else {
        return;
    };
    for socket in [&client, &server] {
        // Only latency is at stake.
        let _best_effort = socket.set_nodelay(true);
    }
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let link = Link::default();
    let mut up = std::pin::pin!(to_server(client_read, server_write, state, &link));
    let mut down = std::pin::pin!(to_client(server_read, client_write, state, &link));
    tokio::select! {
        // A client that half-closed still gets its answers.
        end = &mut up => if end == End::HalfClosed { down.await },
        () = &mut down => {
            // What the client still sends has nowhere to go, but a pending cut is let finish.
            if link.mute.load(Ordering::SeqCst) { up.await; }
        }
    }
}

#[derive(PartialEq)]
enum End {
    HalfClosed,
    Cut,
}

async fn to_server(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    state: &State,
    link: &Link,
) -> End {
    let mut matcher = Matcher::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = client.read(&mut buffer).await.unwrap_or(0);
        state.gate(Way::ToServer, n).await;
        if n == 0 {
            // The server may have closed already.
            let _closed = server.shutdown().await;
            return End::HalfClosed;
        }
        if let Some(part) = state.cut_off(Way::ToServer, n) {
            // The server may have closed already.
            let _last_words = server.write_all(&buffer[..part]).await;
            return End::Cut;
        }
        let data = &buffer[..n];
        let sent = match state.judge(&mut matcher, data) {
            Fate::Forward => server.write_all(data).await.is_ok(),
            Fate::Hold(hold) => match held(&mut client, data, &hold).await {
                Some(waited) => {
                    // Later requests in the backlog keep the framing right; they are not judged again.
                    matcher.feed(&waited[n..], None);
                    server.write_all(&waited).await.is_ok()
                }
                None => return End::Cut,
            },
            Fate::CutReply => {
                cut_reply(&mut server, data, link).await;
                state.cuts.add();
                return End::Cut;
            }
        };
        if !sent {
            return End::Cut;
        }
    }
}

/// Keeps what the client sends until the release; nothing if the client goes away first.
async fn held(client: &mut OwnedReadHalf, data: &[u8], hold: &HoldState) -> Option<Vec<u8>> {
    let mut waited = data.to_vec();
    let mut buffer = vec![0; 64 << 10];
    hold.caught();
    loop {
        tokio::select! {
            biased;
            () = hold.released() => return Some(waited),
            read = client.read(&mut buffer), if waited.len() < HELD_MAX => match read {
                Ok(n) if n > 0 => waited.extend_from_slice(&buffer[..n]),
                _ => return None,
            },
        }
    }
}

/// Gives the server the data and its end of input, so that it finishes all of it, and swallows its answers.
async fn cut_reply(server: &mut OwnedWriteHalf, data: &[u8], link: &Link) {
    link.mute.store(true, Ordering::SeqCst);
    if server.write_all(data).await.is_ok() && server.shutdown().await.is_ok() {
        let done = link.server_done.notified();
        let _late = tokio::time::timeout(SERVER_FINISH, done).await;
    }
}

async fn to_client(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    state: &State,
    link: &Link,
) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = server.read(&mut buffer).await.unwrap_or(0);
        if n == 0 {
            break;
        }
        state.gate(Way::ToClient, n).await;
        if link.mute.load(Ordering::SeqCst) {
            continue;
        }
        let part = state.cut_off(Way::ToClient, n);
        let sent = client.write_all(&buffer[..part.unwrap_or(n)]).await;
        if sent.is_err() || part.is_some() {
            break;
        }
    }
    link.server_done.notify_one();
    if !link.mute.load(Ordering::SeqCst) {
        // The client may have closed already.
        let _closed = client.shutdown().await;
    }
}
