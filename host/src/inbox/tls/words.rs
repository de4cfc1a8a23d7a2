//! What a failed handshake means for whoever set it up.

use std::io;

use rustls::{AlertDescription, CertificateError as Certificate, Error};

use super::NotSecured;
use crate::config::postgres_url::{Roots, Verify};

pub(super) const NOT_OFFERED: &str = "the server offers no TLS (its ssl is off) and sslmode in postgres.url requires it; set ssl = on there";
pub(super) const ERROR_ANSWERED: &str =
    "the server answered with an error when it was asked for TLS; its log says more";
pub(super) const NO_POSTGRES: &str =
    "what answers is no PostgreSQL server; check host and port in postgres.url";

pub(super) fn bad_name(host: &str) -> String {
    format!("{host:?} is no host name that a certificate could be for; check postgres.url")
}

/// A handshake that did not end well: what the two sides do not agree on, or only the connection's end.
pub(super) fn failed(error: io::Error, host: &str, verify: &Verify) -> NotSecured {
    let tls = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    match tls {
        Some(tls) => NotSecured::Refused(words(tls, host, verify)),
        None => NotSecured::Socket(error),
    }
}

fn words(error: &Error, host: &str, verify: &Verify) -> String {
    match error {
        Error::InvalidCertificate(why) => certificate(why, host, verify),
        Error::AlertReceived(
            alert @ (AlertDescription::CertificateRequired
            | AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown),
        ) => format!(
            "the server does not take the client's certificate ({alert:?}); check sslcert and sslkey in postgres.url, and the server's ssl_ca_file"
        ),
        Error::PeerIncompatible(why) => format!(
            "the server speaks no TLS that is safe today ({why:?}); it needs TLS 1.2 or later"
        ),
        other => format!("{other}; check host and port in postgres.url"),
    }
}

fn certificate(why: &Certificate, host: &str, verify: &Verify) -> String {
    let roots = match verify {
        Verify::Chain(Roots::File(file)) | Verify::Name(Roots::File(file)) => {
            file.display().to_string()
        }
        _ => "the system's certificates".to_owned(),
    };
    match why {
        Certificate::UnknownIssuer | Certificate::BadSignature => format!(
            "the server's certificate is signed by nobody in {roots} (sslrootcert in postgres.url): either that is the wrong file, or this is not the server that was meant"
        ),
        Certificate::NotValidForNameContext { presented, .. } => format!(
            "the server's certificate is not for {host:?}, it is for {}; write a name that it is for into postgres.url (hostaddr gives the address), or get a certificate for this one",
            list(presented)
        ),
        Certificate::NotValidForName => format!("the server's certificate is not for {host:?}"),
        Certificate::Expired | Certificate::ExpiredContext { .. } => {
            "the server's certificate has expired; renew it there, or check this machine's clock"
                .to_owned()
        }
        Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet; check this machine's clock".to_owned()
        }
        Certificate::Other(other) => format!(
            "the server's certificate cannot be used: {other:?} (one that signed itself as an authority is no server's: sign one with it)"
        ),
        other => format!("the server's certificate cannot be used: {other:?}"),
    }
}

fn list(names: &[String]) -> String {
    match names {
        [] => "no host at all".to_owned(),
        names => names.join(", "),
    }
}
