//! The fuzz targets hold for every input of their corpus: what a fuzzer once found, and what led it there.

use std::path::Path;

use tidegate_fuzz::TARGETS;

#[test]
fn the_corpus_of_each_fuzz_target_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let mut known: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
    let mut found = names(&corpus);
    known.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, known, "a directory a target");
    for (name, target) in TARGETS {
        let inputs = names(&corpus.join(name));
        assert!(inputs.len() >= 5, "{name}: {inputs:?}");
        for input in inputs {
            let bytes = std::fs::read(corpus.join(name).join(&input)).unwrap();
            // Printed where the target panics.
            eprintln!("{name}/{input}");
            target(&bytes);
        }
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}
