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

/// The partitions whose log may have been cut below where they stand, where `text` says that one was: librdkafka has
/// found out by the leader's epochs and fetches that partition no more, although its offset is there again. Several may
/// stand at one offset; one that is blamed without reason is looked at and goes on.
pub(super) fn cut(text: &str, positions: &[(TopicPartition, i64)]) -> Vec<(TopicPartition, i64)> {
    let said = [
        "log truncation detected at ",
        "No epoch found less or equal to ",
    ];
    let behind = said.iter().find_map(|words| text.split_once(words));
    let Some(offset) = behind.and_then(|(_, rest)| number(rest.strip_prefix("offset ")?)) else {
        return Vec::new();
    };
    let stands = |exactly: bool| {
        let all = positions.iter().cloned();
        let there = all.filter(|(_, at)| *at == offset || !exactly && *at < offset);
        there.collect::<Vec<_>>()
    };
    let exact = stands(true);
    if exact.is_empty() {
        stands(false)
    } else {
        exact
    }
}

/// The number behind the word "offset" or "message at" in librdkafka's text.
fn offset_in(text: &str) -> Option<i64> {
    let behind = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
    let rest = behind("at offset ").or_else(|| behind("message at "))?;
    number(rest)
}

fn number(text: &str) -> Option<i64> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
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

    #[test]
    fn a_partition_whose_log_was_cut_is_the_one_that_stands_where_it_was_cut() {
        let text = "Partition log truncation detected at offset 20 (leader epoch 3): broker end offset is 5 (offset \
                    leader epoch 2). Reset to INVALID.: Local: Partition log truncation detected (broker 1)";
        assert_eq!(cut(text, &at(&[10, 20, 30])), at(&[10, 20, 30])[1..2]);
        assert_eq!(
            cut(text, &at(&[10, 30])),
            at(&[10, 30])[..1],
            "a gap before it"
        );
        let epoch =
            "No epoch found less or equal to offset 7 (leader epoch 1): broker end offset is -1";
        assert_eq!(cut(epoch, &at(&[7])), at(&[7]));
        let range = "fetch failed due to requested offset not available on the broker: offset 7";
        assert!(
            cut(range, &at(&[7])).is_empty(),
            "the broker is asked for the range"
        );
    }
}
