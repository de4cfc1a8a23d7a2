//! Lets two C libraries bring the same functions along: see the host's own build script, which binds its binary alone.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-link-arg=-Wl,--allow-multiple-definition");
    }
}
