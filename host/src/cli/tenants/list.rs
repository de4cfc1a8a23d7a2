//! `tenant list`.

use serde::Serialize;
use tidegate_core::tenant::TenantName;

use super::super::render::opt;
use super::super::render::{self, Row};
use super::super::{CliError, FormatArgs, chosen, open, output};
use crate::config::{Config, ConsumerConfig, TenantConfig, TenantsConfig, tenants};
use crate::inbox::{TenantRow, TenantState};

/// A tenant.
#[derive(Debug, Serialize)]
struct TenantView {
    consumer: String,
    tenant: String,
    /// `file`, `database`, or `nowhere` where only its state is kept.
    defined: &'static str,
    /// `running`, `disabled`, `braked`, or `unusable` where its definition cannot be read.
    state: &'static str,
    role: Option<String>,
    handler: Option<String>,
    dead_letter_topic: Option<String>,
    episode: i32,
    reason: Option<String>,
    /// When its row changed last, in UTC.
    since: Option<String>,
}

impl Row for TenantView {
    const COLUMNS: &'static [&'static str] = &[
        "consumer", "tenant", "defined", "state", "role", "handler", "episode", "reason",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.consumer.clone(),
            self.tenant.clone(),
            self.defined.to_owned(),
            self.state.to_owned(),
            opt(self.role.as_ref()),
            opt(self.handler.as_ref()),
            self.episode.to_string(),
            opt(self.reason.as_ref()),
        ]
    }
}

/// Lists the tenants of the file and of the database.
pub(super) async fn execute(
    config: &Config,
    consumer: Option<&str>,
    format: FormatArgs,
) -> Result<(), CliError> {
    let consumers = chosen(config, consumer)?;
    let inbox = open(config).await?;
    let mut views = Vec::new();
    for consumer in consumers {
        if let Some(of) = &consumer.tenants {
            let (_, rows) = inbox.tenants(&consumer.name).await?;
            views.extend(of_consumer(consumer, of, rows));
        }
    }
    let nothing = "no tenants";
    output::print(&render::list(format.format, &views, nothing))
}

fn of_consumer(
    consumer: &ConsumerConfig,
    of: &TenantsConfig,
    rows: Vec<TenantRow>,
) -> Vec<TenantView> {
    let has_row = |name: &TenantName| rows.iter().any(|row| row.name == *name);
    let alone = of.listed.iter().filter(|(name, _)| !has_row(name));
    let mut views: Vec<TenantView> = alone
        .map(|(name, config)| view(consumer, name, ("file", Ok(config)), None))
        .collect();
    for row in &rows {
        let read;
        let defined = match (of.listed.get(&row.name), &row.definition) {
            (Some(config), _) => ("file", Ok(config)),
            (None, Some(text)) => {
                read = tenants::definition(text, &row.name, consumer);
                let config = read.as_ref().map_err(ToString::to_string);
                ("database", config)
            }
            (None, None) => ("nowhere", Err(String::new())),
        };
        views.push(view(consumer, &row.name, defined, Some(row)));
    }
    views.sort_by(|a, b| a.tenant.cmp(&b.tenant));
    views
}

fn view(
    consumer: &ConsumerConfig,
    name: &TenantName,
    (defined, config): (&'static str, Result<&TenantConfig, String>),
    row: Option<&TenantRow>,
) -> TenantView {
    let state = row.map_or(TenantState::Running, |row| row.state);
    let unusable = config.as_ref().err().filter(|_| defined == "database");
    let own = config.as_ref().ok();
    TenantView {
        consumer: consumer.name.clone(),
        tenant: name.to_string(),
        defined,
        state: match (state, unusable) {
            (TenantState::Running, Some(_)) => "unusable",
            (state, _) => state.as_str(),
        },
        role: own.and_then(|own| own.guest.role.clone()),
        handler: own.map(|own| own.guest.handler.display().to_string()),
        dead_letter_topic: own.and_then(|own| own.dead_letter_topic.clone()),
        episode: row.map_or(0, |row| row.episode),
        reason: row
            .and_then(|row| row.reason.clone())
            .or_else(|| unusable.cloned()),
        since: row.map(|row| row.changed_at.clone()),
    }
}
