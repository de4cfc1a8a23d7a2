//! The modes themselves, as two ends of a plain connection see them.

use std::net::SocketAddr;
use std::time::Instant;

use tidegate_tests::{Proxy, Way, millis, secs};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// A client and its server with the proxy between them.
async fn ends(proxy: &Proxy, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(proxy.addr()).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    (client, server)
}

async fn between() -> (Proxy, TcpListener) {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .unwrap();
    let proxy = Proxy::start(listener.local_addr().unwrap()).await;
    (proxy, listener)
}

async fn rest(from: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset ends it as well.
    let _ended = timeout(secs(10), from.read_to_end(&mut bytes))
        .await
        .unwrap();
    bytes
}

async fn byte(from: &mut TcpStream) -> u8 {
    timeout(secs(10), from.read_u8()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_piece_cut_short_ends_its_connection_there() {
    let (proxy, listener) = between().await;
    for (way, times) in [(Way::ToServer, 1), (Way::ToClient, 2)] {
        proxy.truncate(way, 3, 1);
        let (mut client, mut server) = ends(&proxy, &listener).await;
        let (from, to) = match way {
            Way::ToServer => (&mut client, &mut server),
            Way::ToClient => (&mut server, &mut client),
        };
        from.write_all(b"abc").await.unwrap();
        assert_eq!(byte(to).await, b'a', "a short piece passes");
        assert_eq!([byte(to).await, byte(to).await], *b"bc");
        from.write_all(b"defghi").await.unwrap();
        assert_eq!(rest(to).await, b"def");
        assert_eq!(rest(from).await, b"", "the other end is cut as well");
        assert_eq!(proxy.cuts(), times);
    }
    let (mut client, mut server) = ends(&proxy, &listener).await;
    client.write_all(b"abcdef").await.unwrap();
    assert_eq!(byte(&mut server).await, b'a', "only so many are cut");
}

#[tokio::test]
async fn a_half_open_connection_is_silent_one_way() {
    let (proxy, listener) = between().await;
    for way in [Way::ToServer, Way::ToClient] {
        let (mut client, mut server) = ends(&proxy, &listener).await;
        proxy.silence(way);
        let (silent, heard) = match way {
            Way::ToServer => (&mut client, &mut server),
            Way::ToClient => (&mut server, &mut client),
        };
        silent.write_all(b"s").await.unwrap();
        heard.write_all(b"h").await.unwrap();
        assert_eq!(byte(silent).await, b'h');
        let none = timeout(millis(200), heard.read_u8()).await;
        assert!(none.is_err(), "nothing was to come: {none:?}");
        proxy.pass();
        assert_eq!(byte(heard).await, b's');
    }
}

#[tokio::test]
async fn a_slow_connection_takes_its_time() {
    let (proxy, listener) = between().await;
    let (mut client, mut server) = ends(&proxy, &listener).await;
    proxy.slow(10);
    let began = Instant::now();
    client.write_all(b"abcde").await.unwrap();
    assert_eq!(byte(&mut server).await, b'a');
    assert!(began.elapsed() >= millis(500), "{:?}", began.elapsed());
}
