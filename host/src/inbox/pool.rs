//! A bounded pool of connections, fair to the consumers that share it. A connection goes back only when its holder says that it is clean.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::{
    self, Metrics, Object, PoolError, RecycleError, RecycleResult, TimeoutType,
};
use deadpool::{Runtime, Status};
use tidegate_core::failure::Failure;
use tidegate_core::turns::{Party, Places};

use super::connection::Connection;
use super::error::InboxError;
use super::settings::Settings;
use crate::turnstile::{Seat, Turnstile};

/// How long a holder-to-be waits for a free connection.
const SLOT_WAIT: Duration = Duration::from_secs(30);

/// Opens connections for the pool.
pub(crate) struct Manager(Arc<Settings>);

impl managed::Manager for Manager {
    type Type = Connection;
    type Error = InboxError;

    async fn create(&self) -> Result<Connection, InboxError> {
        Connection::open(&self.0).await
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<InboxError> {
        match connection.client.is_closed() {
            true => Err(RecycleError::message("the connection died while idle")),
            false => Ok(()),
        }
    }
}

/// The pool. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Pool {
    inner: managed::Pool<Manager>,
    settings: Arc<Settings>,
    turns: Arc<Turnstile>,
}

impl Pool {
    pub(crate) fn new(settings: Arc<Settings>, size: usize) -> Result<Self, InboxError> {
        if size == 0 {
            return Err(InboxError::NoConnections);
        }
        let inner = managed::Pool::builder(Manager(Arc::clone(&settings)))
            .max_size(size)
            .wait_timeout(Some(SLOT_WAIT))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|e| InboxError::Unreachable(e.to_string()))?;
        Ok(Self {
            inner,
            settings,
            turns: Turnstile::new(Places::keeping(size)),
        })
    }

    /// The most connections it opens.
    pub(crate) fn max_size(&self) -> usize {
        self.status().max_size
    }

    /// How it is, now.
    pub(crate) fn status(&self) -> Status {
        let mut status = self.inner.status();
        status.waiting += self.turns.waiting();
        status
    }

    /// Takes a connection for a consumer, in turns with others; one is kept for a consumer that holds none.
    pub(crate) async fn get_for(&self, consumer: &str, fresh: bool) -> Result<Held, Failure> {
        let party = Party {
            consumer: consumer.into(),
            tenant: None,
        };
        let mut seat = Seat::new(&self.turns, party);
        if tokio::time::timeout(SLOT_WAIT, seat.sit()).await.is_err() {
            return Err(self.words(PoolError::Timeout(TimeoutType::Wait)).into());
        }
        let mut held = self.get(fresh).await?;
        held.1 = Some(seat);
        Ok(held)
    }

    /// Takes a connection, in the order of asking. `fresh` asks for one that was opened just now.
    pub(crate) async fn get(&self, fresh: bool) -> Result<Held, Failure> {
        Ok(self.take(fresh).await?)
    }

    /// The same for what happens before anything is handled, where it matters why there is none.
    pub(crate) async fn take(&self, fresh: bool) -> Result<Held, InboxError> {
        let slot = self.inner.get().await.map_err(|e| self.words(e))?;
        let used = Object::metrics(&slot).recycle_count > 0;
        let mut held = Held(Some(slot), None);
        if fresh && used {
            // The old one first: the server may have no room for both.
            held.cut();
            *held = Connection::open(&self.settings).await?;
        }
        Ok(held)
    }

    fn words(&self, error: PoolError<InboxError>) -> InboxError {
        match error {
            PoolError::Backend(error) => error,
            PoolError::Timeout(TimeoutType::Wait) => InboxError::Unreachable(format!(
                "all {} connections (postgres.max_connections) were taken for {} s",
                self.inner.status().max_size,
                SLOT_WAIT.as_secs()
            )),
            error => InboxError::Unreachable(error.to_string()),
        }
    }
}

/// A connection out of the pool. Dropped without [`Held::release`], it is cut and never seen again: whoever was
/// cancelled half-way may have left a transaction open.
///
/// The connection goes before the consumer's turn with it ends: fields drop in order.
pub(crate) struct Held(Option<Object<Manager>>, Option<Seat>);

impl Held {
    /// Gives the connection back.
    pub(crate) fn release(mut self) {
        self.0 = None;
    }

    /// Rolls back and gives the connection back; one that cannot is cut.
    pub(crate) async fn roll_back(self) {
        if self.command("ROLLBACK").await.is_ok() {
            self.release();
        }
    }
}

impl Deref for Held {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
            .as_ref()
            .expect("a held connection is there until it is released")
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Connection {
        self.0
            .as_mut()
            .expect("a held connection is there until it is released")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            drop(Object::take(slot));
        }
    }
}
