//! Floods of output and of randomness.

use guest_common::{Level, log};

wit_bindgen::generate!({
    inline: "
        package wasi:random@0.2.6;
        interface random {
            get-random-bytes: func(len: u64) -> list<u8>;
            get-random-u64: func() -> u64;
        }
        world draws { import random; }
    ",
    world: "draws",
    generate_all,
});

pub fn stdout(lines: u64) {
    for n in 0..lines {
        println!("line {n} {}", "x".repeat(100));
    }
}

pub fn log(lines: u64) {
    for n in 0..lines {
        log::write(Level::Info, &format!("line {n}"), &[]);
    }
}

/// One line of many fields.
pub fn log_fields(fields: u64) {
    let fields: Vec<_> = (0..fields)
        .map(|_| (String::new(), String::new()))
        .collect();
    log::write(Level::Info, "fields", &fields);
}

/// So many bytes, 1 KiB at once.
pub fn random(bytes: u64) {
    for _ in 0..bytes.div_ceil(1024) {
        wasi::random::random::get_random_bytes(1024);
    }
}

/// So many bytes, a number at once.
pub fn random_numbers(bytes: u64) {
    for _ in 0..bytes.div_ceil(8) {
        wasi::random::random::get_random_u64();
    }
}
