//! Lets two C libraries bring the same functions along.
//!
//! Both librdkafka (for LZ4) and libpg_query carry xxHash under its own names. The functions that both have compute the
//! same, on states of the same layout, so that either's may serve both; GNU's linker and LLD must be told to take the
//! first.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-link-arg=-Wl,--allow-multiple-definition");
    }
}
