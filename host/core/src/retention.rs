//! How long a topic keeps its records, beside how long event ids are remembered.

use std::time::Duration;

/// For how long a topic keeps records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// At least so long, by `retention.ms`.
    For(Duration),
    /// For ever: `retention.ms = -1`.
    Forever,
    /// The latest of each key, for ever: compacted, and nothing else.
    Compacted,
}

impl Retention {
    /// Reads the topic's settings `cleanup.policy` (a list) and `retention.ms`; none if they make no sense. What is not
    /// told is Kafka's default: deleted after seven days.
    pub fn read(policy: Option<&str>, retention_ms: Option<&str>) -> Option<Self> {
        let policies: Vec<_> = policy
            .unwrap_or("delete")
            .split(',')
            .map(str::trim)
            .collect();
        if !policies.contains(&"delete") && policies.contains(&"compact") {
            return Some(Retention::Compacted);
        }
        match retention_ms.unwrap_or("604800000").parse::<i64>().ok()? {
            ms if ms < 0 => Some(Retention::Forever),
            ms => Some(Retention::For(Duration::from_millis(ms.unsigned_abs()))),
        }
    }

    /// What to warn about where ids are remembered for `ttl`: records that outlive them.
    pub fn outlives(self, topic: &str, ttl: Duration) -> Option<String> {
        let keeps = match self {
            Retention::For(kept) if kept <= ttl => return None,
            Retention::For(kept) => format!("keeps its records for {} (retention.ms)", words(kept)),
            Retention::Forever => "keeps its records for ever (retention.ms = -1)".to_owned(),
            Retention::Compacted => {
                "keeps the latest record of each key for ever (cleanup.policy = compact)".to_owned()
            }
        };
        Some(format!(
            "event ids are remembered for {} (dedup.ttl), but topic {topic:?} {keeps}: a rewind beyond the TTL handles its records again; raise dedup.ttl, or lower the topic's retention",
            words(ttl)
        ))
    }
}

/// A duration in its largest unit that divides it, as the configuration writes it.
fn words(duration: Duration) -> String {
    let ms = duration.as_millis();
    let units = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
    ];
    let fits = units
        .iter()
        .find(|(size, _)| ms > 0 && ms.is_multiple_of(*size));
    fits.map_or_else(
        || format!("{ms}ms"),
        |(size, unit)| format!("{}{unit}", ms / size),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn the_brokers_settings_are_read() {
        let read = |policy, ms| Retention::read(Some(policy), Some(ms));
        assert_eq!(read("delete", "604800000"), Some(Retention::For(7 * DAY)));
        assert_eq!(read("delete", "-1"), Some(Retention::Forever));
        assert_eq!(read("compact", "604800000"), Some(Retention::Compacted));
        assert_eq!(
            read("compact,delete", "86400000"),
            Some(Retention::For(DAY))
        );
        assert_eq!(read("delete, compact", "-1"), Some(Retention::Forever));
        assert_eq!(read("delete", "soon"), None);
        assert_eq!(Retention::read(None, None), Some(Retention::For(7 * DAY)));
    }

    #[test]
    fn what_outlives_its_ids_is_warned_about() {
        let of = |retention: Retention| retention.outlives("t", 7 * DAY);
        assert_eq!(of(Retention::For(7 * DAY)), None);
        assert_eq!(of(Retention::For(DAY)), None);
        let longer = of(Retention::For(30 * DAY));
        assert!(longer.is_some_and(|text| text.contains("for 7d (dedup.ttl)") && text.contains("for 30d")));
        assert!(of(Retention::Forever).is_some_and(|text| text.contains("for ever")));
        assert!(of(Retention::Compacted).is_some_and(|text| text.contains("compact")));
        assert_eq!(words(Duration::from_millis(1500)), "1500ms");
        assert_eq!(words(Duration::from_secs(90)), "90s");
    }
}
