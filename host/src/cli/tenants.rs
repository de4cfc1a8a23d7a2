//! `tenant list`, `add`, `remove`, `disable` and `enable`.

mod define;
mod list;

use clap::{Args, Subcommand};
use tidegate_core::tenant::TenantName;

use super::{CliError, FormatArgs, chosen, open, output};
use crate::config::{Config, ConsumerConfig, TenantsConfig};
use crate::inbox::Inbox;
use define::DefinitionArgs;

/// Tenants.
#[derive(Debug, Subcommand)]
pub(super) enum TenantsCommand {
    /// List the tenants, where they are defined and whether they may run
    List {
        /// Only this consumer's
        #[arg(long, value_name = "NAME")]
        consumer: Option<String>,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Define a tenant, or define it anew: hosts take it up at their next batch
    Add {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        definition: DefinitionArgs,
    },
    /// Forget a tenant that `add` defined: its records are then those of an unknown one
    Remove {
        #[command(flatten)]
        which: Which,
    },
    /// Hold a tenant back on all hosts from their next batch on
    Disable {
        #[command(flatten)]
        which: Which,
        /// Why, for whoever looks next
        #[arg(long, default_value = "by an operator")]
        reason: String,
    },
    /// Let a disabled or braked tenant run again; letters that were put aside meanwhile are replayed on request
    Enable {
        #[command(flatten)]
        which: Which,
    },
}

/// Which tenant.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// The tenant
    #[arg(value_parser = name)]
    tenant: TenantName,
    /// Its consumer; may be left out where only one has tenants
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
}

fn name(text: &str) -> Result<TenantName, String> {
    TenantName::new(text).ok_or_else(|| {
        let most = TenantName::MAX_BYTES;
        format!("1 to {most} letters, digits, '.', '_' or '-', a letter or a digit first")
    })
}

/// Carries the command out.
pub(super) async fn execute(config: Config, command: TenantsCommand) -> Result<(), CliError> {
    match command {
        TenantsCommand::List { consumer, format } => {
            list::execute(&config, consumer.as_deref(), format).await
        }
        TenantsCommand::Add { which, definition } => {
            define::execute(&config, &which, &definition).await
        }
        TenantsCommand::Remove { which } => {
            let (consumer, tenants) = which.consumer(&config)?;
            not_listed(tenants, &which.tenant)?;
            let inbox = open(&config).await?;
            which.is_known(&inbox, consumer, tenants).await?;
            let removed = inbox.remove_tenant(&consumer.name, &which.tenant).await?;
            which.say(removed, "is removed", "was not added by a command")
        }
        TenantsCommand::Disable { which, reason } => {
            let (consumer, tenants) = which.consumer(&config)?;
            let inbox = open(&config).await?;
            which.is_known(&inbox, consumer, tenants).await?;
            let disabled = inbox.disable_tenant(&consumer.name, &which.tenant, &reason);
            which.say(disabled.await?, "is disabled", "is disabled already")
        }
        TenantsCommand::Enable { which } => {
            let (consumer, tenants) = which.consumer(&config)?;
            let inbox = open(&config).await?;
            which.is_known(&inbox, consumer, tenants).await?;
            let enabled = inbox.enable_tenant(&consumer.name, &which.tenant).await?;
            which.say(enabled, "may run again", "was not held back")
        }
    }
}

impl Which {
    /// The tenant's consumer: the one named, or the only one that has tenants.
    fn consumer<'c>(
        &self,
        config: &'c Config,
    ) -> Result<(&'c ConsumerConfig, &'c TenantsConfig), CliError> {
        let consumers = chosen(config, self.consumer.as_deref())?;
        let with = consumers
            .iter()
            .filter_map(|c| Some((*c, c.tenants.as_ref()?)));
        match with.collect::<Vec<_>>()[..] {
            [one] => Ok(one),
            [] => Err(CliError::Usage(
                "no such consumer has tenants: give it [consumer.tenants] in the configuration first".into(),
            )),
            [..] => Err(CliError::Usage(
                "several consumers have tenants: name one with --consumer".into(),
            )),
        }
    }

    /// A name that is written wrongly must not be taken for done.
    async fn is_known(
        &self,
        inbox: &Inbox,
        consumer: &ConsumerConfig,
        tenants: &TenantsConfig,
    ) -> Result<(), CliError> {
        let name = &self.tenant;
        let (_, rows) = inbox.tenants(&consumer.name).await?;
        if tenants.listed.contains_key(name) || rows.iter().any(|row| row.name == *name) {
            return Ok(());
        }
        Err(CliError::Failed(format!(
            "consumer {:?} has no tenant {:?}; `tidegate tenant list` names those that there are",
            consumer.name,
            name.as_str()
        )))
    }

    fn say(&self, changed: bool, done: &str, nothing: &str) -> Result<(), CliError> {
        let what = if changed { done } else { nothing };
        output::print(&format!("tenant {:?} {what}", self.tenant.as_str()))
    }
}

/// What the file defines, the file alone can change.
fn not_listed(tenants: &TenantsConfig, name: &TenantName) -> Result<(), CliError> {
    if tenants.listed.contains_key(name) {
        let text = format!(
            "tenant {:?} is defined in the configuration file: change it there, or take it out there first",
            name.as_str()
        );
        return Err(CliError::Usage(text));
    }
    Ok(())
}
