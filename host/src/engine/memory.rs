//! The limit on an instance's linear memory, tables and core instances.

use wasmtime::ResourceLimiter;

use super::config::{CORE_INSTANCES, MEMORIES, TABLE_ELEMENTS, TABLES};

/// Counts an instance's memory over all of its linear memories, and remembers that growth was denied: what a
/// guest does then (most abort) looks like any other trap.
pub(super) struct MemoryLimit {
    limit: usize,
    used: usize,
    /// The growth allowed last, in case it fails after all.
    last: usize,
    denied: bool,
}

impl MemoryLimit {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            used: 0,
            last: 0,
            denied: false,
        }
    }

    /// Whether growth was denied since [`MemoryLimit::forgive`].
    pub(super) fn denied(&self) -> bool {
        self.denied
    }

    /// Forgets a denial that the guest survived.
    pub(super) fn forgive(&mut self) {
        self.denied = false;
    }

    /// Bytes of linear memory in use. Memory never shrinks.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Whether more than half of the limit is in use.
    pub(super) fn high(&self) -> bool {
        self.used > self.limit / 2
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.last = 0;
        let growth = desired.saturating_sub(current);
        if growth > self.limit.saturating_sub(self.used) {
            self.denied = true;
            return Ok(false);
        }
        self.used += growth;
        self.last = growth;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.denied = true;
        self.used -= std::mem::take(&mut self.last);
        Ok(())
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let fits = desired <= TABLE_ELEMENTS;
        self.denied |= !fits;
        Ok(fits)
    }

    fn instances(&self) -> usize {
        CORE_INSTANCES as usize
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

    #[test]
    fn memories_share_one_limit_and_a_denial_is_remembered() {
        let mut limit = MemoryLimit::new(100);
        assert!(limit.memory_growing(0, 40, None).unwrap());
        assert!(!limit.high());
        assert!(limit.memory_growing(0, 20, None).unwrap());
        assert!(limit.high());
        assert!(!limit.memory_growing(40, 90, None).unwrap());
        assert!(limit.denied());
        assert!(limit.memory_growing(40, 80, None).unwrap());
        limit.forgive();
        assert!(!limit.denied());
    }
}
