//! Secrets and pass-through options, and files that hold them. No error repeats a value.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::postgres_url::{self, PostgresUrl, Roots, Verify};
use super::section::Section;
use super::shown::SECRET;
use super::tree::{Table, Value};

/// How a connection URL looks, for errors.
const URL_EXAMPLE: &str = r#"write for example "postgresql://app@localhost/shop""#;

/// `url`, or what the file named by `url_file` holds.
pub(super) fn url(postgres: &Section<'_>, base: &Path) -> String {
    let Some((given, key)) = secret(postgres, ("url", "url_file"), base) else {
        if !postgres.has("url") && !postgres.has("url_file") {
            let remedy = format!("{URL_EXAMPLE}, or url_file = \"PATH\"");
            postgres.missing("url", &remedy);
        }
        return String::new();
    };
    match PostgresUrl::parse(&given, base) {
        Ok(url) => {
            readable(postgres, key, &url);
            if let Some(text) = url.warning {
                postgres.warn(key, text);
            }
            postgres.show("url", postgres_url::without_password(&given));
        }
        Err(error) => postgres.error(key, error.to_string()),
    }
    given
}

/// `password`, or what the file named by `password_file` holds, for a URL without one.
pub(super) fn password(postgres: &Section<'_>, url: &str, base: &Path) -> Option<String> {
    let (given, key) = secret(postgres, ("password", "password_file"), base)?;
    postgres.show("password", given.as_str());
    if postgres_url::has_password(url) {
        postgres.error(key, "given beside the URL's own password; keep one of them");
    }
    Some(given)
}

/// A secret, given in the file or by the file that holds it, and the key that gave it.
fn secret(
    section: &Section<'_>,
    (plain, in_file): (&'static str, &'static str),
    base: &Path,
) -> Option<(String, &'static str)> {
    let (given, file) = (section.secret(plain), section.secret(in_file));
    match (given, file) {
        (Some(_), Some(_)) => {
            section.error(in_file, format!("given beside {plain}; keep one of them"));
            None
        }
        (Some(given), None) => Some((given, plain)),
        (None, Some(file)) => match read_secret(base, &file) {
            Ok(held) => Some((held, in_file)),
            Err(text) => {
                section.error(in_file, text);
                None
            }
        },
        (None, None) => None,
    }
}

/// Files that the URL names are there; what they hold is found out when they are used.
fn readable(postgres: &Section<'_>, key: &str, url: &PostgresUrl) {
    let Some(tls) = &url.tls else {
        return;
    };
    let roots = match &tls.verify {
        Verify::Chain(Roots::File(file)) | Verify::Name(Roots::File(file)) => Some(file),
        _ => None,
    };
    let own = tls.identity.as_ref();
    let files = [
        ("sslrootcert", roots),
        ("sslcert", own.map(|own| &own.certificate)),
        ("sslkey", own.map(|own| &own.key)),
    ];
    for (name, file) in files {
        if let Some(file) = file
            && let Err(error) = File::open(file)
        {
            let file = file.display();
            postgres.error(key, format!("{name}: {file} cannot be read: {error}"));
        }
    }
}

/// Whether an option's or a setting's value is nobody's business.
pub(super) fn is_secret(name: &str) -> bool {
    const WORDS: [&str; 8] = [
        "password",
        "passwd",
        "secret",
        "token",
        "credential",
        "key.pem",
        "oauthbearer.config",
        "jaas",
    ];
    let name = name.to_lowercase();
    let names_a_file = name.ends_with("_file") || name.ends_with(".file");
    !names_a_file && WORDS.iter().any(|word| name.contains(word))
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
    let mut from_files = BTreeSet::new();
    for name in files {
        let (Some(path), Some(plain)) = (flat.remove(&name), file_of(&name)) else {
            continue;
        };
        if flat.contains_key(&plain) {
            options.error(&name, format!("given beside {plain}; keep one of them"));
            continue;
        }
        match read_secret(base, &path) {
            Ok(value) => drop(flat.insert(plain.clone(), value)),
            Err(text) => options.error(&name, text),
        }
        from_files.insert(plain);
    }
    for (name, value) in &mut flat {
        if name.ends_with(".location") && !["", "probe"].contains(&value.as_str()) {
            // Relative to the configuration file, as every path in it.
            *value = base.join(&*value).to_string_lossy().into_owned();
        }
    }
    for (name, value) in &flat {
        let held = from_files.contains(name);
        options.show(name, if held { SECRET } else { value.as_str() });
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
    let mut text = String::new();
    // A device says that it is empty, and is endless: only reading finds out.
    let read = File::open(&path).and_then(|f| f.take(SECRET_BYTES + 1).read_to_string(&mut text));
    match read.map(|_| text) {
        Ok(text) if text.len() as u64 > SECRET_BYTES => Err(format!(
            "{shown} is too large for a secret; at most {SECRET_BYTES} bytes"
        )),
        Ok(text) if text.trim().is_empty() => Err(format!("{shown} is empty")),
        Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => Err(format!("{shown} cannot be read: {error}")),
    }
}
