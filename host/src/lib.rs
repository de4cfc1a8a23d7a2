//! Tidegate: a WebAssembly plugin host for Kafka consumers.

pub mod app;
pub mod cli;
pub mod config;
pub mod dev;
pub mod engine;
pub mod faults;
pub mod http;
pub mod inbox;
pub mod kafka;
pub mod meters;
pub mod signals;
pub mod telemetry;
pub mod turnstile;
pub mod worker;
