//! Coverage-guided fuzzing of the target that `TIDEGATE_FUZZ` names; the arguments are libFuzzer's.
#![no_main]
#![allow(unsafe_code, reason = "libFuzzer calls the target by its symbol")]

use std::sync::LazyLock;

use tidegate_fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("TIDEGATE_FUZZ").unwrap_or_default();
    let found = tidegate_fuzz::TARGETS
        .iter()
        .find(|(known, _)| *known == name);
    // The fuzzer's hook ends the process at each panic, even one that is caught where it belongs. One that is not
    // caught ends it all the same.
    drop(std::panic::take_hook());
    found.expect("TIDEGATE_FUZZ must name a target").1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
