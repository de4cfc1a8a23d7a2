//! The host functions, one interface a file.

mod db;
mod log;
mod settings;

use super::bindings::tidegate::handler::types;
use super::state::State;

impl<D: Send> types::Host for State<D> {}
