//! Secrets and pass-through options, and files that hold them. No error repeats a value.

use std::collections::BTreeMap;
use std::path::Path;

use super::section::Section;
use super::tree::{Table, Value};

/// How a connection URL looks, for errors.
const URL_EXAMPLE: &str = r#"write for example "postgresql://app@localhost/shop""#;

/// `url`, or what the file named by `url_file` holds.
pub(super) fn url(postgres: &Section<'_>, base: &Path) -> String {
    let (url, file) = (postgres.text("url"), postgres.text("url_file"));
    let (given, key) = match (url, file) {
        (Some(_), Some(_)) => {
            postgres.error("url_file", "given beside url; keep one of them");
            return String::new();
        }
        (Some(url), None) => (url, "url"),
        (None, Some(file)) => match read_secret(base, &file) {
            Ok(url) => (url, "url_file"),
            Err(text) => {
                postgres.error("url_file", text);
                return String::new();
            }
        },
        (None, None) => {
            if !postgres.has("url_file") {
                let remedy = format!("{URL_EXAMPLE}, or url_file = \"PATH\"");
                postgres.missing("url", &remedy);
            }
            return String::new();
        }
    };
    check_url(postgres, key, &given);
    given
}

fn check_url(postgres: &Section<'_>, key: &str, url: &str) {
    let tls = [
        "sslmode=verify-ca",
        "sslmode=verify-full",
        "sslmode=require",
    ];
    if tls.iter().any(|mode| url.contains(mode)) {
        let text = "asks for TLS (sslmode), which this version cannot do; use sslmode=disable, over a network that you trust or a local TLS proxy";
        return postgres.error(key, text);
    }
    let Ok(parsed) = url.parse::<tokio_postgres::Config>() else {
        let text = "is not a PostgreSQL URL (special characters of a password are percent-encoded)";
        return postgres.error(key, format!("{text}; {URL_EXAMPLE}"));
    };
    if parsed.get_hosts().is_empty() && parsed.get_hostaddrs().is_empty() {
        postgres.error(key, format!("names no host; {URL_EXAMPLE}"));
    }
}

/// `[kafka.librdkafka]`: names as librdkafka spells them, quoted or dotted. `"NAME_file"` names a file that
/// holds the value.
pub(super) fn pass_through(options: &Section<'_>, base: &Path) -> BTreeMap<String, String> {
    let mut flat = flatten(options);
    let files: Vec<String> = flat
        .keys()
        .filter(|name| file_of(name).is_some())
        .cloned()
        .collect();
    for name in files {
        let (Some(path), Some(plain)) = (flat.remove(&name), file_of(&name)) else {
            continue;
        };
        if flat.contains_key(&plain) {
            options.error(&name, format!("given beside {plain}; keep one of them"));
            continue;
        }
        match read_secret(base, &path) {
            Ok(value) => drop(flat.insert(plain, value)),
            Err(text) => options.error(&name, text),
        }
    }
    flat
}

/// The option that `NAME_file` (from the environment: `NAME.file`) is the file of.
fn file_of(name: &str) -> Option<String> {
    let plain = name.strip_suffix("_file").or(name.strip_suffix(".file"))?;
    Some(plain.to_owned())
}

/// A table of free keys as name and text; tables inside it become dotted names.
pub(super) fn flatten(section: &Section<'_>) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::new();
    for (key, node) in section.nodes() {
        flatten_value(section, key.clone(), &node.value, &mut flat);
    }
    flat
}

fn flatten_value(
    section: &Section<'_>,
    name: String,
    value: &Value,
    flat: &mut BTreeMap<String, String>,
) {
    if let Value::Table(table) = value {
        return flatten_table(section, &name, table, flat);
    }
    match value.scalar() {
        Some(text) if !text.contains('\0') => drop(flat.insert(name, text)),
        Some(_) => section.error(&name, "holds a NUL character"),
        None => section.error(&name, "must be text, a number or a boolean, not a list"),
    }
}

fn flatten_table(
    section: &Section<'_>,
    name: &str,
    table: &Table,
    flat: &mut BTreeMap<String, String>,
) {
    for (key, node) in table {
        flatten_value(section, format!("{name}.{key}"), &node.value, flat);
    }
}

/// The most bytes of a file that holds a secret.
const SECRET_BYTES: u64 = 64 << 10;

fn read_secret(base: &Path, file: &str) -> Result<String, String> {
    let path = base.join(file);
    let shown = path.display();
    let size = std::fs::metadata(&path).map(|data| data.len());
    if size.is_ok_and(|size| size > SECRET_BYTES) {
        return Err(format!(
            "{shown} is too large for a secret; at most {SECRET_BYTES} bytes"
        ));
    }
    match std::fs::read_to_string(&path) {
        Ok(text) if text.trim().is_empty() => Err(format!("{shown} is empty")),
        Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => Err(format!("{shown} cannot be read: {error}")),
    }
}
