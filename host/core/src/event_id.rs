//! Where a record's event id is found.

/// `[consumer.dedup] id` and `id_format`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdRule {
    /// The parts, joined in order; at least one.
    pub sources: Vec<IdSource>,
    /// How the id is read.
    pub format: IdFormat,
}

/// Where one part of an event id is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// `header:NAME`
    Header(String),
    /// `json:/pointer` into the value
    Json(String),
    /// `key`
    Key,
    /// `cloudevents`: the headers `ce_source` and `ce_id`
    CloudEvents,
    /// `position`: topic, partition and offset
    Position,
}

/// How an event id is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdFormat {
    /// Byte for byte.
    Bytes,
    /// A UUID in any of its spellings, normalised; anything else is refused.
    Uuid,
}
