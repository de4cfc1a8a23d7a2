//! Handlers in WebAssembly's text form: what no toolchain writes, such as a start function that never ends.

/// The parts of a handler that a test bends; the rest returns `done`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wat<'a> {
    /// Imports of the component.
    pub(crate) imports: &'a str,
    /// What the core module is instantiated with.
    pub(crate) with: &'a str,
    /// Definitions of the core module: imports, memories, tables, functions.
    pub(crate) core: &'a str,
    /// The body of the start function.
    pub(crate) start: &'a str,
    /// The body of the allocator that the host calls for arguments, beside its work: locals 0 to 3 are its parameters.
    pub(crate) realloc: &'a str,
    /// The body of `handle`, beside its work.
    pub(crate) handle: &'a str,
    /// Core instances beside the one that handles.
    pub(crate) more: usize,
}

impl Wat<'_> {
    /// The component.
    pub(crate) fn build(self) -> Vec<u8> {
        let Self {
            imports,
            with,
            core,
            start,
            realloc,
            handle,
            more,
        } = self;
        let more = "(core instance (instantiate $empty))".repeat(more);
        let text = format!(
            r#"(component {TYPES} {imports}
              (core module $empty)
              {more}
              (core module $m
                {core}
                (memory (export "memory") 2)
                (global $next (mut i32) (i32.const 1024))
                (func $start {start})
                (start $start)
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                  (local $at i32)
                  {realloc}
                  (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                  (global.set $next (i32.add (local.get $at) (local.get 3)))
                  (local.get $at))
                (func (export "handle") (param i32) (result i32) {handle} (i32.const 0)))
              (core instance $i (instantiate $m {with}))
              (type $result (result $outcome (error $failure)))
              (func $handle (param "event" $event) (result $result)
                (canon lift (core func $i "handle") (memory (core memory $i "memory")) (realloc (core func $i "cabi_realloc"))))
              (instance $exported (export "handle" (func $handle)))
              (export "tidegate:handler/message-handler@0.1.0" (instance $exported)))"#
        );
        wat::parse_str(text).unwrap()
    }
}

const TYPES: &str = r#"
  (import "tidegate:handler/types@0.1.0" (instance $types
    (type $h (record (field "name" string) (field "value" (option (list u8)))))
    (export "header" (type $header (eq $h)))
    (type $e (record
      (field "id" string) (field "consumer" string) (field "tenant" (option string))
      (field "topic" string) (field "partition" s32) (field "offset" s64)
      (field "key" (option (list u8))) (field "value" (option (list u8)))
      (field "headers" (list $header)) (field "timestamp-ms" (option s64))
      (field "attempt" u32) (field "replay-round" u32)))
    (export "event" (type (eq $e)))
    (type $o (variant (case "done") (case "skip" string)))
    (export "outcome" (type (eq $o)))
    (type $p (record (field "message" string) (field "after-ms" (option u32))))
    (export "postponement" (type $postponement (eq $p)))
    (type $r (record (field "code" string) (field "message" string)))
    (export "rejection" (type $rejection (eq $r)))
    (type $f (variant (case "retry" $postponement) (case "reject" $rejection)))
    (export "failure" (type (eq $f)))))
  (alias export $types "event" (type $event))
  (alias export $types "outcome" (type $outcome))
  (alias export $types "failure" (type $failure))
"#;

/// Imports of a component whose core module calls `db.stage` with nothing, as `host.stage`.
pub(crate) const STAGE: &str = r#"
  (import "tidegate:handler/db@0.1.0" (instance $db
    (type $tt (record (field "type-name" string) (field "text" string)))
    (export "typed-text" (type $typed-text (eq $tt)))
    (type $v (variant (case "null") (case "boolean" bool) (case "int64" s64) (case "float64" float64)
      (case "numeric" string) (case "text" string) (case "bytes" (list u8)) (case "uuid" string)
      (case "json" string) (case "date" string) (case "time" string) (case "timestamp" string)
      (case "timestamptz" string) (case "int64-array" (list (option s64)))
      (case "text-array" (list (option string))) (case "other" $typed-text)))
    (export "value" (type $value (eq $v)))
    (type $x (variant (case "any") (case "exactly" u32) (case "at-least" u32)))
    (export "expectation" (type $expectation (eq $x)))
    (export "stage" (func (param "sql" string) (param "params" (list $value)) (param "expect" $expectation)))))
  (core module $memory (memory (export "m") 1))
  (core instance $mem (instantiate $memory))
  (core func $stage (canon lower (func $db "stage") (memory (core memory $mem "m"))))
"#;
