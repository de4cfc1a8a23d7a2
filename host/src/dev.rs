//! `tidegate dev`: a throw-away PostgreSQL and a mock broker in a child process of our own.
//!
//! The child's stdin is a pipe that the parent holds. However the parent ends, the pipe ends with it, and the
//! child stops PostgreSQL, removes its directory and exits: nothing is left behind.

mod binaries;
mod child;
mod error;
mod postgres;
mod services;

pub use child::Services;
pub use error::DevError;
pub use postgres::execute;
pub use services::{ServicesArgs, services};

use serde::{Deserialize, Serialize};

use crate::config::Config;

/// Where the services of `dev` are reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Addresses {
    /// The mock broker.
    pub bootstrap_servers: String,
    /// The throw-away database, with its password.
    pub postgres_url: String,
    /// The directory that holds it.
    pub directory: std::path::PathBuf,
}

/// Options that only make sense with the broker they were written for. The mock broker takes seconds to let a
/// member in: a shorter session would end before it began.
const FOREIGN_OPTIONS: [&str; 5] = ["security.", "sasl.", "ssl.", "session.", "heartbeat."];

impl Addresses {
    /// Points `config` at the services.
    pub fn apply(&self, config: &mut Config) {
        config
            .kafka
            .bootstrap_servers
            .clone_from(&self.bootstrap_servers);
        config.postgres.url.clone_from(&self.postgres_url);
        config.postgres.password = None;
        let foreign = |name: &str| {
            FOREIGN_OPTIONS
                .iter()
                .any(|prefix| name.starts_with(prefix))
        };
        config.kafka.librdkafka.retain(|name, _| !foreign(name));
    }
}

/// The topics that the file's consumers need, and their dead letter topics.
pub fn topics(config: &Config) -> Vec<String> {
    let consumers = config.consumers.iter();
    let mut topics: Vec<String> = consumers
        .flat_map(|consumer| consumer.topics.iter().chain(&consumer.dead_letter_topic))
        .cloned()
        .collect();
    topics.sort();
    topics.dedup();
    topics
}
