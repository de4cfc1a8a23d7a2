//! Named points of a record's life, at which a test kills, stops or holds the host.
//!
//! Without the feature `failpoints` there is nothing behind them. With it they are armed by [`arm`] alone, which the
//! product's binary never calls: neither its configuration nor its environment reaches them.

#[cfg(feature = "failpoints")]
mod armed;

#[cfg(feature = "failpoints")]
pub use armed::{arm, at};

/// Passes a point. `offset` is the record's; of a batch it is that of its last record, of a position N.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn at(_point: Point, _offset: i64) {}

/// Where a record, its batch, its offset or its dead letter has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// The owner's token stands in the progress row.
    TokenTaken,
    /// The position is decided and written down.
    Placed,
    /// The record was fetched; it is not in its queue yet.
    Queued,
    /// The batch is cut; its transaction is not begun.
    BatchCut,
    /// A record that is to run alone is announced; its transaction is not begun.
    Marked,
    /// The fence and the claims are answered.
    Begun,
    /// The handler is about to be called.
    BeforeCall,
    /// The handler has returned.
    AfterCall,
    /// Every handler has returned; the last flight is not sent.
    GuestsDone,
    /// The proof is answered; COMMIT is not sent.
    Proved,
    /// COMMIT is with the driver; its answer is not read.
    CommitSent,
    /// COMMIT is answered; nothing else has happened since.
    Committed,
    /// Kafka is about to be told of N.
    OffsetSending,
    /// Kafka has acknowledged an offset.
    OffsetAcknowledged,
    /// C is about to be written by itself.
    AcknowledgedWriting,
    /// The partition is given back: Kafka's offset and C have come up to N as far as there was time.
    GivenBack,
    /// A dead letter is about to be published.
    LetterPublishing,
    /// A dead letter is published and not marked so.
    LetterPublished,
    /// Letters are marked as published.
    LettersMarked,
}

impl Point {
    /// All of them, in the order in which a record meets them.
    pub const ALL: [Self; 19] = [
        Self::TokenTaken,
        Self::Placed,
        Self::Queued,
        Self::BatchCut,
        Self::Marked,
        Self::Begun,
        Self::BeforeCall,
        Self::AfterCall,
        Self::GuestsDone,
        Self::Proved,
        Self::CommitSent,
        Self::Committed,
        Self::OffsetSending,
        Self::OffsetAcknowledged,
        Self::AcknowledgedWriting,
        Self::GivenBack,
        Self::LetterPublishing,
        Self::LetterPublished,
        Self::LettersMarked,
    ];

    /// The name by which it is armed.
    pub fn name(self) -> &'static str {
        match self {
            Self::TokenTaken => "token-taken",
            Self::Placed => "placed",
            Self::Queued => "queued",
            Self::BatchCut => "batch-cut",
            Self::Marked => "marked",
            Self::Begun => "begun",
            Self::BeforeCall => "before-call",
            Self::AfterCall => "after-call",
            Self::GuestsDone => "guests-done",
            Self::Proved => "proved",
            Self::CommitSent => "commit-sent",
            Self::Committed => "committed",
            Self::OffsetSending => "offset-sending",
            Self::OffsetAcknowledged => "offset-acknowledged",
            Self::AcknowledgedWriting => "acknowledged-writing",
            Self::GivenBack => "given-back",
            Self::LetterPublishing => "letter-publishing",
            Self::LetterPublished => "letter-published",
            Self::LettersMarked => "letters-marked",
        }
    }
}
