//! Stand-ins for what the core is about to provide.

use std::time::Duration;

use tidegate_core::event_id::{IdFormat, IdRule, IdSource};

pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let count: u64 = digits.parse().map_err(|_| "no number".to_owned())?;
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "ms" => return Ok(Duration::from_millis(count)),
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return Err("no unit".into()),
    };
    Ok(Duration::from_secs(count * unit))
}

pub(super) fn parse_id_rule(parts: &[String], format: IdFormat) -> Result<IdRule, String> {
    let sources = parts.iter().map(|part| match part.as_str() {
        "key" => Ok(IdSource::Key),
        "position" => Ok(IdSource::Position),
        "cloudevents" => Ok(IdSource::CloudEvents),
        other => match other.split_once(':') {
            Some(("header", name)) => Ok(IdSource::Header(name.into())),
            Some(("json", pointer)) => Ok(IdSource::Json(pointer.into())),
            _ => Err(format!("{other:?} is no source of ids")),
        },
    });
    Ok(IdRule {
        sources: sources.collect::<Result<_, String>>()?,
        format,
    })
}

pub(super) fn batch_default() -> tidegate_core::batch::BatchLimits {
    tidegate_core::batch::BatchLimits {
        max_records: 500,
        max_bytes: 4 << 20,
        max_wait: Duration::ZERO,
    }
}

pub(super) fn retry_default() -> tidegate_core::backoff::RetryPolicy {
    tidegate_core::backoff::RetryPolicy {
        initial: Duration::from_millis(500),
        max: Duration::from_secs(30),
        max_elapsed: Duration::from_secs(600),
    }
}
