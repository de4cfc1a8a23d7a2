//! What a guest may use.

use std::time::Duration;

/// A consumer's limits for its guest. Each applies to one record, but for memory, which is the instance's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// Linear memory of an instance, in bytes.
    pub memory: usize,
    /// Time the guest computes; waiting on the database does not count.
    pub cpu: Duration,
    /// Time from call to return, waiting included.
    pub wall: Duration,
    /// Statements.
    pub statements: u32,
    /// Rows of one result.
    pub result_rows: usize,
    /// Bytes of one result.
    pub result_bytes: usize,
    /// Bytes of one statement's parameters.
    pub parameter_bytes: usize,
    /// Bytes of log lines, stdout and stderr; what is beyond is dropped, with one line saying so.
    pub log_bytes: usize,
    /// Calls before an instance is replaced.
    pub max_calls: u32,
}

impl Default for GuestLimits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            cpu: Duration::from_secs(1),
            wall: Duration::from_secs(30),
            statements: 1000,
            result_rows: 10_000,
            result_bytes: 8 << 20,
            parameter_bytes: 8 << 20,
            log_bytes: 64 << 10,
            max_calls: 1000,
        }
    }
}

/// The limit a guest ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Linear memory.
    Memory,
    /// Guest CPU time.
    Cpu,
    /// Wall-clock time.
    Wall,
    /// Number of statements.
    Statements,
    /// Bytes of one statement and its parameters.
    ParameterBytes,
    /// Rows of one result.
    ResultRows,
    /// Bytes of one result.
    ResultBytes,
}

impl Limit {
    /// The error code in dead letters, logs and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Limit::Memory => "memory-limit",
            Limit::Cpu => "cpu-limit",
            Limit::Wall => "wall-limit",
            Limit::Statements => "statement-limit",
            Limit::ParameterBytes => "parameter-bytes-limit",
            Limit::ResultRows => "result-rows-limit",
            Limit::ResultBytes => "result-bytes-limit",
        }
    }
}
