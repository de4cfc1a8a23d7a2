//! The inbox: all SQL.
//!
//! One [`Inbox`] serves a process. Batches run in a [`Transaction`] each, on a connection of a bounded pool;
//! assignment, dead letters, look-ups and pruning are single statements. Nothing here decides: what the
//! answers mean is `tidegate_core`'s business.

mod alive;
mod assignment;
pub mod baseline;
mod catalogue;
mod connection;
mod control;
mod deferred;
mod endurance;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod gate;
mod harden;
mod letters;
mod lookup;
mod ping;
mod pinned;
mod pool;
mod positions;
mod preflight;
mod prove;
mod prune;
mod refused;
mod replays;
mod rights;
mod schema;
mod settings;
mod statements;
mod survey;
mod tenants;
mod tls;
mod token;
mod transaction;
mod unfit;
mod value;
mod wire;

use std::sync::Arc;

use postgres_types::ToSql;
use tidegate_core::failure::Failure;
use tidegate_core::witness::Schema;
use tokio_postgres::Row;

use crate::config::PostgresConfig;
use gate::Gate;
use pool::Pool;
use settings::Settings;

pub use alive::ALIVE;
pub use control::{ConsumerRow, HostRow};
pub use error::InboxError;
pub use harden::Measure;
pub use letters::{KeepRule, LetterFilter, LetterStatus, StoredLetter, Waiting};
pub use lookup::{InboxRow, ProgressRow};
pub use positions::{Gap, NewPosition};
pub use preflight::Preflight;
pub use prune::PruneRule;
pub use replays::{
    Planned, Prospect, ReplayProgress, ReplayRequest, Taken, Turn, Untried, WaitingLetter,
};
pub use rights::{LoginRights, Rights, RoleRights};
pub use survey::{ClaimFigures, LetterFigures, PoolFigures};
pub use tenants::{TenantRow, TenantState};
pub use tidegate_wall::{Judge, Rules, Wall};
pub use token::{Standing, Token};
pub use transaction::{
    BatchHead, Begun, Finish, Guest, Memory, ModulesOf, ReplayBegun, ReplayEnd, ReplayHead,
    ReplayResult, ResultLimits, Transaction,
};
pub use unfit::Unfit;

/// Connections for what is not a batch: the relay, pruning and look-ups, so that none of them ever waits behind
/// the batches, or the batches behind them.
const SERVICE_CONNECTIONS: usize = 2;

/// A parameter of one of the host's own statements.
type SqlParam<'a> = &'a (dyn ToSql + Sync);

/// The host's access to PostgreSQL. Cheap to clone.
#[derive(Clone)]
pub struct Inbox {
    settings: Arc<Settings>,
    batches: Pool,
    service: Pool,
    gate: Gate,
}

impl Inbox {
    /// Prepares access and opens nothing yet: PostgreSQL may still be away. Errors: a URL that cannot be read, or
    /// certificates that cannot.
    pub fn new(config: &PostgresConfig, wall: Wall) -> Result<Self, InboxError> {
        let settings = Arc::new(Settings::new(config)?);
        let service = Pool::new(Arc::clone(&settings), SERVICE_CONNECTIONS)?;
        Ok(Self {
            batches: Pool::new(Arc::clone(&settings), config.max_connections)?,
            gate: Gate::new(wall, service.clone(), settings.search_path.clone()),
            service,
            settings,
        })
    }

    /// Who judges statements by these rules; shared by all who ask for the same.
    pub fn judge(&self, rules: &Rules) -> Arc<Judge> {
        self.gate.judge(rules)
    }

    /// Looks at what the schema is now. Errors: no service connection, or the server does not answer.
    pub async fn schema(&self) -> Result<Schema, Failure> {
        self.gate.look_at_schema().await
    }

    /// Runs one statement in a transaction of its own that may write.
    async fn write(
        pool: &Pool,
        sql: &'static str,
        params: &[SqlParam<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let mut held = pool.get(false).await?;
        let rows = held.write(sql, params).await?;
        held.release();
        Ok(rows)
    }

    /// The same on a connection for batches, in the consumer's turn.
    async fn write_for(
        &self,
        consumer: &str,
        sql: &'static str,
        params: &[SqlParam<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let mut held = self.batches.get_for(consumer, false).await?;
        let rows = held.write(sql, params).await?;
        held.release();
        Ok(rows)
    }

    /// Runs one statement on a read-only service connection.
    async fn read(&self, sql: &'static str, params: &[SqlParam<'_>]) -> Result<Vec<Row>, Failure> {
        let mut held = self.service.get(false).await?;
        let rows = held.query(sql, params).await?;
        held.release();
        Ok(rows)
    }

    /// The same for commands and for what happens before anything is handled, where it matters why there is no connection.
    async fn ask(
        &self,
        sql: &'static str,
        params: &[SqlParam<'_>],
    ) -> Result<Vec<Row>, InboxError> {
        let mut held = self.service.take(false).await?;
        let rows = held.query(sql, params).await?;
        held.release();
        Ok(rows)
    }
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox")
            .field("place", &self.settings.place)
            .finish_non_exhaustive()
    }
}
