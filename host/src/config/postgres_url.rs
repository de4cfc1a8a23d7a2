//! The URL of the database: what the driver makes of it, and libpq's TLS parameters, which the driver does not know.

mod names;
mod params;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use tokio_postgres::config::{ChannelBinding, Host, SslMode};

use names::Parameter;
use params::Params;

/// How the database is reached.
#[derive(Clone)]
pub(crate) struct PostgresUrl {
    /// What the driver is told. It is never asked for TLS, which is below it.
    pub(crate) driver: tokio_postgres::Config,
    /// What protects the way; none for plain text. A Unix socket is always plain.
    pub(crate) tls: Option<Tls>,
    /// What is allowed and seldom meant.
    pub(crate) warning: Option<&'static str>,
}

/// TLS as the URL asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    /// Whether a server that offers no TLS is refused.
    pub(crate) required: bool,
    /// What the server has to prove.
    pub(crate) verify: Verify,
    /// What the host shows of itself: `sslcert`, `sslkey`.
    pub(crate) identity: Option<Identity>,
}

/// What a server has to prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verify {
    /// Nothing: whoever answers is believed.
    Nothing,
    /// That its certificate is signed by one of the roots.
    Chain(Roots),
    /// And that it is for the host that the URL names.
    Name(Roots),
}

/// Who is trusted to sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    /// The certificates of the operating system.
    System,
    /// Those in a PEM file.
    File(PathBuf),
}

/// A client certificate and its key, PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// What is wrong with a URL. Its text is a secret and stays out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The whole of it.
    #[error("{0}")]
    Whole(&'static str),
    /// One parameter, by a name that is known to be one.
    #[error("holds the parameter {0}, {1}")]
    Parameter(&'static str, &'static str),
}

const NOT_A_URL: UrlError = UrlError::Whole(
    "is not a PostgreSQL URL (special characters of a password are percent-encoded); write for example \
     \"postgresql://app@localhost/shop\"",
);
const NO_HOST: UrlError =
    UrlError::Whole("names no host; write for example \"postgresql://app@localhost/shop\"");
const UNKNOWN_MODE: UrlError = UrlError::Whole(
    "sslmode is not known; write disable, prefer, require, verify-ca or, best, verify-full",
);
const DIRECT: UrlError =
    UrlError::Whole("sslnegotiation=direct is not done; leave sslnegotiation out");
const BINDING: UrlError = UrlError::Whole(
    "channel_binding=require cannot be done: TLS ends below the driver; leave it out and use sslmode=verify-full",
);
const NO_USE: UrlError = UrlError::Whole(
    "sslrootcert is given and sslmode does not check against it; write sslmode=verify-full beside it",
);
const WEAK_SYSTEM: UrlError = UrlError::Whole(
    "sslrootcert=system trusts every public authority, so the host must be checked too; write sslmode=verify-full",
);
const NO_ROOT: UrlError = UrlError::Whole(
    "sslmode=verify-ca needs sslrootcert, the file of the authority that is trusted",
);
const HALF: UrlError = UrlError::Whole("sslcert and sslkey are given together or not at all");
const OFF: UrlError =
    UrlError::Whole("sslcert is given, and sslmode encrypts nothing; write sslmode=verify-full");
const UNKNOWN: UrlError = UrlError::Whole(
    "holds a parameter that is not known (its name may be a part of the password and is not repeated; special characters \
     of a password are percent-encoded)",
);

const LIBPQ_ONLY: &str = "which Tidegate does not know; of libpq's about TLS it knows sslmode, sslrootcert, sslcert and \
                          sslkey: leave it out";
const POOLER: &str = "which is for other clients: leave it out; behind PgBouncer, Tidegate needs pool_mode = session";
const NAMES: &str =
    "which is not one of Tidegate's: names are looked for in postgres.search_path; leave it out";
const NOT_OURS: &str = "which is another client's and not known here: leave it out";
const VALUE: &str = "with a value that cannot be read; look it up among libpq's parameters";

const OPTIONAL: &str = "the connection is encrypted only where the server offers it, and nobody checks who answers; \
                        write sslmode=verify-full and sslrootcert=FILE, or sslmode=disable";
const UNVERIFIED: &str = "sslmode=require encrypts, but nobody checks who answers; write sslmode=verify-full and \
                          sslrootcert=FILE";

impl PostgresUrl {
    /// Reads `url`, either form of libpq's; relative files are below `directory`.
    ///
    /// # Errors
    /// What is wrong, without the URL's text.
    pub(crate) fn parse(url: &str, directory: &Path) -> Result<Self, UrlError> {
        let mut params = Params::split(url).ok_or(NOT_A_URL)?;
        let mut ours = Ours {
            mode: params.take("sslmode"),
            roots: params.take("sslrootcert").filter(|text| !text.is_empty()),
            certificate: params.take("sslcert").filter(|text| !text.is_empty()),
            key: params.take("sslkey").filter(|text| !text.is_empty()),
        };
        if params
            .take("sslnegotiation")
            .is_some_and(|how| how != "postgres")
        {
            return Err(DIRECT);
        }
        for name in params.names() {
            is_taken(name)?;
        }
        let mut driver = params
            .join()
            .parse::<tokio_postgres::Config>()
            .map_err(|_| unreadable(&params))?;
        if driver.get_hosts().is_empty() && driver.get_hostaddrs().is_empty() {
            return Err(NO_HOST);
        }
        if driver.get_channel_binding() == ChannelBinding::Require {
            return Err(BINDING);
        }
        driver.ssl_mode(SslMode::Disable);
        let identity = ours.identity(directory)?;
        let (tls, warning) = ours.tls(is_local(&driver), directory)?;
        match (tls, identity) {
            (None, Some(_)) => Err(OFF),
            (tls, identity) => Ok(Self {
                driver,
                tls: tls.map(|tls| Tls { identity, ..tls }),
                warning,
            }),
        }
    }
}

/// Errors: a parameter that is not taken.
fn is_taken(name: &str) -> Result<(), UrlError> {
    match Parameter::of(name) {
        Parameter::Taken(_) => Ok(()),
        Parameter::Tls(name) => Err(UrlError::Parameter(name, LIBPQ_ONLY)),
        Parameter::Foreign(name @ ("pgbouncer" | "pool_mode")) => {
            Err(UrlError::Parameter(name, POOLER))
        }
        Parameter::Foreign(name @ ("schema" | "currentSchema" | "search_path")) => {
            Err(UrlError::Parameter(name, NAMES))
        }
        Parameter::Foreign(name) => Err(UrlError::Parameter(name, NOT_OURS)),
        Parameter::Unknown => Err(UNKNOWN),
    }
}

/// What of a URL the driver does not read: the first parameter that it does not read alone, or the rest.
fn unreadable(params: &Params) -> UrlError {
    let alone = |part: &String| part.parse::<tokio_postgres::Config>().is_err();
    let mut parts = params.each_alone().into_iter();
    let found = parts.find(|(_, part)| alone(part));
    match found.map(|(name, _)| Parameter::of(&name)) {
        Some(Parameter::Taken(name)) => UrlError::Parameter(name, VALUE),
        _ => NOT_A_URL,
    }
}

/// The parameters that the driver does not get.
struct Ours {
    mode: Option<String>,
    roots: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl Ours {
    fn identity(&mut self, directory: &Path) -> Result<Option<Identity>, UrlError> {
        match (self.certificate.take(), self.key.take()) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some(Identity {
                certificate: directory.join(certificate),
                key: directory.join(key),
            })),
            _ => Err(HALF),
        }
    }

    /// As libpq: `require` beside a root verifies the chain, `system` alone means verify-full. Without sslmode, a
    /// server on this machine is spoken to in plain text, any other as under `prefer`.
    fn tls(
        self,
        local: bool,
        directory: &Path,
    ) -> Result<(Option<Tls>, Option<&'static str>), UrlError> {
        let roots = self.roots.map(|text| match text.as_str() {
            "system" => Roots::System,
            file => Roots::File(directory.join(file)),
        });
        let required = |verify| tls(true, verify);
        Ok(match (self.mode.as_deref(), roots) {
            (None, Some(Roots::System)) => (required(Verify::Name(Roots::System)), None),
            (None | Some("disable" | "prefer"), Some(_)) => return Err(NO_USE),
            (Some("require" | "verify-ca"), Some(Roots::System)) => return Err(WEAK_SYSTEM),
            (None, None) if local => (None, None),
            (Some("disable"), None) => (None, None),
            (None | Some("prefer"), None) => (tls(false, Verify::Nothing), Some(OPTIONAL)),
            (Some("require"), None) => (required(Verify::Nothing), Some(UNVERIFIED)),
            (Some("require" | "verify-ca"), Some(roots)) => (required(Verify::Chain(roots)), None),
            (Some("verify-ca"), None) => return Err(NO_ROOT),
            (Some("verify-full"), roots) => {
                let roots = roots.unwrap_or(Roots::System);
                (required(Verify::Name(roots)), None)
            }
            (Some(_), _) => return Err(UNKNOWN_MODE),
        })
    }
}

fn tls(required: bool, verify: Verify) -> Option<Tls> {
    Some(Tls {
        required,
        verify,
        identity: None,
    })
}

/// Whether every server is on this machine.
fn is_local(driver: &tokio_postgres::Config) -> bool {
    let local = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
        Host::Unix(_) => true,
    };
    match driver.get_hostaddrs() {
        [] => driver.get_hosts().iter().all(local),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

/// `url` without its password, for people; it has been parsed before.
pub(crate) fn without_password(url: &str) -> String {
    let Some(mut params) = Params::split(url) else {
        return "(secret)".to_owned();
    };
    params.take("password");
    params.drop_password();
    params.join()
}

/// The password's own key beside a URL that holds one too.
pub(crate) fn has_password(url: &str) -> bool {
    let parsed = PostgresUrl::parse(url, Path::new(""));
    parsed.is_ok_and(|parsed| parsed.driver.get_password().is_some())
}
