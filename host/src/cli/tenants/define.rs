//! `tenant add`: a definition out of options or a file, checked before it is stored.

use std::path::PathBuf;

use clap::Args;
use toml::{Table, Value};

use super::super::{CliError, open, output};
use super::{Which, not_listed};
use crate::config::{Config, tenants};
use crate::inbox::Inbox;

/// What the tenant has of its own. What is left out is the consumer's.
#[derive(Debug, Args)]
pub(in crate::cli) struct DefinitionArgs {
    /// The database role that its statements run under
    #[arg(long)]
    role: Option<String>,
    /// Its module's file on every host, relative to the configuration file
    #[arg(long, value_name = "FILE")]
    handler: Option<String>,
    /// A topic of its own for its dead letters
    #[arg(long, value_name = "TOPIC")]
    dead_letter_topic: Option<String>,
    /// A limit, such as cpu=200ms; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    limit: Vec<(String, String)>,
    /// A setting that its handler reads; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// All of it as TOML, with the keys of [consumer.tenant.NAME]; options come on top
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Checks the definition as hosts will read it, and stores it.
pub(super) async fn execute(
    config: &Config,
    which: &Which,
    args: &DefinitionArgs,
) -> Result<(), CliError> {
    let (consumer, listed) = which.consumer(config)?;
    not_listed(listed, &which.tenant)?;
    let definition = args.definition()?.to_string();
    let tenant = tenants::definition(&definition, &which.tenant, consumer)
        .map_err(|errors| CliError::Usage(errors.to_string()))?;
    let inbox = open(config).await?;
    if let Some(role) = &tenant.guest.role {
        check_role(&inbox, role).await?;
    }
    if !tenant.guest.handler.is_file() {
        let handler = tenant.guest.handler.display();
        output::print(&format!(
            "note: {handler} is not here; every host must have it, or puts the tenant's records aside"
        ))?;
    }
    let new = inbox
        .define_tenant(&consumer.name, &which.tenant, &definition)
        .await?;
    which.say(new, "is added", "is defined anew")
}

/// A role that nobody may give to a handler is refused before anybody is told to grant it.
async fn check_role(inbox: &Inbox, role: &str) -> Result<(), CliError> {
    let (login, found) = inbox.rights(None, &[role]).await?;
    let excess = match found.first() {
        None => {
            return Err(CliError::Failed(format!(
                "the role {role:?} does not exist; CREATE ROLE \"{role}\" NOLOGIN; GRANT \"{role}\" TO \"{}\"",
                login.name
            )));
        }
        // One login for all is how one begins, and what `check --database` warns of.
        Some(_) if role == login.name => None,
        Some(found) => found.excess(),
    };
    match excess {
        Some(excess) => Err(CliError::Failed(format!(
            "the role {role:?} {excess}: no handler may have it; give the tenant a role of its own"
        ))),
        None => Ok(()),
    }
}

impl DefinitionArgs {
    fn definition(&self) -> Result<Table, CliError> {
        let mut table = match &self.file {
            Some(file) => read(file)?,
            None => Table::new(),
        };
        let texts = [
            ("role", &self.role),
            ("handler", &self.handler),
            ("dead_letter_topic", &self.dead_letter_topic),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                table.insert(key.to_owned(), text.as_str().into());
            }
        }
        merge(&mut table, "limits", &self.limit);
        merge(&mut table, "settings", &self.set);
        Ok(table)
    }
}

fn read(file: &PathBuf) -> Result<Table, CliError> {
    let failed = |reason: String| CliError::Usage(format!("{}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    text.parse::<Table>()
        .map_err(|error| failed(error.to_string()))
}

/// Lays pairs over a table of the table. A whole number is written as one.
fn merge(table: &mut Table, key: &str, pairs: &[(String, String)]) {
    if pairs.is_empty() {
        return;
    }
    let inner = table
        .entry(key)
        .or_insert_with(|| Value::Table(Table::new()));
    let Value::Table(inner) = inner else {
        return;
    };
    for (name, value) in pairs {
        let value = value
            .parse::<i64>()
            .map_or_else(|_| Value::from(value.as_str()), Value::from);
        inner.insert(name.clone(), value);
    }
}
