//! Claiming ids: one statement a batch, sorted, on the database's clock.

use std::collections::HashMap;
use std::time::Duration;

use tidegate_core::claim::{Age, ClaimRequest, Claimed, DuplicateKind, Standing};
use tidegate_core::failure::Broken;
use tidegate_core::progress::ProgressKey;
use tokio_postgres::{Client, Row, Statement};

use super::Transaction;
use crate::inbox::SqlParam;
use crate::inbox::connection::Connection;
use crate::inbox::error::unreachable;

/// The claim, with the condition on which a rejected claim is taken.
macro_rules! claim {
    ($rejected:literal) => {
        concat!(
            r#"
INSERT INTO tidegate.processed_events AS e (consumer_name, scope, event_id, processed_at, processed_until, topic,
    partition, log_epoch, "offset", outcome, module_digest)
SELECT $1, c.scope, c.event_id, now(), now() + c.ttl_us * interval '1 microsecond', $6, $7, $9, c.at, 'done',
       coalesce(c.digest, $8)
  FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $10::bytea[]) AS c (scope, event_id, ttl_us, at, digest)
 ORDER BY c.event_id COLLATE "C", c.scope COLLATE "C"
ON CONFLICT (consumer_name, scope, event_id) DO UPDATE
   SET processed_at = excluded.processed_at, processed_until = excluded.processed_until, topic = excluded.topic,
       partition = excluded.partition, log_epoch = excluded.log_epoch, "offset" = excluded."offset",
       outcome = excluded.outcome, replaced = e.outcome, module_digest = excluded.module_digest
 WHERE (e.outcome <> 'rejected' AND e.processed_until <= now())
    OR (e.outcome = 'rejected' AND "#,
            $rejected,
            r#")
RETURNING "offset", replaced"#
        )
    };
}

/// Takes what is new, what has expired, and what another record of the event was rejected with. A rejected claim
/// does not expire, and its own record never takes it again. The order is the same on every host, so that two
/// of them never wait for one another in a ring.
pub(super) const CLAIM: &str = claim!(
    r#"(e.topic, e.partition, e.log_epoch, e."offset")
            <> (excluded.topic, excluded.partition, excluded.log_epoch, excluded."offset")"#
);

/// The same for a letter's replay, which takes its own record's rejected claim too.
pub(super) const CLAIM_AGAIN: &str = claim!("true");

/// Where the claims stand that were not taken.
const STANDING: &str = r#"
SELECT e.scope, e.event_id, e.topic, e.partition, e.log_epoch, e."offset", e.outcome = 'rejected',
       (extract(epoch FROM now() - e.processed_at) * 1000000)::bigint,
       (extract(epoch FROM e.processed_until - e.processed_at) * 1000000)::bigint
  FROM unnest($2::text[], $3::text[]) AS c (scope, event_id)
  JOIN tidegate.processed_events e
    ON e.consumer_name = $1 AND e.scope = c.scope AND e.event_id = c.event_id"#;

/// A thousand years: beyond it PostgreSQL's timestamps would soon end.
const LONGEST_TTL_US: i64 = 1_000 * 366 * 86_400 * 1_000_000;

/// Which modules claims are for, sha256 of their bytes.
#[derive(Clone, Debug)]
pub enum ModulesOf {
    /// One for all.
    All(Option<[u8; 32]>),
    /// One a claim, in their order.
    Each(Vec<Option<[u8; 32]>>),
}

impl ModulesOf {
    fn all(&self) -> Option<&[u8; 32]> {
        match self {
            ModulesOf::All(digest) => digest.as_ref(),
            ModulesOf::Each(_) => None,
        }
    }
}

/// The claim's parameters.
pub(super) struct Claims<'a> {
    key: &'a ProgressKey,
    epoch: i32,
    scopes: Vec<&'a str>,
    ids: Vec<&'a str>,
    ttls: Vec<i64>,
    offsets: Vec<i64>,
    digest: Option<&'a [u8]>,
    /// One a claim, where they are not of one module.
    digests: Vec<Option<&'a [u8]>>,
}

impl<'a> Claims<'a> {
    /// Sorted as the server is to take them: it finds nothing left to sort.
    pub(super) fn of(
        (key, epoch): (&'a ProgressKey, i32),
        claims: &'a [ClaimRequest],
        modules: &'a ModulesOf,
    ) -> Self {
        debug_assert!(rise(claims), "offsets that do not rise");
        let mut sorted: Vec<usize> = (0..claims.len()).collect();
        sorted.sort_unstable_by_key(|at| key_of(&claims[*at]));
        let digests = match modules {
            ModulesOf::All(_) => Vec::new(),
            ModulesOf::Each(digests) => {
                let of = |at: &usize| digests.get(*at)?.as_ref().map(<[u8; 32]>::as_slice);
                sorted.iter().map(of).collect()
            }
        };
        let claims: Vec<&ClaimRequest> = sorted.iter().map(|at| &claims[*at]).collect();
        debug_assert!(are_distinct(&claims), "an id twice in one claim");
        Self {
            key,
            epoch,
            scopes: claims.iter().map(|c| &*c.scope).collect(),
            ids: claims.iter().map(|c| c.event_id.as_str()).collect(),
            ttls: claims.iter().map(|c| micros(c)).collect(),
            offsets: claims.iter().map(|c| c.offset).collect(),
            digest: modules.all().map(<[u8; 32]>::as_slice),
            digests,
        }
    }

    /// Sends the claim and reads its answer: offset and what was replaced, for each claim taken.
    pub(super) async fn make(
        self,
        client: &Client,
        claim: Statement,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let source = &self.key.source;
        let (topic, partition) = (source.topic.as_ref(), source.partition);
        let params: [SqlParam<'_>; 10] = [
            &self.key.consumer,
            &self.scopes,
            &self.ids,
            &self.ttls,
            &self.offsets,
            &topic,
            &partition,
            &self.digest,
            &self.epoch,
            &self.digests,
        ];
        client.query(&claim, &params).await
    }
}

/// The answers in the order of the claims; one whose offset did not come back is another's.
pub(super) fn answers(claims: &[ClaimRequest], taken: &[Row]) -> Vec<Claimed> {
    let mut answers = vec![Claimed::Duplicate; claims.len()];
    for row in taken {
        let found = claims.binary_search_by_key(&row.get::<_, i64>(0), |claim| claim.offset);
        if let Some(answer) = found.ok().and_then(|at| answers.get_mut(at)) {
            *answer = match row.get::<_, Option<&str>>(1) {
                None => Claimed::New,
                Some("rejected") => Claimed::Supersedes,
                Some(_) => Claimed::TakenOver,
            };
        }
    }
    answers
}

fn rise(claims: &[ClaimRequest]) -> bool {
    claims.is_sorted_by(|one, next| one.offset < next.offset)
}

fn are_distinct(sorted: &[&ClaimRequest]) -> bool {
    sorted.is_sorted_by(|one, next| key_of(one) < key_of(next))
}

fn micros(claim: &ClaimRequest) -> i64 {
    i64::try_from(claim.ttl.as_micros()).map_or(LONGEST_TTL_US, |us| us.min(LONGEST_TTL_US))
}

/// The order in which every host claims, which is the index's.
fn key_of(claim: &ClaimRequest) -> (&str, &str) {
    (claim.event_id.as_str(), &claim.scope)
}

impl Transaction {
    /// The claims that make these records duplicates, in their order. One that has been pruned since counts as
    /// another record's.
    pub async fn standing(&mut self, dups: &[&ClaimRequest]) -> Result<Vec<Standing>, Broken> {
        if dups.is_empty() {
            return Ok(Vec::new());
        }
        self.end_stay()
            .map_err(|why| Broken::from(unreachable(why)))?;
        if let Some(broken) = self.drain().await {
            return Err(broken);
        }
        let (source, epoch) = (self.key.source.clone(), self.log_epoch);
        let standing = find(&mut self.held, &self.key.consumer, dups).await;
        let standing = standing.map_err(|failure| {
            self.ledger.lost(failure.clone());
            Broken {
                offset: None,
                failure,
            }
        })?;
        let of = |dup: &&ClaimRequest| {
            let key = (dup.scope.to_string(), dup.event_id.as_str().to_owned());
            let found = standing.get(&key);
            let same = found.is_some_and(|found| {
                found.place
                    == (
                        source.topic.to_string(),
                        source.partition,
                        epoch,
                        dup.offset,
                    )
            });
            Standing {
                kind: if same {
                    DuplicateKind::Redelivery
                } else {
                    DuplicateKind::Republish
                },
                rejected: found.is_some_and(|found| found.rejected),
                age: found.map(|found| found.age),
            }
        };
        Ok(dups.iter().map(of).collect())
    }
}

/// What holds a claim, by scope and id.
type Found = HashMap<(String, String), Holder>;

struct Holder {
    /// Topic, partition, log epoch and offset of the record.
    place: (String, i32, i32, i64),
    rejected: bool,
    age: Age,
}

async fn find(
    connection: &mut Connection,
    consumer: &str,
    dups: &[&ClaimRequest],
) -> Result<Found, tidegate_core::failure::Failure> {
    let scopes = dups.iter().map(|d| &*d.scope).collect::<Vec<_>>();
    let ids = dups.iter().map(|d| d.event_id.as_str()).collect::<Vec<_>>();
    let rows = connection
        .query(STANDING, &[&consumer, &scopes, &ids])
        .await?;
    Ok(rows
        .iter()
        .map(|r| ((r.get(0), r.get(1)), holder(r)))
        .collect())
}

fn holder(row: &Row) -> Holder {
    // A transaction that began later may have claimed earlier.
    let micros = |column| Duration::from_micros(row.get::<_, i64>(column).try_into().unwrap_or(0));
    Holder {
        place: (row.get(2), row.get(3), row.get(4), row.get(5)),
        rejected: row.get(6),
        age: Age {
            old: micros(7),
            ttl: micros(8),
        },
    }
}
