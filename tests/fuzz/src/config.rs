//! The configuration: any text is one, or a list of mistakes that each name their place.

use std::path::Path;

use tidegate::config::fuzzing;
use tidegate::kafka::check_options;

/// Any text as `tidegate.toml`.
pub(crate) fn config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let path = Path::new("/nowhere/tidegate.toml");
    match fuzzing::config(&text, path, check_options) {
        Ok(config) => {
            assert!(!config.consumers.is_empty());
            let shown = config.shown.to_string();
            assert!(shown.parse::<toml::Table>().is_ok(), "{shown}");
            check_lines(&config.warnings.join("\n"), config.warnings.len());
        }
        Err(errors) => check_lines(&errors.to_string(), errors.len()),
    }
}

/// One line a problem, each with its place.
fn check_lines(lines: &str, count: usize) {
    assert_eq!(lines.lines().count(), count, "{lines}");
    for line in lines.lines() {
        let place = line.strip_prefix("/nowhere/tidegate.toml:");
        assert!(place.is_some_and(|text| text.len() > 3), "{line}");
    }
}

/// Any text as `postgres.url`. What is shown of it holds no password.
pub(crate) fn url(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match fuzzing::url(&text, Path::new("/nowhere")) {
        Ok((shown, leaks)) => assert!(!leaks, "{shown}"),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}
