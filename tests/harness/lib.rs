//! The harness: one real Kafka broker and one real PostgreSQL for a suite run, a TCP fault proxy, guest builds,
//! and the host as a child process that can be killed, stopped and read.
//!
//! A test starts with `let env = test_env("its name").await`; it then owns a database, topics and a group that no
//! other test touches. Every helper panics with a plain text when it fails: a harness has nobody to return errors to.

#![expect(
    clippy::panic,
    reason = "a helper that fails is a test that fails: it says why and panics"
)]

mod artifacts;
mod broker;
mod certs;
mod db;
mod env;
mod faults;
mod host;
mod http;
mod journal;
mod kafka;
mod ledger;
mod paths;
mod ports;
mod postgres;
mod proxy;
mod reaper;
mod secure;
mod server;
mod services;
mod wait;

pub use artifacts::{digest, guest, guest_bytes, tidegate_bin};
pub use certs::{Authority, Signed};
pub use db::Db;
pub use env::{KafkaProxy, TestEnv, test_env, test_env_on};
pub use faults::{Action, FAULTS, Fault, Point};
pub use host::{Consumer, Host, HostBuilder, HostConfig, Output, Raw, TomlValue};
pub use http::{Answer, Scrape, ask, try_ask};
pub use journal::difference;
pub use kafka::{At, Got, Kafka, OpenTx, Producer, Rec};
pub use ledger::{Ledger, Payment, expected, payments};
pub use postgres::{ServerSpec, postgres_binary};
pub use proxy::{Hold, Pattern, Proxy, Way};
pub use secure::{KAFKA_PASSWORD, Secure, secure_env, secure_postgres};
pub use server::{OwnBroker, Server};
pub use services::{Services, services};
pub use wait::{millis, secs, wait_eq, wait_for};
