//! What a store carries: the transaction, the guest's empty WASI, and the budgets of the running call.

use std::sync::Arc;

use tidegate_core::limits::Limit;
use tidegate_core::outcome::GuestEnd;
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::ending::Stop;
use super::memory::MemoryLimit;
use super::meter::Meter;
use super::output::{Output, Stream};
use super::{Event, GuestEnv};

/// Handles (streams, pollables) a guest may hold.
const MAX_HANDLES: usize = 1024;
/// The most random bytes one call gives.
const MAX_RANDOM: u64 = 64 << 10;

/// A store's data.
pub(super) struct State<D> {
    pub(super) db: D,
    pub(super) env: Arc<GuestEnv>,
    pub(super) memory: MemoryLimit,
    pub(super) output: Output,
    pub(super) meter: Arc<Meter>,
    statements: u32,
    wasi: WasiCtx,
    table: ResourceTable,
}

impl<D> State<D> {
    pub(super) fn new(env: &Arc<GuestEnv>, db: D) -> Self {
        let output = Output::new(Arc::clone(&env.consumer), env.limits.log_bytes);
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Self {
            db,
            env: Arc::clone(env),
            memory: MemoryLimit::new(env.limits.memory),
            wasi: empty_wasi(&output),
            output,
            meter: Meter::new(),
            statements: 0,
            table,
        }
    }

    /// Gives the next call, for `event`, fresh budgets.
    pub(super) fn renew(&mut self, event: Event<'_>) {
        self.statements = 0;
        self.memory.forgive();
        self.output.renew(event);
        self.meter.reset();
    }

    /// Counts a statement; the one beyond the limit ends the guest.
    pub(super) fn count_statement(&mut self) -> wasmtime::Result<()> {
        if self.statements >= self.env.limits.statements {
            return Err(Stop(GuestEnd::Limit(Limit::Statements)).into());
        }
        self.statements += 1;
        Ok(())
    }
}

/// WASI as every toolchain imports it, with nothing behind it: no environment, no arguments, no files, no
/// network and no name look-up; clocks and random numbers are real.
fn empty_wasi(output: &Output) -> WasiCtx {
    WasiCtxBuilder::new()
        .stdout(output.stream(Stream::Stdout))
        .stderr(output.stream(Stream::Stderr))
        .max_random_size(MAX_RANDOM)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

impl<D: Send> WasiView for State<D> {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}
