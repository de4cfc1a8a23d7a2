//! Connections: bounded in number ([`Seats`]), each in the time for a request's head and from one request to the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::seats::{Seat, Seats};

/// How long the head of a request may take; a connection that is idle ends by it too.
const HEAD: Duration = Duration::from_secs(3);
/// How long a connection may take from one request to the next, with the answer in between.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an answer under way may take once the server ends.
const LAST: Duration = Duration::from_secs(1);
/// How long to wait where the system gives no connection: it is short of descriptors.
const SHORT: Duration = Duration::from_millis(100);

/// Serves `router` to whoever connects, until `stop`; then answers under way are given.
pub(super) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let (seats, mut connections) = (Arc::<Seats>::default(), JoinSet::new());
    tokio::select! {
        () = stop.cancelled() => {}
        () = accept(&listener, &seats, &mut connections, (&router, &stop)) => {}
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn accept(
    listener: &TcpListener,
    seats: &Arc<Seats>,
    connections: &mut JoinSet<()>,
    (router, stop): (&Router, &CancellationToken),
) {
    loop {
        let accepted = tokio::select! {
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, address)) = accepted else {
            sleep(SHORT).await;
            continue;
        };
        let seat = Arc::new(seats.take(address.ip()).await);
        connections.spawn(connection(stream, seat, router.clone(), stop.clone()));
    }
}

/// One connection to its end. What is wrong with it is its client's business.
async fn connection(stream: TcpStream, seat: Arc<Seat>, router: Router, stop: CancellationToken) {
    let (asking, router) = (Arc::clone(&seat), TowerToHyperService::new(router));
    let service = service_fn(move |request| {
        asking.asks();
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut last = None;
    while let Some(until) = until(&seat, last) {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = seat.lost.cancelled() => return,
            () = sleep_until(until.into()) => {}
            () = stop.cancelled(), if last.is_none() => {
                connection.as_mut().graceful_shutdown();
                last = Some(Instant::now() + LAST);
            }
        }
    }
}

/// Until when a connection may go on; none if its time is over, or its place somebody else's.
fn until(seat: &Seat, last: Option<Instant>) -> Option<Instant> {
    let patient = seat.since()? + PATIENCE;
    let until = last.map_or(patient, |last| last.min(patient));
    (until > Instant::now()).then_some(until)
}
