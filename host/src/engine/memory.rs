//! The limit on an instance's linear memory, tables and core instances.

use tidegate_core::limits::{GuestLimits, Limit};
use wasmtime::ResourceLimiter;

use super::config::{MEMORIES, TABLES};

/// Counts an instance's memory over all of its linear memories, and its table elements over all of its tables, and
/// remembers that growth was denied: what a guest does then (most abort) looks like any other trap.
pub(super) struct Space {
    memory: Amount,
    elements: Amount,
    instances: usize,
    denied: Option<Limit>,
}

/// Something that grows, and never shrinks.
struct Amount {
    limit: usize,
    used: usize,
    /// The growth allowed last, in case it fails after all.
    last: usize,
}

impl Amount {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            used: 0,
            last: 0,
        }
    }

    fn grows(&mut self, current: usize, desired: usize) -> bool {
        self.last = 0;
        let growth = desired.saturating_sub(current);
        let fits = growth <= self.limit.saturating_sub(self.used);
        if fits {
            self.used += growth;
            self.last = growth;
        }
        fits
    }

    fn failed(&mut self) {
        self.used -= std::mem::take(&mut self.last);
    }
}

impl Space {
    pub(super) fn new(limits: &GuestLimits) -> Self {
        Self {
            memory: Amount::new(limits.memory),
            elements: Amount::new(limits.table_elements),
            instances: limits.instances,
            denied: None,
        }
    }

    /// The limit for which growth was denied since [`Space::forgive`].
    pub(super) fn denied(&self) -> Option<Limit> {
        self.denied
    }

    /// Forgets a denial that the guest survived.
    pub(super) fn forgive(&mut self) {
        self.denied = None;
    }

    /// Bytes of linear memory in use.
    pub(super) fn used(&self) -> usize {
        self.memory.used
    }

    /// Whether more than half of the memory is in use.
    pub(super) fn high(&self) -> bool {
        self.memory.used > self.memory.limit / 2
    }

    fn answer(&mut self, fits: bool, limit: Limit) -> wasmtime::Result<bool> {
        if !fits {
            self.denied = Some(limit);
        }
        Ok(fits)
    }
}

impl ResourceLimiter for Space {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let fits = self.memory.grows(current, desired);
        self.answer(fits, Limit::Memory)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.denied = Some(Limit::Memory);
        self.memory.failed();
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let fits = self.elements.grows(current, desired);
        self.answer(fits, Limit::Tables)
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.denied = Some(Limit::Tables);
        self.elements.failed();
        Ok(())
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        TABLES as usize
    }

    fn memories(&self) -> usize {
        MEMORIES as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        Space::new(&GuestLimits {
            memory: 100,
            table_elements: 10,
            ..GuestLimits::default()
        })
    }

    #[test]
    fn memories_share_one_limit_and_a_denial_is_remembered() {
        let mut space = space();
        assert!(space.memory_growing(0, 40, None).unwrap());
        assert!(!space.high());
        assert!(space.memory_growing(0, 20, None).unwrap());
        assert!(space.high());
        assert!(!space.memory_growing(40, 90, None).unwrap());
        assert_eq!(space.denied(), Some(Limit::Memory));
        assert!(space.memory_growing(40, 80, None).unwrap());
        space.forgive();
        assert_eq!(space.denied(), None);
    }

    #[test]
    fn tables_share_one_limit_and_failed_growth_is_given_back() {
        let mut space = space();
        assert!(space.table_growing(0, 6, None).unwrap());
        assert!(!space.table_growing(0, 5, None).unwrap());
        assert_eq!(space.denied(), Some(Limit::Tables));
        space.forgive();
        assert!(space.table_growing(0, 4, None).unwrap());
        space
            .table_grow_failed(wasmtime::Error::msg("full"))
            .unwrap();
        assert_eq!(space.denied(), Some(Limit::Tables));
        assert!(space.table_growing(0, 4, None).unwrap());
    }
}
