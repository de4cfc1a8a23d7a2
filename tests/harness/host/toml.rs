//! Just enough TOML to write a configuration.

use std::path::{Path, PathBuf};

/// A value written verbatim, for arrays and tables: `Raw("[\"key\", \"json:/version\"]")`.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a>(pub &'a str);

/// What can stand at the right of an equals sign.
pub trait TomlValue {
    /// As TOML.
    fn toml(&self) -> String;
}

impl TomlValue for &str {
    fn toml(&self) -> String {
        // JSON's escapes are a part of TOML's.
        serde_json::Value::from(*self).to_string()
    }
}

impl TomlValue for String {
    fn toml(&self) -> String {
        self.as_str().toml()
    }
}

impl TomlValue for &String {
    fn toml(&self) -> String {
        self.as_str().toml()
    }
}

impl TomlValue for &Path {
    fn toml(&self) -> String {
        self.to_string_lossy().as_ref().toml()
    }
}

impl TomlValue for PathBuf {
    fn toml(&self) -> String {
        self.as_path().toml()
    }
}

impl TomlValue for Raw<'_> {
    fn toml(&self) -> String {
        self.0.to_owned()
    }
}

macro_rules! plain {
    ($($kind:ty),*) => {$(
        impl TomlValue for $kind {
            fn toml(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
plain!(bool, i32, i64, u32, u64, usize);

/// A key, quoted where it must be.
fn quoted(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) {
        return key.to_owned();
    }
    key.toml()
}

/// Sections in the order of their first key, each with its keys in order; a key set twice keeps the later value.
#[derive(Clone, Debug, Default)]
pub(super) struct Sections(Vec<(String, Vec<(String, String)>)>);

impl Sections {
    pub(super) fn set(&mut self, section: &str, key: &str, value: &impl TomlValue) {
        let place = self.0.iter().position(|(name, _)| name == section);
        let place = place.unwrap_or_else(|| {
            self.0.push((section.to_owned(), Vec::new()));
            self.0.len() - 1
        });
        let keys = &mut self.0[place].1;
        keys.retain(|(known, _)| known != key);
        keys.push((key.to_owned(), value.toml()));
    }

    /// The keys of one section as lines, if it has any.
    pub(super) fn lines(&self, section: &str) -> String {
        let found = self.0.iter().find(|(name, _)| name == section);
        let keys = found.into_iter().flat_map(|(_, keys)| keys);
        keys.map(|(key, value)| format!("{} = {value}\n", quoted(key)))
            .collect()
    }

    /// The same without one section.
    pub(super) fn without(&self, section: &str) -> Sections {
        let others = self.0.iter().filter(|(name, _)| name != section);
        Sections(others.cloned().collect())
    }

    /// Every section but the nameless one, with its head.
    pub(super) fn all(&self) -> String {
        let named = self.0.iter().filter(|(name, _)| !name.is_empty());
        named
            .map(|(name, _)| format!("\n[{name}]\n{}", self.lines(name)))
            .collect()
    }
}
