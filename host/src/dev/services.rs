//! The child process: starts the services, says where they are, waits for stdin to end, takes them down.

use std::io::{Read, Write};

use clap::Args;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use tokio::sync::oneshot;

use super::postgres::Postgres;
use super::{Addresses, DevError};
use crate::signals::Signals;

/// Arguments of the hidden command `dev-services`.
#[derive(Debug, Args)]
pub struct ServicesArgs {
    /// A topic to create; may be given several times
    #[arg(long = "topic")]
    pub topics: Vec<String>,
    /// Partitions of each topic
    #[arg(long, default_value_t = 4)]
    pub partitions: i32,
}

/// Runs the services until stdin ends, or a signal comes that stops a host. Prints [`Addresses`] as one line of JSON.
///
/// # Errors
/// Services that do not start, or end by themselves.
pub fn services(args: ServicesArgs) -> Result<(), DevError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| DevError::Child(error.to_string()))?;
    runtime.block_on(serve(&args))
}

async fn serve(args: &ServicesArgs) -> Result<(), DevError> {
    let stop = stop_signal().map_err(|error| DevError::Child(error.to_string()))?;
    tokio::pin!(stop);
    let broker = broker(args)?;
    let mut postgres = tokio::select! {
        started = Postgres::start() => started?,
        () = &mut stop => return Ok(()),
    };
    let addresses = Addresses {
        bootstrap_servers: broker.bootstrap_servers(),
        postgres_url: postgres.url.clone(),
        directory: postgres.directory().to_owned(),
    };
    let outcome = match announce(&addresses) {
        Err(error) => Err(DevError::Child(error.to_string())),
        Ok(()) => tokio::select! {
            () = &mut stop => Ok(()),
            words = postgres.ended() => Err(DevError::Ended(words)),
        },
    };
    let stopped = postgres.stop().await;
    drop(broker);
    outcome.and(stopped)
}

fn broker(args: &ServicesArgs) -> Result<MockCluster<'static, DefaultProducerContext>, DevError> {
    let failed = |error: rdkafka::error::KafkaError| DevError::Broker(error.to_string());
    let broker = MockCluster::new(1).map_err(failed)?;
    for topic in &args.topics {
        broker
            .create_topic(topic, args.partitions, 1)
            .map_err(failed)?;
    }
    Ok(broker)
}

fn announce(addresses: &Addresses) -> std::io::Result<()> {
    let line = serde_json::to_string(addresses)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Resolves once stdin has ended or somebody asks us to stop.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut signals = Signals::listen()?;
    let (ended, stdin_ended) = oneshot::channel();
    // Not joined: a blocking read of stdin cannot be called off, and ends with the process at the latest.
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(move || {
            let mut buffer = [0; 64];
            let mut stdin = std::io::stdin().lock();
            while stdin.read(&mut buffer).is_ok_and(|n| n > 0) {}
            ended.send(()).unwrap_or_default();
        })?;
    Ok(async move {
        tokio::select! {
            _ = stdin_ended => {}
            () = signals.next() => {}
        }
    })
}
