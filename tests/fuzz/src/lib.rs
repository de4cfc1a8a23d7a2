//! What reads bytes from outside, fed with whatever may come.
//!
//! A target is a function that takes any bytes and panics where a promise is broken. `make fuzz` drives them with
//! libFuzzer, the suite replays `corpus/` in each run.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a target fails by panicking, as a test does"
)]

mod config;
mod event_ids;
mod input;
mod letters;
mod tenants;
mod ttls;
mod values;
mod wall;
mod wire;

/// A function that holds for any bytes.
pub type Target = fn(&[u8]);

/// Every target by the name of its corpus.
pub const TARGETS: [(&str, Target); 10] = [
    ("wall", wall::wall),
    ("params", values::params),
    ("rows", values::rows),
    ("headers", letters::headers),
    ("event_id", event_ids::event_id),
    ("ttl", ttls::ttl),
    ("tenant", tenants::tenant),
    ("config", config::config),
    ("url", config::url),
    ("wire", wire::wire),
];
