//! A record's digest: what it is known again by, whatever rule its event id is read by.

use sha2::{Digest as _, Sha256};

use super::Record;

/// Of a record's key, value and headers. 16 bytes tell two records at one offset apart.
pub type Digest = [u8; LENGTH];

const LENGTH: usize = 16;

impl Record {
    /// The digest of key, value and headers. It is kept from one version of the host to the next: how it is made must
    /// not change. Each part stands behind its length, so that no two records read the same.
    pub fn digest(&self) -> Digest {
        let mut hash = Sha256::new();
        part(&mut hash, self.key.as_deref());
        part(&mut hash, self.value.as_deref());
        for header in &self.headers {
            part(&mut hash, Some(header.name.as_bytes()));
            part(&mut hash, header.value.as_deref());
        }
        hash.update(self.unreadable_headers.to_be_bytes());
        let mut digest = Digest::default();
        let whole = hash.finalize();
        digest.copy_from_slice(&whole[..LENGTH]);
        digest
    }
}

/// Null is not empty.
fn part(hash: &mut Sha256, bytes: Option<&[u8]>) {
    match bytes {
        None => hash.update([0]),
        Some(bytes) => {
            hash.update([1]);
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use bytes::Bytes;

    use crate::record::Header;
    use crate::testing::record;

    #[test]
    fn whatever_differs_shows_and_what_was_written_down_stays_true() {
        let header = |name: &str, value: Option<&'static str>| Header {
            name: name.to_owned(),
            value: value.map(Bytes::from),
        };
        let of = |key: Option<&'static str>, value: Option<&'static str>, headers: &[Header]| {
            let mut record = record();
            record.key = key.map(Bytes::from);
            record.value = value.map(Bytes::from);
            record.headers = headers.to_vec();
            record.digest()
        };
        let digests = [
            of(None, None, &[]),
            of(Some(""), None, &[]),
            of(None, Some(""), &[]),
            of(Some("a"), Some("b"), &[]),
            of(Some("ab"), Some(""), &[]),
            of(Some("a"), Some("b"), &[header("c", None)]),
            of(Some("a"), Some("b"), &[header("c", Some(""))]),
            of(
                Some("a"),
                Some("b"),
                &[header("c", Some("d")), header("e", None)],
            ),
            of(
                Some("a"),
                Some("b"),
                &[header("e", None), header("c", Some("d"))],
            ),
        ];
        let different: HashSet<_> = digests.iter().collect();
        assert_eq!(different.len(), digests.len());
        let first = of(Some("key"), Some("value"), &[header("event-id", Some("1"))]);
        assert_eq!(hex(&first), "128d623aa9d7cdd5d035f247b582dc79");
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
