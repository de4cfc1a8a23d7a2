//! What Wasmtime generates from the handler contract, 0.1.0.
#![allow(
    missing_docs,
    clippy::all,
    clippy::cast_possible_truncation,
    clippy::too_many_lines,
    reason = "generated"
)]

wasmtime::component::bindgen!({
    path: "../wit/handler@0.1.0",
    world: "handler",
    ownership: Borrowing { duplicate_if_necessary: true },
    imports: { default: async | trappable },
    exports: { default: async },
});
