//! The engine: all of Wasmtime.
