//! What a store carries: the transaction, the guest's empty WASI, and the budgets of the running call.

use std::sync::Arc;

use tidegate_core::budget::Budget;
use tidegate_core::limits::Limit;
use tidegate_core::outcome::GuestEnd;
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxView};

use super::ending::Stop;
use super::memory::Space;
use super::meter::Meter;
use super::output::Output;
use super::place::Place;
use super::{Event, GuestEnv, wasi};
use crate::turnstile::Turnstile;

/// Handles (streams, pollables) a guest may hold.
const MAX_HANDLES: usize = 1024;

/// A store's data.
pub(super) struct State<D> {
    pub(super) db: D,
    pub(super) env: Arc<GuestEnv>,
    pub(super) space: Space,
    pub(super) output: Output,
    pub(super) meter: Arc<Meter>,
    /// Kept from one call to the next.
    pub(super) place: Arc<Place>,
    pub(super) budget: Budget,
    wasi: WasiCtx,
    table: ResourceTable,
}

impl<D> State<D> {
    pub(super) fn new(env: &Arc<GuestEnv>, places: &Arc<Turnstile>, db: D) -> Self {
        let output = Output::new(Arc::clone(&env.consumer), &env.limits);
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Self {
            db,
            env: Arc::clone(env),
            space: Space::new(&env.limits),
            wasi: wasi::context(&output, &env.limits),
            output,
            meter: Meter::new(),
            place: Place::new(places, env),
            budget: Budget::default(),
            table,
        }
    }

    /// Gives the next call, for `event`, fresh budgets.
    pub(super) fn renew(&mut self, event: Event<'_>) {
        self.budget = Budget::default();
        self.space.forgive();
        self.output.renew(event);
        self.meter.reset();
    }

    pub(super) fn wasi_view(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

/// Ends the guest for a limit.
pub(super) fn stop(limit: Limit) -> wasmtime::Error {
    Stop(GuestEnd::Limit(limit)).into()
}
