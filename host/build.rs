//! Lets the Kafka client and PostgreSQL's grammar be linked into one program: each brings the same hash along, under the
//! same names. Which parts of the two a program draws in depends on how its crates are cut into units, so without this
//! some link and others do not. The first definition holds; both are xxHash's own, with the same states.

fn main() {
    println!("cargo::rerun-if-env-changed=CARGO_CFG_TARGET_OS");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-arg=-Wl,-z,muldefs");
    }
}
