//! The options that say which letters.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use tidegate_core::letter::CauseKind;
use tidegate_core::moment::parse_moment;

use super::super::{CliError, chosen};
use crate::config::{Config, ConsumerConfig};
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
    /// Only of this kind: what the code is to the host, whatever a handler calls it; may be given several times
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Vec<CauseKind>,
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
    since: Option<Moment>,
    /// Only rejected before then
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    until: Option<Moment>,
    /// Only rejected by the module whose digest begins so
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    module: Option<String>,
    /// Only those that led to this brake of their consumer, or tenant, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    episode: Option<i32>,
    /// Only of this tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Only this letter; may be given several times
    #[arg(long, value_name = "ID")]
    id: Vec<String>,
}

/// A moment, and how it was written.
#[derive(Clone, Debug)]
struct Moment {
    ms: i64,
    text: String,
}

fn moment(text: &str) -> Result<Moment, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
    let ms = parse_moment(text, now)?;
    let text = text.to_owned();
    Ok(Moment { ms, text })
}

fn kind(word: &str) -> Result<CauseKind, String> {
    let mut known = CauseKind::ALL.into_iter();
    known.find(|kind| kind.as_str() == word).ok_or_else(|| {
        let words = CauseKind::ALL.map(CauseKind::as_str).join(", ");
        format!("{word:?} is no kind of cause; there are {words}")
    })
}

fn digest(text: &str) -> Result<String, String> {
    let hex = (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    let refused = || format!("{text:?} is no beginning of a digest: 1 to 64 hexadecimal digits");
    hex.then(|| text.to_ascii_lowercase()).ok_or_else(refused)
}

impl FilterArgs {
    /// The consumer meant by what changes letters: the one named, or the only one there is.
    pub(super) fn one_consumer<'c>(
        &self,
        config: &'c Config,
    ) -> Result<&'c ConsumerConfig, CliError> {
        match chosen(config, self.consumer.as_deref())?.as_slice() {
            [one] => Ok(one),
            all => {
                let names: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
                Err(CliError::Usage(format!(
                    "this changes letters of one consumer: name it with --consumer; the configuration has {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// The filter, for that one consumer.
    pub(super) fn of_one(self, config: &Config, open: bool) -> Result<LetterFilter, CliError> {
        let consumers = vec![self.one_consumer(config)?.name.clone()];
        let filter = self.read(config, open)?;
        Ok(LetterFilter {
            consumers,
            ..filter
        })
    }

    /// The filter; of open letters alone, or of all; of the configuration's consumers, unless one is named.
    pub(super) fn read(self, config: &Config, open: bool) -> Result<LetterFilter, CliError> {
        let consumers = chosen(config, self.consumer.as_deref())?;
        Ok(LetterFilter {
            consumers: consumers.into_iter().map(|c| c.name.clone()).collect(),
            status: open.then_some(LetterStatus::Open),
            codes: self.code,
            kinds: self.kind,
            sqlstate: self.sqlstate,
            topic: self.topic,
            partition: self.partition,
            since_ms: self.since.map(|moment| moment.ms),
            until_ms: self.until.map(|moment| moment.ms),
            module: self.module,
            ids: self.id,
            unpublishable: false,
            episode: self.episode,
            tenant: self.tenant,
        })
    }
}

impl std::fmt::Display for FilterArgs {
    /// The options as they were given.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let moment = |moment: &Option<Moment>| moment.as_ref().map(|moment| moment.text.clone());
        let one = [
            ("consumer", self.consumer.clone()),
            ("sqlstate", self.sqlstate.clone()),
            ("topic", self.topic.clone()),
            (
                "partition",
                self.partition.map(|partition| partition.to_string()),
            ),
            ("since", moment(&self.since)),
            ("until", moment(&self.until)),
            ("module", self.module.clone()),
            ("episode", self.episode.map(|episode| episode.to_string())),
            ("tenant", self.tenant.clone()),
        ];
        let one = one
            .iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let codes = self.code.iter().map(|code| (&"code", code));
        let ids = self.id.iter().map(|id| (&"id", id));
        let kinds: Vec<String> = self
            .kind
            .iter()
            .map(|kind| kind.as_str().to_owned())
            .collect();
        let kinds = kinds.iter().map(|kind| (&"kind", kind));
        let all = one.chain(codes).chain(kinds).chain(ids);
        let words: Vec<String> = all
            .map(|(name, value)| format!("--{name} {value}"))
            .collect();
        f.write_str(&words.join(" "))
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
