//! A published dead letter's headers.

use tidegate_core::letter::{self, Cause, CauseKind, ID, LetterFacts, PREFIX, Profile};
use tidegate_core::record::Header;

use crate::input::Fields;

/// What each profile's names begin with.
const PROFILES: [(Profile, &str); 3] = [
    (Profile::Tidegate, PREFIX),
    (Profile::Spring, "kafka_dlt-"),
    (Profile::Connect, "__connect.errors."),
];

/// Code, message, event id and a record. Its own headers stay as they are, whoever's they are; ours are there once, in
/// bounds.
pub(crate) fn headers(data: &[u8]) {
    let mut fields = Fields::new(data);
    let cause = Cause {
        kind: CauseKind::Handler,
        code: fields.text().into_owned(),
        message: fields.text().into_owned(),
        server: None,
        sqlstate: None,
        attempts: u32::from(fields.byte()),
    };
    let event_id = fields.text();
    let record = fields.record();
    let facts = LetterFacts {
        id: "0f",
        consumer: "orders",
        group: "orders",
        cluster_id: "c",
        record: &record,
        cause: &cause,
        replay_round: 0,
        event_id: Some(&event_id),
        tenant: None,
        module_digest: None,
        rejected_at_ms: i64::from(cause.attempts) << 56,
    };
    for (profile, prefix) in PROFILES {
        let own = |header: &&Header| {
            let name = header.name.to_ascii_lowercase();
            name.starts_with(prefix) || name.starts_with(PREFIX)
        };
        let published = letter::headers(profile, &facts);
        let foreign = record.headers.iter().filter(|header| !own(header));
        assert!(foreign.eq(published.iter().filter(|header| !own(header))));
        let mut names: Vec<_> = published.iter().filter(own).map(|h| &h.name).collect();
        assert!(names.iter().any(|name| *name == ID));
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
        assert!(
            published
                .iter()
                .filter(own)
                .filter(|h| h.name.contains("message") || h.name.contains("trace"))
                .all(bounded_text)
        );
    }
}

fn bounded_text(header: &Header) -> bool {
    let value = header.value.as_deref().unwrap_or_default();
    value.len() <= letter::MAX_TRACE_BYTES && std::str::from_utf8(value).is_ok()
}
