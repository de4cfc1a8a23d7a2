//! Metrics and health over HTTP, for who watches this host. It reads and changes nothing.

mod gauges;
mod health;
mod listener;
mod seats;
mod view;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio_util::sync::CancellationToken;

pub use view::{Live, View};

use crate::worker::readiness::Finding;

/// The text format's type, by version.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The most problems that are named in an answer.
const NAMED: usize = 50;
const JSON: &str = "application/json";

/// A server that listens and serves nothing yet.
pub struct Server {
    listener: tokio::net::TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens at `address`.
    ///
    /// # Errors
    /// The address is taken, or not this machine's; in words, with the key to change.
    pub async fn bind(address: SocketAddr) -> Result<Self, String> {
        let refused = |error: std::io::Error| {
            format!(
                "[host] http = \"{address}\" cannot be listened at: {error}; give each host of a machine another \
                 port, or set http = \"off\""
            )
        };
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener = listener.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address })
    }

    /// Serves until `stop`; then requests under way are answered, for a second at most.
    pub async fn serve(self, view: Arc<View>, stop: CancellationToken) {
        tracing::info!(address = %self.address, "metrics and health are served over HTTP");
        listener::serve(self.listener, router(view), stop).await;
    }
}

fn router(view: Arc<View>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/startupz", get(startupz))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .with_state(view)
}

async fn metrics(State(view): State<Arc<View>>) -> Response {
    answer(StatusCode::OK, PROMETHEUS, view.render())
}

async fn livez(State(view): State<Arc<View>>) -> Response {
    let problems = view.not_alive();
    report("alive", &problems)
}

async fn readyz(State(view): State<Arc<View>>) -> Response {
    let problems = view.not_ready();
    report("ready", &problems)
}

async fn startupz(State(view): State<Arc<View>>) -> Response {
    let problems = view.not_started();
    report("started", &problems)
}

async fn unknown() -> Response {
    let text = "not here; there are /metrics, /livez, /readyz and /startupz\n";
    (StatusCode::NOT_FOUND, text).into_response()
}

async fn wrong_method() -> Response {
    let text = "only GET and HEAD are answered\n";
    (StatusCode::METHOD_NOT_ALLOWED, text).into_response()
}

/// What is wrong, as JSON, in words and by kind; nothing wrong is 200.
fn report(what: &str, findings: &[Finding]) -> Response {
    let (fine, named) = (findings.is_empty(), findings.iter().take(NAMED));
    let status = match fine {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    let more = findings.len().checked_sub(NAMED).filter(|more| *more > 0);
    let problems = named.map(|finding| finding.words.clone());
    let problems = problems.chain(more.map(|more| format!("and {more} more")));
    let kinds: BTreeSet<_> = findings.iter().map(|f| f.problem.name()).collect();
    let problems: Vec<_> = problems.collect();
    let body = serde_json::json!({ what: fine, "problems": problems, "kinds": kinds });
    answer(status, JSON, format!("{body}\n"))
}

fn answer(status: StatusCode, kind: &'static str, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
