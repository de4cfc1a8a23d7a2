//! `harden`: the SQL that takes from everybody what no handler needs.

use clap::Args;

use super::{CliError, guests, output};
use crate::config::Config;
use crate::inbox::{Inbox, Measure, Wall};

/// Arguments of `harden`.
#[derive(Debug, Args)]
pub(super) struct HardenArgs {
    /// Run it too, in one transaction; needs a superuser: TIDEGATE__POSTGRES__URL names one for once
    #[arg(long)]
    apply: bool,
    /// The login that the host runs under; default: that of postgres.url
    #[arg(long, value_name = "NAME")]
    login: Option<String>,
}

/// Prints what is to be done, and does it if asked to.
pub(super) async fn execute(config: &Config, args: HardenArgs) -> Result<(), CliError> {
    let inbox = Inbox::new(&config.postgres, Wall::default())?;
    let guests = guests::of(config, &inbox).await;
    let roles = guests::roles(&guests);
    let (login, _) = inbox.rights(args.login.as_deref(), &roles).await?;
    let measures = inbox.measures(&login.name, &roles).await?;
    if measures.is_empty() {
        return output::print("-- nothing is left to be done");
    }
    for measure in &measures {
        output::print(&text(measure))?;
    }
    if !args.apply {
        return Ok(());
    }
    inbox.take(&measures).await?;
    // A REVOKE by somebody else than who granted it does nothing, and only a warning says so.
    let left = inbox.measures(&login.name, &roles).await?;
    match left.len() {
        0 => output::print("-- done"),
        n => Err(CliError::Failed(format!(
            "{n} of {} statements had no effect: they need a superuser, or the owner of what they name; the first is: {}",
            measures.len(),
            left[0].sql
        ))),
    }
}

fn text(measure: &Measure) -> String {
    format!("-- {}: {}\n{};", measure.what, measure.why, measure.sql)
}
