//! Names of a URL's parameters: those that are taken, and those of other clients that people bring along.
//!
//! Only a name of these lists is ever repeated: any other could be a part of a password that holds a raw `&`.

/// What the driver takes.
const TAKEN: [&str; 19] = [
    "user",
    "password",
    "dbname",
    "options",
    "application_name",
    "sslmode",
    "sslnegotiation",
    "host",
    "hostaddr",
    "port",
    "connect_timeout",
    "tcp_user_timeout",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "target_session_attrs",
    "channel_binding",
    "load_balance_hosts",
];

/// Of libpq, about TLS or GSS: ignoring them would do harm.
const LIBPQ_TLS: [&str; 9] = [
    "sslcrl",
    "sslcrldir",
    "sslpassword",
    "sslcompression",
    "sslcertmode",
    "sslsni",
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "gssencmode",
];

/// Of libpq and of other clients: Prisma, SQLAlchemy, JDBC, pgx, Npgsql, asyncpg, Rails.
const FOREIGN: [&str; 37] = [
    "client_encoding",
    "connection_limit",
    "currentSchema",
    "default_query_exec_mode",
    "fallback_application_name",
    "gssdelegation",
    "gsslib",
    "keepalives_count",
    "krbsrvname",
    "max_conns",
    "passfile",
    "pgbouncer",
    "pool",
    "pool_max_conns",
    "pool_min_conns",
    "pool_mode",
    "pool_size",
    "pool_timeout",
    "prepareThreshold",
    "prepared_statement_cache_size",
    "prepared_statements",
    "replication",
    "require_auth",
    "requirepeer",
    "requiressl",
    "schema",
    "search_path",
    "service",
    "socket_timeout",
    "socketTimeout",
    "ssl",
    "sslaccept",
    "sslidentity",
    "statement_cache_capacity",
    "statement_cache_size",
    "statement_timeout",
    "timezone",
];

/// What a parameter is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    /// The driver's; the name as it is spelt.
    Taken(&'static str),
    /// libpq's, about TLS.
    Tls(&'static str),
    /// Another client's.
    Foreign(&'static str),
    /// Nobody's that we know.
    Unknown,
}

impl Parameter {
    pub(super) fn of(name: &str) -> Self {
        let among = |names: &[&'static str]| names.iter().find(|known| **known == name).copied();
        among(&TAKEN)
            .map(Self::Taken)
            .or_else(|| among(&LIBPQ_TLS).map(Self::Tls))
            .or_else(|| among(&FOREIGN).map(Self::Foreign))
            .unwrap_or(Self::Unknown)
    }
}
