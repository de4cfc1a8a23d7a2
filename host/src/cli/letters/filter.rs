//! The options that say which letters.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use tidegate_core::moment::parse_moment;

use super::super::{CliError, chosen};
use crate::config::Config;
use crate::inbox::{LetterFilter, LetterStatus};

/// Which letters; what is given must hold, all of it.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct FilterArgs {
    /// Only this consumer's
    #[arg(long, value_name = "NAME")]
    pub(super) consumer: Option<String>,
    /// Only with this code; may be given several times
    #[arg(long, value_name = "CODE")]
    code: Vec<String>,
    /// Only with this SQLSTATE
    #[arg(long, value_name = "CODE")]
    sqlstate: Option<String>,
    /// Only of this topic
    #[arg(long)]
    topic: Option<String>,
    /// Only of this partition
    #[arg(long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Only rejected since then: "2h" (ago) or "2026-05-01T12:00:00Z"
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    since: Option<i64>,
    /// Only rejected before then
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    until: Option<i64>,
    /// Only rejected by the module whose digest begins so
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    module: Option<String>,
    /// Only this letter; may be given several times
    #[arg(long, value_name = "ID")]
    id: Vec<String>,
}

fn moment(text: &str) -> Result<i64, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
    parse_moment(text, now)
}

fn digest(text: &str) -> Result<String, String> {
    let hex = (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    let refused = || format!("{text:?} is no beginning of a digest: 1 to 64 hexadecimal digits");
    hex.then(|| text.to_ascii_lowercase()).ok_or_else(refused)
}

impl FilterArgs {
    /// The filter; of open letters alone, or of all.
    pub(super) fn read(self, config: &Config, open: bool) -> Result<LetterFilter, CliError> {
        chosen(config, self.consumer.as_deref())?;
        Ok(LetterFilter {
            consumer: self.consumer,
            status: open.then_some(LetterStatus::Open),
            codes: self.code,
            sqlstate: self.sqlstate,
            topic: self.topic,
            partition: self.partition,
            since_ms: self.since,
            until_ms: self.until,
            module: self.module,
            ids: self.id,
            unpublishable: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_by_its_beginning() {
        assert_eq!(digest("0aF"), Ok("0af".to_owned()));
        for bad in ["", "xyz", &"a".repeat(65)] {
            assert!(digest(bad).is_err(), "{bad}");
        }
    }
}
