//! `config show`: the configuration as it holds, secrets left out.

use clap::{Args, Subcommand, ValueEnum};

use super::{CliError, output};
use crate::config::Config;

/// What can be asked about the configuration.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Every key with the value that holds: file, environment and defaults; secrets are left out
    Show(ShowArgs),
}

/// Arguments of `config show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// How it is printed
    #[arg(long, value_enum, default_value_t = ConfigFormat::Toml)]
    format: ConfigFormat,
}

/// How a configuration is printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ConfigFormat {
    /// As the file is written
    Toml,
    /// One JSON object
    Json,
}

/// Prints it.
pub(super) fn execute(config: &Config, command: &ConfigCommand) -> Result<(), CliError> {
    let ConfigCommand::Show(ShowArgs { format }) = command;
    let text = match format {
        ConfigFormat::Toml => toml::to_string_pretty(&config.shown).map_err(|e| e.to_string()),
        ConfigFormat::Json => {
            serde_json::to_string_pretty(&config.shown).map_err(|e| e.to_string())
        }
    };
    output::print(text.map_err(CliError::Failed)?.trim_end())
}
