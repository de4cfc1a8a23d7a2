//! The host as a real child process.

mod cli;
mod config;
mod process;
mod toml;

pub use cli::Output;
pub(crate) use cli::run_cli;
pub use config::{Consumer, HostConfig};
pub(crate) use process::write_config;
pub use process::{Host, HostBuilder};
pub use toml::{Raw, TomlValue};
