//! Why a module is refused, in plain words.

/// Why a module is refused. Each names the module, what is wrong with it and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{path}: cannot read the handler's file: {reason}")]
    Read {
        /// The file.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// Nothing in it.
    #[error("{name}: the file is empty; a handler is a WebAssembly component")]
    Empty {
        /// The module.
        name: String,
    },
    /// Not WebAssembly at all.
    #[error(
        "{name}: not WebAssembly (it does not begin with \\0asm); a handler is a WebAssembly component in binary \
         form, neither text nor a precompiled artifact"
    )]
    NotWasm {
        /// The module.
        name: String,
    },
    /// A core module.
    #[error(
        "{name}: a core WebAssembly module, not a component. In Rust build for the target wasm32-wasip2; \
         elsewhere run `wasm-tools component new` on it (with `--adapt` for a wasip1 module)"
    )]
    CoreModule {
        /// The module.
        name: String,
    },
    /// WebAssembly that is damaged, too large for the pool, or uses features that are off.
    #[error("{name}: cannot be compiled: {reason}")]
    Invalid {
        /// The module.
        name: String,
        /// Wasmtime's words.
        reason: String,
    },
    /// It is no handler.
    #[error("{name}: does not export `{wanted}`, so it is no handler; it exports {exports}")]
    MissingExport {
        /// The module.
        name: String,
        /// What a handler exports.
        wanted: &'static str,
        /// What it exports, in words.
        exports: String,
    },
    /// It was built against a contract that this host does not serve.
    #[error(
        "{name}: built against `{found}`; this host serves tidegate:handler in version {served}. Rebuild the \
         handler against a served version, or upgrade the host"
    )]
    WitVersion {
        /// The module.
        name: String,
        /// The interface and version found.
        found: String,
        /// The versions served.
        served: &'static str,
    },
    /// It asks for what a handler does not get.
    #[error(
        "{name}: imports what a handler is not given: {}. A handler has tidegate:handler's db, log and settings, \
         and WASI 0.2 with no files and no network; build it without the rest",
        .imports.join(", ")
    )]
    UnknownImports {
        /// The module.
        name: String,
        /// Every such import.
        imports: Vec<String>,
    },
    /// The names fit but a type does not.
    #[error(
        "{name}: does not fit tidegate:handler@0.1.0: {reason}. Generate its bindings from this host's wit/ directory"
    )]
    TypeMismatch {
        /// The module.
        name: String,
        /// Wasmtime's words.
        reason: String,
    },
    /// Its start functions trap or run into a limit.
    #[error(
        "{name}: cannot start under the limits of consumer \"{consumer}\" ({code}): {reason}. Nothing may be computed, \
         allocated or waited for at the start beyond what a record may"
    )]
    CannotStart {
        /// The module.
        name: String,
        /// Whose limits.
        consumer: String,
        /// The limit's code, or `trap`.
        code: &'static str,
        /// What happened.
        reason: String,
    },
    /// The host is stopping, or the compiler failed.
    #[error("{name}: loading was interrupted: {reason}")]
    Interrupted {
        /// The module.
        name: String,
        /// Why.
        reason: String,
    },
}
