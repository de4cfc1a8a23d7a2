//! The settings that are left as role, database and server have them, and why. A name that ends in `*` stands for all
//! that begin so.

/// Names with what they have in common.
pub const LEFT: [(&[&str], &str); 13] = [
    (
        &[
            "constraint_exclusion",
            "cpu_*",
            "cursor_tuple_fraction",
            "default_statistics_target",
            "effective_*",
            "enable_*",
            "from_collapse_limit",
            "geqo*",
            "jit*",
            "join_collapse_limit",
            "max_parallel_*",
            "min_parallel_*",
            "parallel_*",
            "plan_cache_mode",
            "random_page_cost",
            "recursive_worktable_factor",
            "seq_page_cost",
            "synchronize_seqscans",
        ],
        "how the server plans: the same rows, sooner or later",
    ),
    (
        &[
            "backend_flush_after",
            "commit_*",
            "default_toast_compression",
            "file_copy_method",
            "gin_pending_list_limit",
            "hash_mem_multiplier",
            "io_*",
            "logical_decoding_work_mem",
            "maintenance_*",
            "max_stack_depth",
            "temp_*",
            "work_mem",
        ],
        "what the server spends: where that is too little a statement fails by its SQLSTATE, or takes longer",
    ),
    (
        &["default_tablespace"],
        "where the host's tables lie is the operator's choice; one that may not be used fails a migration in words",
    ),
    (
        &[
            "backtrace_functions",
            "compute_query_id",
            "debug_*",
            "log_*",
            "stats_fetch_consistency",
            "trace_*",
            "track_*",
            "update_process_title",
        ],
        "what the server logs and counts",
    ),
    (
        &[
            "default_text_search_config",
            "lc_*",
            "timezone_abbreviations",
            "xmlbinary",
        ],
        "guests' own: none of the host's statements prints or reads by it, and it goes by SQLSTATEs, never by messages",
    ),
    (
        &["escape_string_warning"],
        "a warning, which is dropped on arrival",
    ),
    (
        &["quote_all_identifiers"],
        "names in the SQL that `harden` prints are right either way",
    ),
    (
        &["restrict_nonsystem_relation_kind"],
        "it forbids guests views or foreign tables; the host has neither",
    ),
    (
        &["tcp_*"],
        "how soon the server gives up a connection that has gone silent is the operator's choice",
    ),
    (
        &["deadlock_timeout"],
        "how soon the server looks for a ring of waits; lock_timeout bounds them all",
    ),
    (
        &[
            "createrole_self_grant",
            "icu_validation_level",
            "md5_password_warnings",
            "password_encryption",
            "scram_iterations",
            "vacuum_*",
            "wal_*",
        ],
        "about what no session of the host's does: roles, databases, VACUUM, replication",
    ),
    (
        &[
            "transaction_deferrable",
            "transaction_isolation",
            "transaction_read_only",
        ],
        "one transaction's alone: what a session begins with are their defaults, which are pinned",
    ),
    (
        &[
            "allow_*",
            "dynamic_library_path",
            "event_triggers",
            "extension_*",
            "ignore_*",
            "lo_compat_privileges",
            "local_preload_libraries",
            "post_auth_delay",
            "send_abort_for_crash",
            "session_preload_libraries",
            "zero_damaged_pages",
        ],
        "for repairing a server or extending it: the operator's, who is trusted",
    ),
];

/// Why a setting is left as it is; none where it is not in the list.
pub(super) fn why(name: &str) -> Option<&'static str> {
    let is = |known: &&str| match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *known,
    };
    let mut lists = LEFT.iter();
    let found = lists.find(|(names, _)| names.iter().any(&is));
    found.map(|(_, why)| *why)
}
