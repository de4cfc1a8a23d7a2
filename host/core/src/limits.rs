//! What a guest may use, and the code of each limit.

use std::time::Duration;

/// The limits of one guest. Each applies to one record, over all its calls into the host, but for memory, tables and
/// core instances, which are the instance's. A start has the budget of a record of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// Linear memory of an instance, in bytes, over all its memories.
    pub memory: usize,
    /// Table elements of an instance, over all its tables.
    pub table_elements: usize,
    /// Core instances that an instance is made of.
    pub instances: usize,
    /// Time the guest computes; waiting on the database does not count.
    pub cpu: Duration,
    /// Time from call to return, waiting included.
    pub wall: Duration,
    /// Statements, staged ones included.
    pub statements: u32,
    /// Statements that are staged.
    pub staged_statements: u32,
    /// Bytes of what is staged: statements and parameters.
    pub staged_bytes: usize,
    /// Bytes of all statements and their parameters.
    pub parameter_bytes: usize,
    /// Parameters of all statements, each element of an array counted.
    pub parameter_values: usize,
    /// Arrays and objects within one another in a `json` parameter.
    pub nesting: usize,
    /// Rows of all results.
    pub result_rows: usize,
    /// Bytes of all results.
    pub result_bytes: usize,
    /// Bytes of random numbers.
    pub random_bytes: usize,
    /// Log lines, those on stdout and stderr included; what is beyond is dropped, with one line saying so.
    pub log_lines: usize,
    /// Bytes of log lines, stdout and stderr; what is beyond is dropped, with one line saying so.
    pub log_bytes: usize,
    /// Calls before an instance is replaced.
    pub max_calls: u32,
}

impl Default for GuestLimits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            table_elements: 100_000,
            instances: 64,
            cpu: Duration::from_secs(1),
            wall: Duration::from_secs(30),
            statements: 1000,
            staged_statements: 1000,
            staged_bytes: 8 << 20,
            parameter_bytes: 8 << 20,
            parameter_values: 100_000,
            nesting: 64,
            result_rows: 10_000,
            result_bytes: 8 << 20,
            random_bytes: 64 << 10,
            log_lines: 1000,
            log_bytes: 64 << 10,
            max_calls: 1000,
        }
    }
}

/// The code of log lines that were dropped for `log_lines`.
pub const LOG_LINES: &str = "log-lines-limit";
/// The code of log lines that were dropped for `log_bytes`.
pub const LOG_BYTES: &str = "log-bytes-limit";

/// The limit a guest ran into. Log lines have none: they are dropped, and end nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Linear memory.
    Memory,
    /// Table elements.
    Tables,
    /// Core instances.
    Instances,
    /// Guest CPU time.
    Cpu,
    /// Wall-clock time, over while the guest itself was at work: computing, sleeping, looking at the clock.
    Wall,
    /// Wall-clock time, over while the guest waited on the database.
    DatabaseWait,
    /// Number of statements.
    Statements,
    /// Number of staged statements.
    StagedStatements,
    /// Bytes of staged statements.
    StagedBytes,
    /// Bytes of statements and their parameters, or of whatever else one call carries into the host.
    ParameterBytes,
    /// Number of parameters and elements of arrays.
    ParameterValues,
    /// Depth of a `json` parameter.
    Nesting,
    /// Rows of results.
    ResultRows,
    /// Bytes of results.
    ResultBytes,
    /// Bytes of random numbers.
    RandomBytes,
}

impl Limit {
    /// Every limit, in the order of the documentation.
    pub const ALL: [Self; 15] = [
        Limit::Memory,
        Limit::Tables,
        Limit::Instances,
        Limit::Cpu,
        Limit::Wall,
        Limit::DatabaseWait,
        Limit::Statements,
        Limit::StagedStatements,
        Limit::StagedBytes,
        Limit::ParameterBytes,
        Limit::ParameterValues,
        Limit::Nesting,
        Limit::ResultRows,
        Limit::ResultBytes,
        Limit::RandomBytes,
    ];

    /// The error code in dead letters, logs and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Limit::Memory => "memory-limit",
            Limit::Tables => "table-limit",
            Limit::Instances => "instance-limit",
            Limit::Cpu => "cpu-limit",
            Limit::Wall => "wall-limit",
            Limit::DatabaseWait => "database-wait-limit",
            Limit::Statements => "statement-limit",
            Limit::StagedStatements => "staged-statements-limit",
            Limit::StagedBytes => "staged-bytes-limit",
            Limit::ParameterBytes => "parameter-bytes-limit",
            Limit::ParameterValues => "parameter-values-limit",
            Limit::Nesting => "nesting-limit",
            Limit::ResultRows => "result-rows-limit",
            Limit::ResultBytes => "result-bytes-limit",
            Limit::RandomBytes => "random-bytes-limit",
        }
    }

    /// The key under `[consumer.limits]` that sets it.
    pub fn key(self) -> &'static str {
        match self {
            Limit::Memory => "memory",
            Limit::Tables => "table_elements",
            Limit::Instances => "instances",
            Limit::Cpu => "cpu",
            Limit::Wall | Limit::DatabaseWait => "wall",
            Limit::Statements => "statements",
            Limit::StagedStatements => "staged_statements",
            Limit::StagedBytes => "staged_bytes",
            Limit::ParameterBytes => "parameter_bytes",
            Limit::ParameterValues => "parameter_values",
            Limit::Nesting => "nesting",
            Limit::ResultRows => "result_rows",
            Limit::ResultBytes => "result_bytes",
            Limit::RandomBytes => "random_bytes",
        }
    }

    /// What happened, in words that name the key.
    pub fn words(self) -> &'static str {
        match self {
            Limit::Memory => "the guest ran into its memory limit (`limits.memory`)",
            Limit::Tables => "the guest's tables ran into their limit (`limits.table_elements`)",
            Limit::Instances => {
                "the guest is made of more core instances than it may have (`limits.instances`)"
            }
            Limit::Cpu => "the guest ran into its CPU limit (`limits.cpu`)",
            Limit::Wall => "the guest ran into its wall-clock limit (`limits.wall`)",
            Limit::DatabaseWait => {
                "the guest still waited on the database at its wall-clock limit (`limits.wall`)"
            }
            Limit::Statements => "the guest ran into its limit of statements (`limits.statements`)",
            Limit::StagedStatements => {
                "the guest stages more statements than it may (`limits.staged_statements`)"
            }
            Limit::StagedBytes => "the guest stages more bytes than it may (`limits.staged_bytes`)",
            Limit::ParameterBytes => {
                "the guest's statements and parameters, or another call into the host, hold more bytes than it may send (`limits.parameter_bytes`)"
            }
            Limit::ParameterValues => {
                "the guest's statements have more parameters and array elements than it may send (`limits.parameter_values`)"
            }
            Limit::Nesting => {
                "a json parameter is nested deeper than the guest may send (`limits.nesting`)"
            }
            Limit::ResultRows => {
                "the results have more rows than the guest may have (`limits.result_rows`)"
            }
            Limit::ResultBytes => {
                "the results have more bytes than the guest may have (`limits.result_bytes`)"
            }
            Limit::RandomBytes => {
                "the guest asks for more random bytes than it may have (`limits.random_bytes`)"
            }
        }
    }

    /// Whether the instance's earlier records, or the moment, may have had a part in it. The others are counts of what
    /// the record alone has sent and got.
    pub fn is_of_instance(self) -> bool {
        match self {
            Limit::Memory
            | Limit::Tables
            | Limit::Instances
            | Limit::Cpu
            | Limit::Wall
            | Limit::RandomBytes => true,
            Limit::DatabaseWait
            | Limit::Statements
            | Limit::StagedStatements
            | Limit::StagedBytes
            | Limit::ParameterBytes
            | Limit::ParameterValues
            | Limit::Nesting
            | Limit::ResultRows
            | Limit::ResultBytes => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_limit_has_a_code_of_its_own_and_names_its_key() {
        let codes: HashSet<_> = Limit::ALL.map(Limit::code).into();
        assert_eq!(codes.len(), Limit::ALL.len());
        for limit in Limit::ALL {
            assert!(limit.code().ends_with("-limit"));
            let key = format!("`limits.{}`", limit.key());
            assert!(limit.words().contains(&key), "{}", limit.words());
        }
    }
}
