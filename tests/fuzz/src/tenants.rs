//! Whose a record is.

use tidegate_core::tenant::{TenantName, TenantSource};

use crate::input::Fields;

/// A place and a record: a tenant's name is one that roles, scopes and metrics can hold, or there is none.
pub(crate) fn tenant(data: &[u8]) {
    let mut fields = Fields::new(data);
    let place = fields.text();
    let source = match TenantSource::parse(&place) {
        Ok(source) => source,
        Err(error) => return assert!(!error.is_empty()),
    };
    let record = fields.record();
    let found = source.of(&record);
    match &found {
        Ok(name) => {
            let text = name.as_str();
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
            assert!((1..=TenantName::MAX_BYTES).contains(&text.len()));
            assert!(text.as_bytes()[0].is_ascii_alphanumeric() && text.bytes().all(plain));
            assert!(source.fits(&record.source.topic));
            assert_eq!(name.scope("a").split_once('/'), Some((text, "a")));
        }
        Err(bad) => assert!(!bad.to_string().is_empty()),
    }
}
