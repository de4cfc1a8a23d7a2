//! A narrow door for the fuzz targets: readers of text from outside, without files and environment.

use std::path::Path;

use super::load::{CheckOptions, checked};
use super::overlay::Environment;
use super::postgres_url::{PostgresUrl, has_password, without_password};
use super::{Config, ConfigErrors, UrlError};

/// Reads `text` as the configuration that stands at `path`.
///
/// # Errors
/// As [`load`](super::load).
pub fn config(text: &str, path: &Path, check: CheckOptions) -> Result<Config, ConfigErrors> {
    checked(text, path, Environment::new([]), check)
}

/// Reads `text` as the database's URL and answers what is shown of it, and whether that holds a password.
///
/// # Errors
/// What is wrong, without the URL's text.
pub fn url(text: &str, directory: &Path) -> Result<(String, bool), UrlError> {
    PostgresUrl::parse(text, directory)?;
    let shown = without_password(text);
    let leaks = has_password(&shown);
    Ok((shown, leaks))
}
