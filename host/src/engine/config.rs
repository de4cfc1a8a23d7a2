//! How Wasmtime is configured, and every number that bounds the pool of instances.

use std::time::Duration;

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::EngineError;

/// Between two ticks of the epoch: the grain of the CPU limit, and the longest a guest holds a worker thread.
pub(super) const TICK: Duration = Duration::from_millis(10);
/// How long a batch waits for a place in the pool.
pub(super) const SLOT_WAIT: Duration = Duration::from_secs(30);
/// The most elements of one table.
const TABLE_ELEMENTS: usize = 20_000;
/// The most core instances of one instance (Python's interpreter comes in 14 parts).
const CORE_INSTANCES: u32 = 64;
/// Places in the pool beside those of batches, for modules that are tried: as many as the largest module takes.
pub(super) const TRIALS: u32 = 2;
/// How long a module waits until others have been tried: two that sleep through the longest wall limit of most.
pub(super) const TRIAL_WAIT: Duration = Duration::from_secs(120);
/// Linear memories of one instance.
pub(super) const MEMORIES: u32 = 4;
/// Tables of one instance.
pub(super) const TABLES: u32 = 8;
/// Linear memories that one place in the pool holds.
pub(super) const MEMORIES_PER_SLOT: u32 = 2;
/// Tables that one place in the pool holds.
pub(super) const TABLES_PER_SLOT: u32 = 4;

const CORE_INSTANCES_PER_SLOT: u32 = 24;
const INSTANCE_SIZE: usize = 10 << 20;
const KEEP_RESIDENT: usize = 512 << 10;
const KEEP_RESIDENT_TABLE: usize = 64 << 10;
const WASM_STACK: usize = 512 << 10;
/// Host functions run on the guest's stack, the database driver's code among them.
const ASYNC_STACK: usize = 2 << 20;
/// Wasmtime's default reservation and guards for one linear memory.
const RESERVED_GIB_PER_MEMORY: u64 = 6;

/// Wasmtime, configured.
pub(super) fn engine(instances: u32, max_memory: usize) -> Result<Engine, EngineError> {
    let instances = instances.saturating_add(TRIALS);
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .concurrency_support(false)
        .epoch_interruption(true)
        .memory_init_cow(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(ASYNC_STACK)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(
            instances, max_memory,
        )));
    Engine::new(&config).map_err(|e| EngineError::AddressSpace {
        instances,
        gib: u64::from(instances) * u64::from(MEMORIES_PER_SLOT) * RESERVED_GIB_PER_MEMORY,
        reason: format!("{e:#}"),
    })
}

fn pool(instances: u32, max_memory: usize) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_stacks(instances)
        .total_core_instances(instances.saturating_mul(CORE_INSTANCES_PER_SLOT))
        .total_memories(instances.saturating_mul(MEMORIES_PER_SLOT))
        .total_tables(instances.saturating_mul(TABLES_PER_SLOT))
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .table_elements(TABLE_ELEMENTS)
        .max_memory_size(max_memory)
        .max_component_instance_size(INSTANCE_SIZE)
        .max_core_instance_size(INSTANCE_SIZE)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(KEEP_RESIDENT_TABLE);
    pool
}
