//! Reads `[consumer.sql]`: what handlers' statements may be beyond the defaults.

use tidegate_wall::{BadRule, MAX_BYTES_BOUND, MAX_DEPTH_BOUND, Rules};

use super::section::Section;

/// The rules of the wall.
pub(super) fn read(section: Section<'_>) -> Rules {
    let default = Rules::default();
    let mut rules = Rules {
        max_bytes: section.size("max_bytes", default.max_bytes, 1..=MAX_BYTES_BOUND),
        max_depth: section.count("max_depth", default.max_depth, 1..=MAX_DEPTH_BOUND),
        ..default
    };
    names(&section, "functions", |name| rules.allow_function(name));
    names(&section, "relations", |name| rules.allow_relation(name));
    section.finish();
    rules
}

/// A list of names; none where it is not given.
fn names(
    section: &Section<'_>,
    key: &'static str,
    mut allow: impl FnMut(&str) -> Result<(), BadRule>,
) {
    match section.texts(key) {
        None => section.show(key, Vec::<String>::new()),
        Some(names) => {
            for name in names {
                if let Err(error) = allow(&name) {
                    section.error(key, error.to_string());
                }
            }
        }
    }
}
