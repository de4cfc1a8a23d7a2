//! WASI as every toolchain imports it, with nothing behind it: no environment, no arguments, no files, no network and no
//! name look-up. Clocks are real but coarse, random numbers real but counted.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tidegate_core::limits::GuestLimits;
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::random::WasiRandomView;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder, WasiView};

use super::output::{Output, Stream};
use super::state::{State, stop};

/// What clocks are rounded down to: finer ones measure what other guests do to the machine's caches.
const RESOLUTION: Duration = Duration::from_millis(1);
/// Bytes of `insecure-seed`.
const SEED: u64 = 16;
/// Bytes of a random number.
const NUMBER: u64 = 8;

/// Links everything that [`super::inspect`] lets a module import from WASI; the random numbers are our own.
pub(super) fn link<D: Send + 'static>(linker: &mut Linker<State<D>>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    random::add_to_linker::<_, HasSelf<State<D>>>(linker, |state| state)?;
    insecure::add_to_linker::<_, HasSelf<State<D>>>(linker, |state| state)?;
    insecure_seed::add_to_linker::<_, HasSelf<State<D>>>(linker, |state| state)?;
    linker.allow_shadowing(false);
    Ok(())
}

/// A context that holds nothing but the guest's own output.
pub(super) fn context(output: &Output, limits: &GuestLimits) -> WasiCtx {
    WasiCtxBuilder::new()
        .stdout(output.stream(Stream::Stdout))
        .stderr(output.stream(Stream::Stderr))
        .max_random_size(limits.random_bytes as u64)
        .wall_clock(Coarse::default())
        .monotonic_clock(Coarse::default())
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

/// Both of WASI's clocks, at [`RESOLUTION`].
struct Coarse(Instant);

impl Default for Coarse {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl HostWallClock for Coarse {
    fn resolution(&self) -> Duration {
        RESOLUTION
    }

    fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        coarse(now.unwrap_or_default())
    }
}

impl HostMonotonicClock for Coarse {
    fn resolution(&self) -> u64 {
        nanoseconds(RESOLUTION)
    }

    fn now(&self) -> u64 {
        nanoseconds(coarse(self.0.elapsed()))
    }
}

fn coarse(time: Duration) -> Duration {
    let rest = time.subsec_nanos() % RESOLUTION.subsec_nanos();
    time.saturating_sub(Duration::from_nanos(rest.into()))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl<D: Send + 'static> State<D> {
    fn spend_random(&mut self, bytes: u64) -> wasmtime::Result<()> {
        let spent = self.budget.random(bytes, &self.env.limits);
        spent.map_err(stop)
    }
}

impl<D: Send + 'static> random::Host for State<D> {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.spend_random(len)?;
        random::Host::get_random_bytes(WasiRandomView::random(self), len)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.spend_random(NUMBER)?;
        random::Host::get_random_u64(WasiRandomView::random(self))
    }
}

impl<D: Send + 'static> insecure::Host for State<D> {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.spend_random(len)?;
        insecure::Host::get_insecure_random_bytes(WasiRandomView::random(self), len)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.spend_random(NUMBER)?;
        insecure::Host::get_insecure_random_u64(WasiRandomView::random(self))
    }
}

impl<D: Send + 'static> insecure_seed::Host for State<D> {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        self.spend_random(SEED)?;
        insecure_seed::Host::insecure_seed(WasiRandomView::random(self))
    }
}

/// The guest's empty WASI.
impl<D: Send> WasiView for State<D> {
    fn ctx(&mut self) -> wasmtime_wasi::WasiCtxView<'_> {
        self.wasi_view()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_tick_in_milliseconds() {
        assert_eq!(
            coarse(Duration::new(5, 1_999_999)),
            Duration::new(5, 1_000_000)
        );
        let clock = Coarse::default();
        assert_eq!(HostWallClock::now(&clock).subsec_nanos() % 1_000_000, 0);
        assert_eq!(HostMonotonicClock::now(&clock) % 1_000_000, 0);
        assert_eq!(HostMonotonicClock::resolution(&clock), 1_000_000);
    }
}
