//! Loads each consumer's handler module, as `run` would.

use crate::config::{Config, ConsumerConfig};
use crate::engine::{Engine, EngineOptions, GuestEnv, NoDatabase, watch};

/// Instances a check needs room for.
const INSTANCES: u32 = 2;

/// Loads the handler of every consumer: its digest in hexadecimal, or what is wrong with it.
pub(super) async fn load_all(config: &Config) -> Vec<(&ConsumerConfig, Result<String, String>)> {
    let engine = engine(config);
    let mut outcomes = Vec::with_capacity(config.consumers.len());
    for consumer in &config.consumers {
        let outcome = match &engine {
            Ok(engine) => load(engine, consumer).await,
            Err(text) => Err(text.clone()),
        };
        outcomes.push((consumer, outcome));
    }
    outcomes
}

fn engine(config: &Config) -> Result<Engine<NoDatabase>, String> {
    let memory = config
        .consumers
        .iter()
        .map(|consumer| consumer.guest.limits.memory)
        .max();
    let options = EngineOptions {
        cache_dir: config.module_cache.clone(),
        max_instances: INSTANCES,
        max_memory: memory.unwrap_or_default(),
    };
    Engine::new(options).map_err(|error| error.to_string())
}

async fn load(engine: &Engine<NoDatabase>, consumer: &ConsumerConfig) -> Result<String, String> {
    let path = &consumer.guest.handler;
    let name = path.display().to_string();
    let bytes = watch::read(path).await.map_err(|error| error.to_string())?;
    let module = engine.load(&name, bytes).await;
    let module = module.map_err(|error| error.to_string())?;
    let started = engine.try_start(&module, &GuestEnv::of(consumer)).await;
    started.map_err(|error| error.to_string())?;
    Ok(hex::encode(module.digest()))
}
