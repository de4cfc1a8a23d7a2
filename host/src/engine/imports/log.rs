//! `log`: a guest's own log lines, under the record's budget.

use tracing::Level;

use crate::engine::bindings::tidegate::handler::log::{self, Host};
use crate::engine::state::State;

impl<D: Send> Host for State<D> {
    async fn write(
        &mut self,
        level: log::Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        self.output.log(tracing_level(level), &message, &fields);
        Ok(())
    }
}

fn tracing_level(level: log::Level) -> Level {
    match level {
        log::Level::Trace => Level::TRACE,
        log::Level::Debug => Level::DEBUG,
        log::Level::Info => Level::INFO,
        log::Level::Warn => Level::WARN,
        log::Level::Error => Level::ERROR,
    }
}
