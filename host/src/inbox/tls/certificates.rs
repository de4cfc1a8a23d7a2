//! Certificates and keys out of PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{Error as Pem, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::PROTOCOL;
use super::verifier::Verifier;
use crate::config::postgres_url::{Identity, Roots, Tls, Verify};

/// Where systems keep the certificates that they trust: Debian, Fedora, SUSE, Alpine and macOS.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Where OpenSSL looks first too.
const SYSTEM_VARIABLE: &str = "SSL_CERT_FILE";

/// Everything that one handshake needs. Errors: which file cannot be used, and why.
pub(super) fn client(tls: &Tls) -> Result<ClientConfig, String> {
    // Named here, whatever the process's default is.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(verifier(&tls.verify, &provider)?);
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) = own(identity)?;
            builder.with_client_auth_cert(chain, key).map_err(|error| {
                let file = identity.key.display();
                format!("sslkey: {file} is not the key of sslcert: {error}")
            })?
        }
    };
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

fn verifier(verify: &Verify, provider: &Arc<CryptoProvider>) -> Result<Verifier, String> {
    let (roots, name) = match verify {
        Verify::Nothing => return Ok(Verifier::believing(provider)),
        Verify::Chain(roots) => (roots, false),
        Verify::Name(roots) => (roots, true),
    };
    let file = match roots {
        Roots::File(file) => file.clone(),
        Roots::System => system()?,
    };
    let store = Arc::new(store(&file)?);
    let chain = WebPkiServerVerifier::builder_with_provider(store, Arc::clone(provider)).build();
    let chain = chain.map_err(|error| format!("sslrootcert: {}: {error}", file.display()))?;
    Ok(Verifier::new(chain, name, provider))
}

/// The system's file of trusted certificates.
fn system() -> Result<PathBuf, String> {
    let named = std::env::var_os(SYSTEM_VARIABLE).map(PathBuf::from);
    let known = SYSTEM.iter().map(PathBuf::from);
    let found = named.into_iter().chain(known).find(|file| file.is_file());
    found.ok_or_else(|| {
        format!("this system has no file of trusted certificates ({}); install ca-certificates, or name one with sslrootcert", SYSTEM.join(", "))
    })
}

/// A certificate that cannot be used as a root is left out, as long as one can.
fn store(file: &Path) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let (added, ignored) = store.add_parsable_certificates(certificates("sslrootcert", file)?);
    match added {
        0 => Err(format!(
            "sslrootcert: {}: none of {ignored} certificates can be used",
            file.display()
        )),
        _ => Ok(store),
    }
}

fn own(
    identity: &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let chain = certificates("sslcert", &identity.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&identity.key);
    let key = key.map_err(|error| {
        let words = match error {
            Pem::NoItemsFound => "holds no private key that is not encrypted (PEM)".to_owned(),
            error => words(error),
        };
        format!("sslkey: {} {words}", identity.key.display())
    })?;
    Ok((chain, key))
}

fn certificates(name: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error| format!("{name}: {} {}", file.display(), words(error));
    let found = CertificateDer::pem_file_iter(file).map_err(failed)?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(failed)?;
    match found.is_empty() {
        true => Err(failed(Pem::NoItemsFound)),
        false => Ok(found),
    }
}

/// The parser's own words may repeat what the file holds.
fn words(error: Pem) -> String {
    match error {
        Pem::Io(error) => format!("cannot be read: {error}"),
        Pem::NoItemsFound => "holds no certificate (PEM)".to_owned(),
        _ => "is no PEM file".to_owned(),
    }
}
