//! Which partition an error belongs to. librdkafka knows, but its bindings do not pass it on.

use tidegate_core::record::TopicPartition;

/// The partitions that may have been unable to read the batch at the offset that `text` names.
///
/// Such an error comes in its partition's order: the partition waits for that very offset, or for an earlier
/// one with a gap behind it. Where that leaves several, all are suspects: stopping an innocent one
/// costs a new start, letting the other go on would skip records. Unless one has `failed` already: behind a
/// bad batch librdkafka may be lost, and what it then says names no offset of anybody's. Then nobody is
/// named, and everybody's next gap is suspicious.
pub(super) fn suspects(
    text: &str,
    positions: &[(TopicPartition, i64)],
    failed: bool,
) -> Vec<(TopicPartition, i64)> {
    let of = |keep: &dyn Fn(i64) -> bool| -> Vec<_> {
        positions
            .iter()
            .filter(|(_, at)| keep(*at))
            .cloned()
            .collect()
    };
    let Some(offset) = offset_in(text) else {
        return of(&|_| !failed);
    };
    let exact = of(&|at| at == offset);
    if exact.is_empty() {
        of(&|at| !failed && at < offset)
    } else {
        exact
    }
}

/// The number behind the word "offset" or "message at" in librdkafka's text.
fn offset_in(text: &str) -> Option<i64> {
    let behind = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
    let rest = behind("at offset ").or_else(|| behind("message at "))?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn at(positions: &[i64]) -> Vec<(TopicPartition, i64)> {
        let tp = |partition| TopicPartition {
            topic: Arc::from("t"),
            partition,
        };
        (0..).map(tp).zip(positions.iter().copied()).collect()
    }

    #[test]
    fn the_partition_that_waits_for_the_batch_is_blamed() {
        let text = "MessageSet at offset 20 (99 bytes) failed CRC32C check";
        assert_eq!(
            suspects(text, &at(&[10, 20, 30]), true),
            at(&[10, 20, 30])[1..2]
        );
        assert_eq!(
            suspects(text, &at(&[10, 19, 30]), false),
            at(&[10, 19, 30])[..2]
        );
        let codec = "Decompression (codec 0x1) of message at 7 of 5 bytes failed";
        assert_eq!(suspects(codec, &at(&[7]), false), at(&[7]));
        assert!(suspects("MagicByte 120 at offset 8680", &at(&[1, 2]), true).is_empty());
        assert!(suspects("no number", &at(&[1, 2]), true).is_empty());
        assert!(suspects("MagicByte 120 at offset 1", &at(&[3, 2]), false).is_empty());
        assert_eq!(suspects("no number", &at(&[1, 2]), false).len(), 2);
    }
}
