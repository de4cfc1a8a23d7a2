//! What can go wrong with the services of `dev`.

use std::path::PathBuf;

/// What can go wrong with the services of `dev`.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// No PostgreSQL on this machine.
    #[error(
        "no PostgreSQL server is installed here (initdb and postgres were looked for in {variable}, PATH and /usr/lib/postgresql/*/bin); install the package postgresql, or set {variable} to the directory of initdb",
        variable = super::binaries::VARIABLE
    )]
    NoPostgres,
    /// Started by root, and nobody to run PostgreSQL as.
    #[error(
        "PostgreSQL refuses to run as root, and this machine has neither a user postgres nor nobody; start `tidegate dev` as another user"
    )]
    NoUser,
    /// A program of PostgreSQL's cannot be run or fails.
    #[error("{program} failed: {reason}")]
    Program {
        /// The program's path.
        program: PathBuf,
        /// What it said.
        reason: String,
    },
    /// The directory cannot be made or handed over.
    #[error("{path}: {reason}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The mock broker does not start.
    #[error("the mock broker cannot start: {0}")]
    Broker(String),
    /// The child process cannot be started, or said something else than its addresses.
    #[error("the services of `tidegate dev` did not start: {0}")]
    Child(String),
    /// The services ended although nobody asked them to.
    #[error("the services of `tidegate dev` have ended by themselves: {0}")]
    Ended(String),
}
