//! Records on their way to a verdict.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::claim::{ClaimRequest, EventId};
use tidegate_core::event_id::{IdRule, IdSource};
use tidegate_core::letter::{Cause, CauseKind};
use tidegate_core::progress::LastRecord;
use tidegate_core::record::Record;
use tidegate_core::tenant::TenantName;

use crate::config::{ConsumerConfig, DedupConfig, Scope};

/// A fetched record, its id and TTL checked, with what is known of its attempts.
#[derive(Debug)]
pub struct Pending {
    /// The record.
    pub record: Record,
    /// Its tenant, where records have tenants; one that names none is decided.
    pub tenant: Option<TenantName>,
    /// What it asks of the inbox.
    pub claim: Option<ClaimRequest>,
    /// The id that its handler sees; a record without a good one is decided.
    pub event_id: Option<EventId>,
    /// Why it will be dead-lettered, once that is decided.
    pub decided: Option<Cause>,
    /// Failed calls of its own.
    pub attempts: u32,
    /// Time that those, and the waits between them, took. Outages and neighbours' failures do not count.
    pub elapsed: Duration,
    /// Which replay of it this is; 0 for a record that comes from its topic.
    pub replay_round: u32,
    /// Before this it is not tried again.
    pub not_before: Option<Instant>,
    /// When it was fetched.
    pub fetched: Instant,
}

impl Pending {
    /// Takes a record in: a bad id or TTL is decided here, before it can fail a neighbour's claim.
    pub fn new(record: Record, config: &ConsumerConfig) -> Self {
        let named = tenant(&record, config);
        let tenant = named.as_ref().ok().cloned().flatten();
        let asked = match (unreadable(&record), named) {
            (Some(cause), _) | (None, Err(cause)) => Err(cause),
            (None, Ok(_)) if !config.dedup.enabled => position(&record).map(|id| (Some(id), None)),
            (None, Ok(tenant)) => claim(&record, tenant.as_ref(), &config.dedup)
                .map(|claim| (Some(claim.event_id.clone()), Some(claim))),
        };
        let ((event_id, claim), decided) = match asked {
            Ok(asked) => (asked, None),
            Err(cause) => ((None, None), Some(cause)),
        };
        Self {
            record,
            tenant,
            claim,
            event_id,
            decided,
            attempts: 0,
            elapsed: Duration::ZERO,
            replay_round: 0,
            not_before: None,
            fetched: Instant::now(),
        }
    }

    /// The record's offset.
    pub fn offset(&self) -> i64 {
        self.record.offset
    }

    /// What the progress row keeps of the record, so that the log is known again by it. Reads all of it: once a batch.
    pub fn last_record(&self) -> LastRecord {
        LastRecord {
            offset: self.offset(),
            timestamp_ms: self.record.timestamp.millis(),
            digest: Some(self.record.digest()),
            event_id: self.known_id(),
        }
    }

    /// The event id, if the record has a good one.
    pub fn known_id(&self) -> Option<String> {
        self.event_id.as_ref().map(|id| id.as_str().to_owned())
    }

    /// The scope of the event id.
    pub fn scope(&self) -> &str {
        self.claim.as_ref().map_or("", |claim| &claim.scope)
    }

    /// The tenant's name.
    pub fn tenant(&self) -> Option<String> {
        self.tenant.as_ref().map(|name| name.as_str().to_owned())
    }
}

/// A header whose name is not UTF-8 cannot be handed to a handler, and its value cannot be read.
fn unreadable(record: &Record) -> Option<Cause> {
    let message = "a header's name is not UTF-8; its value cannot be read";
    (record.unreadable_headers > 0)
        .then(|| cause(CauseKind::Header, "bad-header", message.to_owned()))
}

/// The tenant that the record names, where records have tenants.
fn tenant(record: &Record, config: &ConsumerConfig) -> Result<Option<TenantName>, Cause> {
    let Some(tenants) = &config.tenants else {
        return Ok(None);
    };
    Ok(Some(tenants.from.of(record)?))
}

/// No tenant can suppress another's event: ids are unique within one.
fn claim(
    record: &Record,
    tenant: Option<&TenantName>,
    dedup: &DedupConfig,
) -> Result<ClaimRequest, Cause> {
    let event_id = dedup.id.extract(record).map_err(Cause::from)?;
    let ttl = dedup.ttl.of(record).map_err(Cause::from)?;
    let scope = match dedup.scope {
        Scope::Consumer => Arc::default(),
        Scope::Topic => Arc::clone(&record.source.topic),
    };
    let scope = tenant.map_or(scope.clone(), |tenant| tenant.scope(&scope));
    Ok(ClaimRequest {
        scope,
        event_id,
        ttl,
        offset: record.offset,
    })
}

fn position(record: &Record) -> Result<EventId, Cause> {
    let rule = IdRule {
        sources: vec![IdSource::Position],
        format: tidegate_core::event_id::IdFormat::Bytes,
    };
    rule.extract(record).map_err(Cause::from)
}

fn cause(kind: CauseKind, code: &str, message: String) -> Cause {
    Cause {
        kind,
        code: code.to_owned(),
        message,
        server: None,
        sqlstate: None,
        attempts: 0,
    }
}
