//! `dlt publish`: letters that the dead letter topic did not take are tried again.

use super::super::{CliError, open, output};
use crate::config::Config;
use crate::inbox::LetterFilter;

/// Takes the marks away.
pub(super) async fn execute(config: &Config, filter: LetterFilter) -> Result<(), CliError> {
    let filter = LetterFilter {
        unpublishable: true,
        ..filter
    };
    match open(config).await?.release_unpublishable(&filter).await? {
        0 => output::print("no unpublishable dead letters match; nothing to publish"),
        letters => output::print(&format!(
            "{letters} dead letters will be tried again by the hosts that own their partitions"
        )),
    }
}
