//! Tidegate: a WebAssembly plugin host for Kafka consumers.

pub mod config;
pub mod engine;
pub mod inbox;
pub mod kafka;
