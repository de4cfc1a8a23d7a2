//! The servers that all tests of a run share, started once, on a runtime of their own.

use std::net::TcpListener;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;

use crate::broker::Broker;
use crate::ports;
use crate::postgres::{Postgres, ServerSpec};
use crate::proxy::Proxy;

/// How many tests can be behind a Kafka proxy at the same time; others wait for their turn.
const KAFKA_PROXIES: usize = 12;

/// What the run's tests share: addresses, never connections.
pub struct Services {
    /// `127.0.0.1:port` of the broker.
    pub kafka: String,
    /// Port of PostgreSQL on 127.0.0.1, user `postgres`, no password.
    pub pg_port: u16,
    pub(crate) proxies: ProxyPool,
}

/// Proxies whose addresses the broker advertises, one listener of the broker each.
pub(crate) struct ProxyPool {
    pub(crate) turns: Arc<Semaphore>,
    idle: Mutex<Vec<Proxy>>,
}

impl ProxyPool {
    /// The holder of a turn takes a proxy.
    pub(crate) fn take(&self) -> Proxy {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        idle.unwrap_or_else(|| panic!("a turn without an idle Kafka proxy"))
    }

    /// Gives it back before its turn.
    pub(crate) fn put(&self, proxy: Proxy) {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(proxy);
    }
}

/// The harness's own runtime: proxies and clean-up live here, whatever becomes of a test's runtime.
pub(crate) fn runtime() -> &'static Handle {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let build = || {
        let built = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("harness")
            .enable_all()
            .build();
        built.unwrap_or_else(|e| panic!("cannot start the harness's runtime: {e}"))
    };
    RUNTIME.get_or_init(build).handle()
}

/// The run's servers, started at the first call. Blocks while they start; not for a runtime's thread.
pub fn services() -> &'static Services {
    static SERVICES: OnceLock<Result<Services, String>> = OnceLock::new();
    match SERVICES.get_or_init(start) {
        Ok(services) => services,
        Err(e) => panic!("the tests' servers did not start: {e}"),
    }
}

fn start() -> Result<Services, String> {
    let fronts: Vec<TcpListener> = (0..KAFKA_PROXIES).map(|_| ports::reserve()).collect();
    let postgres = std::thread::spawn(|| {
        Postgres::start(&ServerSpec {
            name: "postgres".to_owned(),
            ..ServerSpec::default()
        })
    });
    let broker = Broker::start("kafka", &fronts.iter().map(ports::port).collect::<Vec<_>>())?;
    let postgres = postgres
        .join()
        .map_err(|_| "starting PostgreSQL panicked".to_owned())??;
    let idle = fronts
        .into_iter()
        .zip(&broker.behind)
        .map(|(front, port)| Proxy::on(front, ([127, 0, 0, 1], *port).into()))
        .collect();
    Ok(Services {
        kafka: format!("127.0.0.1:{}", broker.port),
        pg_port: postgres.port,
        proxies: ProxyPool {
            turns: Arc::new(Semaphore::new(KAFKA_PROXIES)),
            idle: Mutex::new(idle),
        },
    })
}
