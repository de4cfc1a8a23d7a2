//! TLS on the way to the server: asked for in PostgreSQL's own way, then spoken below the wire.
//!
//! The driver never learns of it: what it writes is looked through by the wire, and encrypted after that. So it cannot
//! bind a password's exchange to the channel (SCRAM-SHA-256-PLUS); what protects it is the server's certificate.

mod certificates;
mod verifier;
mod words;

use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;

use super::wire::Socket;
use crate::config::postgres_url::Tls;

/// The request to speak TLS: its length, and a code in the place of a protocol version.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// What servers of version 17 and later are told that is spoken inside.
const PROTOCOL: &[u8] = b"postgresql";

/// Why a way is not protected as it was to be.
#[derive(Debug)]
pub(crate) enum NotSecured {
    /// The connection failed; it may work later.
    Socket(io::Error),
    /// The two sides do not agree. Waiting does not help.
    Refused(String),
}

impl From<io::Error> for NotSecured {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

/// Whether the files that the URL names can be used. Errors: which cannot, and why.
pub(crate) fn check(tls: &Tls) -> Result<(), String> {
    certificates::client(tls).map(drop)
}

/// Speaks TLS on `socket` with the server that the URL calls `host`. One that offers none is taken as it is where TLS
/// is not required. The caller's deadline bounds it.
pub(crate) async fn secure(
    mut socket: Socket,
    host: &str,
    tls: &Tls,
) -> Result<Socket, NotSecured> {
    socket.write_all(&SSL_REQUEST).await?;
    socket.flush().await?;
    // No more than the one byte: what an attacker sends behind it in plain text must not count as encrypted.
    match socket.read_u8().await? {
        b'S' => handshake(socket, host, tls).await,
        b'N' if !tls.required => Ok(socket),
        b'N' => Err(NotSecured::Refused(words::NOT_OFFERED.to_owned())),
        b'E' => Err(NotSecured::Socket(io::Error::other(words::ERROR_ANSWERED))),
        _ => Err(NotSecured::Refused(words::NO_POSTGRES.to_owned())),
    }
}

async fn handshake(socket: Socket, host: &str, tls: &Tls) -> Result<Socket, NotSecured> {
    let name = match ServerName::try_from(host.to_owned()) {
        Ok(name) => name,
        Err(_) => return Err(NotSecured::Refused(words::bad_name(host))),
    };
    let connector = TlsConnector::from(config(tls).await?);
    match connector.connect(name, socket).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(words::failed(error, host, &tls.verify)),
    }
}

/// Read anew for every connection, as libpq does: files may be renewed while the host runs.
async fn config(tls: &Tls) -> Result<Arc<ClientConfig>, NotSecured> {
    let tls = tls.clone();
    let read = tokio::task::spawn_blocking(move || certificates::client(&tls));
    match read.await {
        Ok(Ok(config)) => Ok(Arc::new(config)),
        Ok(Err(text)) => Err(NotSecured::Refused(text)),
        Err(error) => Err(NotSecured::Socket(io::Error::other(error))),
    }
}
