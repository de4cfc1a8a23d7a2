//! The host as it is watched from outside: its metrics and its health, unless they are off.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{AppError, setup, task};
use crate::config::Config;
use crate::http::{Live, Server, View};
use crate::inbox::Inbox;
use crate::meters::Registry;
use crate::worker::lag::watch_ends;
use crate::worker::shared::Shared;
use crate::worker::survey::Survey;

/// How often observations are sorted into their buckets, whether or not somebody scrapes.
const UPKEEP: Duration = Duration::from_secs(5);

type Tasks = JoinSet<Result<(), String>>;

/// What is shown, if anything is.
pub(super) struct Watched {
    pub(super) registry: Registry,
    view: Option<Arc<View>>,
}

impl Watched {
    /// Listens where `config` says and serves what there is to see of a host that starts.
    pub(super) async fn start(
        config: &Config,
        tasks: &mut Tasks,
        stop: &CancellationToken,
    ) -> Result<Self, AppError> {
        let Some(address) = config.http else {
            return Ok(Self {
                registry: Registry::off(),
                view: None,
            });
        };
        let registry = Registry::new().map_err(setup)?;
        let server = Server::bind(address).await.map_err(setup)?;
        let view = Arc::new(View::new(registry.clone()));
        tasks.spawn(task(server.serve(Arc::clone(&view), stop.clone())));
        tasks.spawn(task(upkeep(registry.clone(), stop.clone())));
        Ok(Self {
            registry,
            view: Some(view),
        })
    }

    /// Shows the consumers, and keeps known what only Kafka and the database know of them.
    pub(super) fn consumers(
        &self,
        inbox: &Inbox,
        consumers: &[Arc<Shared>],
        tasks: &mut Tasks,
        stop: &CancellationToken,
    ) {
        let Some(view) = &self.view else {
            return;
        };
        for shared in consumers {
            tasks.spawn(task(watch_ends(Arc::clone(shared), stop.clone())));
        }
        let survey = Arc::<Survey>::default();
        let names = consumers.iter().map(|s| s.name.to_string()).collect();
        let asking = Arc::clone(&survey).run(inbox.clone(), names, stop.clone());
        tasks.spawn(task(asking));
        view.consumes(Live {
            consumers: consumers.to_vec(),
            inbox: inbox.clone(),
            survey,
        });
    }
}

async fn upkeep(registry: Registry, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(UPKEEP) => registry.upkeep(),
        }
    }
}
