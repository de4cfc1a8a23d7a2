//! Where guests' statements meet the wall: verdicts by text, the catalogue behind them, shared by the process.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::failure::Failure;
use tidegate_core::witness::Schema;
use tidegate_wall::{Admitted, Catalogue, Judge, Rules, Verdict, Wall};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use super::catalogue;
use super::error::unreachable;
use super::pool::Pool;

/// How old the catalogue may be when a new text is judged.
const STALE: Duration = Duration::from_secs(60);

/// How old it may be when a constraint has refused a row.
const STALE_IN_DOUBT: Duration = Duration::from_secs(5);

/// How old it may be when a text names a function that it does not know.
const STALE_FOR_UNKNOWN: Duration = Duration::from_secs(1);

/// The wall, for all transactions of an inbox. Cheap to clone.
#[derive(Clone)]
pub(super) struct Gate(Arc<Inner>);

struct Inner {
    wall: Wall,
    service: Pool,
    /// Where guests' names are looked for.
    search_path: Vec<String>,
    /// The server refused what the catalogue promised: it is read anew before the next statement.
    in_doubt: AtomicBool,
    /// For whom no rules are given.
    usual: Arc<Judge>,
    /// One for each set of rules; as many as the configuration has.
    judges: Lock<Vec<Arc<Judge>>>,
    /// Rises with each catalogue that differs from the one before; verdicts are good for their own.
    generation: AtomicU64,
    known: Mutex<Option<Known>>,
    /// What the schema was when it was looked at last; 0 before that.
    schema: AtomicI64,
}

struct Known {
    catalogue: Arc<Catalogue>,
    read: Instant,
}

impl Gate {
    pub(super) fn new(wall: Wall, service: Pool, search_path: Vec<String>) -> Self {
        Self(Arc::new(Inner {
            wall,
            service,
            search_path,
            in_doubt: AtomicBool::new(false),
            usual: Arc::default(),
            judges: Lock::default(),
            generation: AtomicU64::new(0),
            known: Mutex::default(),
            schema: AtomicI64::new(0),
        }))
    }

    /// The judge for these rules, the same one for the same rules.
    pub(super) fn judge(&self, rules: &Rules) -> Arc<Judge> {
        let mut judges = self.0.judges.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(judge) = judges.iter().find(|judge| judge.rules() == rules) {
            return Arc::clone(judge);
        }
        let judge = Arc::new(Judge::new(rules.clone()));
        judges.push(Arc::clone(&judge));
        judge
    }

    /// Judges a statement; one seen before costs a look-up. Errors: the catalogue cannot be read, which no statement is
    /// to blame for.
    pub(super) async fn admit(
        &self,
        judge: Option<&Arc<Judge>>,
        sql: &str,
    ) -> Result<Verdict, Failure> {
        if self.0.wall == Wall::Off {
            return Ok(Ok(Admitted::unread(sql)));
        }
        let judge = judge.unwrap_or(&self.0.usual);
        if self.0.in_doubt.load(Ordering::Relaxed) && self.0.in_doubt.swap(false, Ordering::AcqRel)
        {
            self.catalogue(STALE_IN_DOUBT).await?;
        }
        let generation = self.0.generation.load(Ordering::Acquire);
        if let Some(verdict) = judge.remembered(sql, generation) {
            return Ok(verdict);
        }
        if let Err(refused) = judge.glance(sql) {
            return Ok(Err(Arc::new(refused)));
        }
        let known = self.catalogue(STALE).await?;
        let generation = known.1;
        let verdict = read(judge, sql, known).await?;
        if !matches!(&verdict, Err(refused) if refused.unknown) {
            return Ok(verdict);
        }
        match self.catalogue(STALE_FOR_UNKNOWN).await? {
            known if known.1 == generation => Ok(verdict),
            known => read(judge, sql, known).await,
        }
    }

    /// The server refused a constraint's name, or a row that a constraint does not allow: which of them wait for the end may
    /// have changed.
    pub(super) fn doubt(&self) {
        self.0.in_doubt.store(true, Ordering::Release);
    }

    /// What the schema was when it was looked at last, which is before anything that is admitted now runs.
    pub(super) fn schema(&self) -> Option<Schema> {
        Some(self.0.schema.load(Ordering::Acquire)).filter(|schema| *schema != 0)
    }

    /// Looks at the schema now. Errors: the server does not answer it.
    pub(super) async fn look_at_schema(&self) -> Result<Schema, Failure> {
        let schema = catalogue::schema(&self.0.service).await?;
        self.0.schema.store(schema, Ordering::Release);
        Ok(schema)
    }

    /// The catalogue, no older than this, and its generation. Who comes while it is read waits for the same reading.
    async fn catalogue(&self, stale: Duration) -> Result<(Arc<Catalogue>, u64), Failure> {
        let mut known = self.0.known.lock().await;
        let generation = self.0.generation.load(Ordering::Acquire);
        match &*known {
            Some(known) if known.read.elapsed() < stale => {
                Ok((Arc::clone(&known.catalogue), generation))
            }
            before => {
                let asked = Instant::now();
                let now = catalogue::read(&self.0.service, &self.0.search_path).await?;
                if before.is_none()
                    && let Err(error) = self.look_at_schema().await
                {
                    tracing::debug!(%error, "the schema could not be looked at; what works is remembered from the next look on");
                }
                let same = before.as_ref().filter(|before| *before.catalogue == now);
                let catalogue =
                    same.map_or_else(|| Arc::new(now), |before| Arc::clone(&before.catalogue));
                let generation = generation + u64::from(same.is_none());
                self.0.generation.store(generation, Ordering::Release);
                *known = Some(Known {
                    catalogue: Arc::clone(&catalogue),
                    read: asked,
                });
                Ok((catalogue, generation))
            }
        }
    }
}

/// Reads a new text, apart from what serves connections: it may take a while. A call that is dropped meanwhile leaves it
/// to end by itself.
async fn read(
    judge: &Arc<Judge>,
    sql: &str,
    known: (Arc<Catalogue>, u64),
) -> Result<Verdict, Failure> {
    let (judge, sql) = (Arc::clone(judge), sql.to_owned());
    let read = spawn_blocking(move || judge.judge(&sql, (&known.0, known.1)));
    match read.await {
        Ok(Ok(verdict)) => Ok(verdict),
        Ok(Err(error)) => Err(unreachable(error.to_string())),
        Err(error) => Err(unreachable(format!("a statement was not read: {error}"))),
    }
}
