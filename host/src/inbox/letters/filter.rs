//! Which letters: the conditions that listing, exporting, discarding, publishing and replaying share.

use tidegate_core::letter::CauseKind;

use super::super::SqlParam;
use super::LetterStatus;

/// Which letters. What is not given does not count.
#[derive(Clone, Debug, Default)]
pub struct LetterFilter {
    /// Of one of these consumers, if there are any.
    pub consumers: Vec<String>,
    /// With this status.
    pub status: Option<LetterStatus>,
    /// With one of these codes, if there are any.
    pub codes: Vec<String>,
    /// Of one of these kinds, if there are any.
    pub kinds: Vec<CauseKind>,
    /// With this SQLSTATE.
    pub sqlstate: Option<String>,
    /// Of this topic.
    pub topic: Option<String>,
    /// Of this partition.
    pub partition: Option<i32>,
    /// Rejected then or later, milliseconds since 1970 UTC.
    pub since_ms: Option<i64>,
    /// Rejected before then, milliseconds since 1970 UTC.
    pub until_ms: Option<i64>,
    /// Rejected by a module whose digest, in lower case hexadecimal, begins with this.
    pub module: Option<String>,
    /// With one of these ids, now or before a replay, if there are any.
    pub ids: Vec<String>,
    /// That the dead letter topic does not take, in this round or an earlier one.
    pub unpublishable: bool,
    /// That led to this brake of their consumer, or tenant.
    pub episode: Option<i32>,
    /// Of this tenant.
    pub tenant: Option<String>,
}

/// The condition on `tidegate.dead_letters d`, by parameters 1 to 14.
macro_rules! matching {
    () => {
        "($1::text[] IS NULL OR d.consumer_name = ANY ($1)) AND ($2::text IS NULL OR d.status = $2) \
         AND ($3::text[] IS NULL OR d.code = ANY ($3)) AND ($4::text IS NULL OR d.sqlstate = $4) \
         AND ($5::text IS NULL OR d.topic = $5) AND ($6::int IS NULL OR d.partition = $6) \
         AND ($7::bigint IS NULL OR d.created_at >= to_timestamp($7::bigint / 1000.0)) \
         AND ($8::bigint IS NULL OR d.created_at < to_timestamp($8::bigint / 1000.0)) \
         AND ($9::text IS NULL OR starts_with(encode(d.module_digest, 'hex'), $9)) \
         AND ($10::text[] IS NULL OR d.id = ANY ($10) OR d.former_ids && $10) \
         AND (NOT $11::bool OR d.unpublishable IS NOT NULL OR EXISTS ( \
             SELECT 1 FROM tidegate.dead_letter_rounds o WHERE o.letter_id = d.id AND o.unpublishable IS NOT NULL)) AND ($12::int IS NULL OR d.episode = $12) \
         AND ($13::text IS NULL OR d.tenant = $13) AND ($14::text[] IS NULL OR d.kind = ANY ($14))"
    };
}
pub(in crate::inbox) use matching;

/// A filter as the parameters of [`matching`].
pub(in crate::inbox) struct Given<'a> {
    filter: &'a LetterFilter,
    status: Option<&'static str>,
    consumers: Option<&'a [String]>,
    codes: Option<&'a [String]>,
    ids: Option<&'a [String]>,
    kinds: Option<Vec<&'static str>>,
}

impl<'a> From<&'a LetterFilter> for Given<'a> {
    fn from(filter: &'a LetterFilter) -> Self {
        let some = |list: &'a Vec<String>| (!list.is_empty()).then_some(list.as_slice());
        let kinds: Vec<&str> = filter.kinds.iter().map(|kind| kind.as_str()).collect();
        Self {
            filter,
            status: filter.status.map(LetterStatus::as_str),
            consumers: some(&filter.consumers),
            codes: some(&filter.codes),
            ids: some(&filter.ids),
            kinds: (!kinds.is_empty()).then_some(kinds),
        }
    }
}

impl Given<'_> {
    /// The parameters, and further ones behind them.
    pub(in crate::inbox) fn with<'s, const N: usize>(
        &'s self,
        more: [SqlParam<'s>; N],
    ) -> Vec<SqlParam<'s>> {
        let filter = self.filter;
        let own: [SqlParam<'s>; 14] = [
            &self.consumers,
            &self.status,
            &self.codes,
            &filter.sqlstate,
            &filter.topic,
            &filter.partition,
            &filter.since_ms,
            &filter.until_ms,
            &filter.module,
            &self.ids,
            &filter.unpublishable,
            &filter.episode,
            &filter.tenant,
            &self.kinds,
        ];
        own.into_iter().chain(more).collect()
    }
}
