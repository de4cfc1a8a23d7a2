//! An instance: one live store. It lives no longer than its transaction, and not past a trap.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::limits::Limit;
use tidegate_core::outcome::GuestEnd;
use tidegate_core::record::{Header, Record};
use tidegate_core::sql::GuestSql;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::{PoolConcurrencyLimitError, Store, StoreContextMut, UpdateDeadline};

use super::bindings::exports::tidegate::handler::message_handler as wit;
use super::bindings::tidegate::handler::types;
use super::bindings::{Handler, HandlerPre};
use super::config::TICK;
use super::ending::{self, Stop};
use super::meter::{Meter, Metered};
use super::place::Placed;
use super::state::State;
use super::{GuestEnv, Module, NoInstance, convert};
use crate::turnstile::Turnstile;

/// Beside a statement's parameters, what one host call may carry into the host (log lines, for one).
const HOST_CALL_BYTES: usize = 8 << 20;

/// What a handler is called with, beside what its [`GuestEnv`] says.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The event id.
    pub id: &'a str,
    /// The tenant, where there are tenants.
    pub tenant: Option<&'a str>,
    /// The record that carries it.
    pub record: &'a Record,
    /// From 1: how often this record has been handed to a handler.
    pub attempt: u32,
    /// From 0: how often an operator has replayed it.
    pub replay_round: u32,
}

/// A live store of a module and the transaction that it writes through.
pub struct Instance<D: GuestSql> {
    // The store gives its place in the pool back before `_slot` says that there is one: fields drop in order.
    store: Store<State<D>>,
    handler: Handler,
    _slot: OwnedSemaphorePermit,
    _module: Arc<Module<D>>,
    env: Arc<GuestEnv>,
    calls: u32,
    /// CPU time of the start and of all calls.
    cpu: Duration,
    /// Trapped, ended, or left in the middle of a call.
    dead: bool,
}

impl<D: GuestSql> Instance<D> {
    pub(super) async fn start(
        module: &Arc<Module<D>>,
        env: &Arc<GuestEnv>,
        db: D,
        slot: OwnedSemaphorePermit,
    ) -> Result<Self, (D, NoInstance)> {
        let (store, handler) = launch(module.pre(), module.places(), env, db).await?;
        let cpu = store.data().meter.polled();
        Ok(Self {
            store,
            handler,
            cpu,
            _slot: slot,
            _module: Arc::clone(module),
            env: Arc::clone(env),
            calls: 0,
            dead: false,
        })
    }

    /// Hands `event` to the handler, with fresh budgets. Never panics; an instance whose call was dropped
    /// half-way, trapped or ran into a limit answers with a trap.
    pub async fn call(&mut self, event: Event<'_>) -> GuestEnd {
        if self.dead {
            return GuestEnd::Trap {
                message: "the instance had ended in an earlier call".into(),
            };
        }
        self.dead = true;
        self.calls = self.calls.saturating_add(1);
        self.store.data_mut().renew(event);
        self.store.set_epoch_deadline(1);
        let end = self.run(event).await;
        self.cpu += self.store.data().meter.polled();
        self.store.data().output.flush();
        if let GuestEnd::Skip(reason) = &end {
            self.store.data().output.skipped(reason);
        }
        self.dead = matches!(
            end,
            GuestEnd::Trap { .. } | GuestEnd::Limit(_) | GuestEnd::Unheard
        );
        end
    }

    async fn run(&mut self, event: Event<'_>) -> GuestEnd {
        let headers: Vec<_> = event.record.headers.iter().map(header).collect();
        let event = arguments(&self.env, event, &headers);
        let meter: Arc<Meter> = Arc::clone(&self.store.data().meter);
        let place = Arc::clone(&self.store.data().place);
        let call = self
            .handler
            .tidegate_handler_message_handler()
            .call_handle(&mut self.store, event);
        let wall = self.env.limits.wall;
        match Placed::new(place, wall, Metered::new(meter, call)).await {
            Ok(Ok(returned)) => convert::end(returned),
            Ok(Err(error)) => ending::of(&error, self.store.data()),
            Err(_) => GuestEnd::Limit(Limit::Wall),
        }
    }

    /// The transaction.
    pub fn db(&mut self) -> &mut D {
        &mut self.store.data_mut().db
    }

    /// How many lines were dropped in the last call, and for which limit.
    pub fn dropped(&self) -> Option<(&'static str, u64)> {
        self.store.data().output.dropped()
    }

    /// What it has used so far: CPU time, and bytes of linear memory.
    pub fn used(&self) -> (Duration, usize) {
        (self.cpu, self.store.data().space.used())
    }

    /// Whether another instance must take the next record: this one trapped or ran into a limit, was left in the
    /// middle of a call, has had all its calls, or uses more than half of its memory.
    pub fn is_spent(&self) -> bool {
        self.dead || self.calls >= self.env.limits.max_calls || self.store.data().space.high()
    }

    /// Drops the instance and hands the transaction back.
    pub fn into_db(self) -> D {
        self.store.into_data().db
    }
}

/// Makes a store, and in it an instance, under the limits.
pub(super) async fn launch<D: GuestSql>(
    pre: &HandlerPre<State<D>>,
    places: &Arc<Turnstile>,
    env: &Arc<GuestEnv>,
    db: D,
) -> Result<(Store<State<D>>, Handler), (D, NoInstance)> {
    let mut store = Store::new(pre.engine(), State::new(env, places, db));
    arm(&mut store);
    let meter = Arc::clone(&store.data().meter);
    let (place, wall) = (Arc::clone(&store.data().place), env.limits.wall);
    let started = Metered::new(meter, pre.instantiate_async(&mut store));
    let started = Placed::new(place, wall, started).await;
    store.data().output.flush();
    let why = match started {
        Ok(Ok(handler)) => return Ok((store, handler)),
        Ok(Err(error)) => no_instance(&error, store.data()),
        Err(_) => NoInstance::Guest(GuestEnd::Limit(Limit::Wall)),
    };
    Err((store.into_data().db, why))
}

/// Puts the limits in force.
fn arm<D: GuestSql>(store: &mut Store<State<D>>) {
    let limits = &store.data().env.limits;
    let fuel = limits.parameter_bytes.saturating_mul(2);
    store.set_hostcall_fuel(fuel.saturating_add(HOST_CALL_BYTES));
    store.limiter(|state| &mut state.space);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(on_tick);
    store.data().meter.reset();
}

/// A tick while the guest computes: within its budget it gives way to others, beyond it it is ended.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature that Wasmtime calls"
)]
fn on_tick<D: GuestSql>(store: StoreContextMut<'_, State<D>>) -> wasmtime::Result<UpdateDeadline> {
    let state = store.data();
    if state.meter.spent() > state.env.limits.cpu {
        return Err(Stop(GuestEnd::Limit(Limit::Cpu)).into());
    }
    // The epoch also advances while the guest waits; a guest that has just been resumed keeps its turn.
    if state.meter.running() < TICK / 2 {
        return Ok(UpdateDeadline::Continue(1));
    }
    let give_way = Box::pin(tokio::task::yield_now());
    Ok(UpdateDeadline::YieldCustom(1, give_way))
}

fn no_instance<D>(error: &wasmtime::Error, state: &State<D>) -> NoInstance {
    if error.is::<PoolConcurrencyLimitError>() {
        return NoInstance::Busy;
    }
    NoInstance::Guest(ending::of(error, state))
}

fn header(header: &Header) -> types::Header<'_> {
    types::Header {
        name: &header.name,
        value: header.value.as_deref(),
    }
}

fn arguments<'a>(
    env: &'a GuestEnv,
    event: Event<'a>,
    headers: &'a [types::Header<'a>],
) -> wit::Event<'a> {
    let record = event.record;
    wit::Event {
        id: event.id,
        consumer: &env.consumer,
        tenant: event.tenant,
        topic: &record.source.topic,
        partition: record.source.partition,
        offset: record.offset,
        key: record.key.as_deref(),
        value: record.value.as_deref(),
        headers,
        timestamp_ms: record.timestamp.millis(),
        attempt: event.attempt,
        replay_round: event.replay_round,
    }
}
