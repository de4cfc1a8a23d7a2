//! Loads each consumer's handler module, as `run` would.

use std::path::Path;

use crate::config::{Config, ConsumerConfig, GuestConfig};
use crate::engine::{Engine, EngineOptions, GuestEnv, NoDatabase, watch};

/// Instances a check needs room for.
const INSTANCES: u32 = 2;

/// A handler, and its digest in hexadecimal or what is wrong with it.
pub(super) struct Loaded<'c> {
    pub(super) consumer: &'c ConsumerConfig,
    pub(super) handler: &'c Path,
    pub(super) outcome: Result<String, String>,
}

/// Loads the handlers of every consumer and of the tenants that the file defines, each file once a consumer.
pub(super) async fn load_all(config: &Config) -> Vec<Loaded<'_>> {
    let engine = engine(config);
    let mut loaded: Vec<Loaded<'_>> = Vec::with_capacity(config.consumers.len());
    for consumer in &config.consumers {
        for guest in consumer.guests() {
            let handler = guest.handler.as_path();
            let is_same =
                |one: &Loaded<'_>| std::ptr::eq(one.consumer, consumer) && one.handler == handler;
            if loaded.iter().any(is_same) {
                continue;
            }
            let outcome = match &engine {
                Ok(engine) => load(engine, &consumer.name, guest).await,
                Err(text) => Err(text.clone()),
            };
            loaded.push(Loaded {
                consumer,
                handler,
                outcome,
            });
        }
    }
    loaded
}

fn engine(config: &Config) -> Result<Engine<NoDatabase>, String> {
    let guests = config.consumers.iter().flat_map(ConsumerConfig::guests);
    let memory = guests.map(|guest| guest.limits.memory).max();
    let options = EngineOptions {
        cache_dir: config.module_cache.clone(),
        max_instances: INSTANCES,
        max_memory: memory.unwrap_or_default(),
    };
    Engine::new(options).map_err(|error| error.to_string())
}

async fn load(
    engine: &Engine<NoDatabase>,
    consumer: &str,
    guest: &GuestConfig,
) -> Result<String, String> {
    let path = &guest.handler;
    let name = path.display().to_string();
    let bytes = watch::read(path).await.map_err(|error| error.to_string())?;
    let module = engine.load(&name, bytes).await;
    let module = module.map_err(|error| error.to_string())?;
    let started = engine
        .try_start(&module, &GuestEnv::of(consumer, None, guest))
        .await;
    started.map_err(|error| error.to_string())?;
    Ok(hex::encode(module.digest()))
}
