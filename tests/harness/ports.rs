//! Free TCP ports, from below the range that the kernel hands to outgoing connections.

use std::net::TcpListener;

/// A listener on a free port of 127.0.0.1. Holding it reserves the port.
pub(crate) fn reserve() -> TcpListener {
    for _ in 0..1000 {
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", fastrand::u16(12_000..32_000))) {
            return listener;
        }
    }
    panic!("found no free TCP port between 12000 and 32000 on 127.0.0.1");
}

/// The port of a reserved listener.
pub(crate) fn port(listener: &TcpListener) -> u16 {
    match listener.local_addr() {
        Ok(addr) => addr.port(),
        Err(e) => panic!("a bound listener has no address: {e}"),
    }
}

/// `n` ports that were free just now, all different.
pub(crate) fn free(n: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..n).map(|_| reserve()).collect();
    held.iter().map(port).collect()
}
