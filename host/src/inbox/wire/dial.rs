//! Opening a socket to the server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::time::timeout;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, LoadBalanceHosts};

const PORT: u16 = 5432;
/// How long one address may take where nothing is configured.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connected socket.
pub(crate) type Socket = Box<dyn Io>;

/// Bytes both ways.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Where a server listens.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    /// An address, and the name that the URL has for it.
    Tcp(SocketAddr, String),
    Unix(PathBuf),
}

/// Whether every host has its address and port, as far as they are given one by one.
pub(crate) fn is_consistent(driver: &Config) -> bool {
    let (hosts, addresses) = (driver.get_hosts().len(), driver.get_hostaddrs().len());
    let servers = hosts.max(addresses);
    let fits = |n: usize| n == 0 || n == servers;
    fits(hosts)
        && fits(addresses)
        && (driver.get_ports().len() <= 1 || fits(driver.get_ports().len()))
}

/// The addresses of all servers in the order in which they are to be tried; names are looked up now.
pub(crate) async fn addresses(driver: &Config) -> io::Result<Vec<Address>> {
    let servers = driver.get_hosts().len().max(driver.get_hostaddrs().len());
    let (mut found, mut error) = (Vec::new(), None);
    for server in 0..servers {
        match addresses_of(driver, server).await {
            Ok(addresses) => found.extend(addresses),
            Err(e) => error = Some(e),
        }
    }
    if driver.get_load_balance_hosts() == LoadBalanceHosts::Random {
        fastrand::shuffle(&mut found);
    }
    match error {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

async fn addresses_of(driver: &Config, server: usize) -> io::Result<Vec<Address>> {
    let ports = driver.get_ports();
    let port = ports.get(server).or(ports.first()).copied().unwrap_or(PORT);
    let host = driver.get_hosts().get(server);
    if let Some(ip) = driver.get_hostaddrs().get(server) {
        let name = match host {
            Some(Host::Tcp(name)) => name.clone(),
            _ => ip.to_string(),
        };
        return Ok(vec![Address::Tcp(SocketAddr::new(*ip, port), name)]);
    }
    match host {
        Some(Host::Tcp(name)) => {
            let found = lookup_host((name.as_str(), port)).await?;
            let named = |address| Address::Tcp(address, name.clone());
            Ok(found.map(named).collect())
        }
        Some(Host::Unix(directory)) => {
            let path = directory.join(format!(".s.PGSQL.{port}"));
            Ok(vec![Address::Unix(path)])
        }
        None => Ok(Vec::new()),
    }
}

impl Address {
    /// The host's name in the URL; a Unix socket has none.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Address::Tcp(_, name) => Some(name),
            Address::Unix(_) => None,
        }
    }

    /// Connects, with the driver's settings of time-outs and keep-alive.
    pub(crate) async fn open(&self, driver: &Config) -> io::Result<Socket> {
        let within = driver
            .get_connect_timeout()
            .copied()
            .unwrap_or(CONNECT_TIMEOUT);
        let opening = async {
            match self {
                Address::Tcp(address, _) => tcp(*address, driver).await,
                Address::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?) as Socket),
            }
        };
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "connection timed out");
        timeout(within, opening).await.map_err(late)?
    }
}

async fn tcp(address: SocketAddr, driver: &Config) -> io::Result<Socket> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let socket = SockRef::from(&stream);
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(driver.get_tcp_user_timeout().copied())?;
    if driver.get_keepalives() {
        socket.set_tcp_keepalive(&keepalive(driver))?;
    }
    Ok(Box::new(stream))
}

fn keepalive(driver: &Config) -> TcpKeepalive {
    let mut keepalive = TcpKeepalive::new().with_time(driver.get_keepalives_idle());
    if let Some(interval) = driver.get_keepalives_interval() {
        keepalive = keepalive.with_interval(interval);
    }
    if let Some(retries) = driver.get_keepalives_retries() {
        keepalive = keepalive.with_retries(retries);
    }
    keepalive
}
