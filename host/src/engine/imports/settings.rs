//! `settings`: what `[consumer.settings]` says.

use crate::engine::bindings::tidegate::handler::settings::Host;
use crate::engine::state::State;

impl<D: Send> Host for State<D> {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.env.settings.get(&key).cloned())
    }
}
