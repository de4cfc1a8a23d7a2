//! Tries everything that WASI offers beside clocks and random numbers, and rejects with a line a probe: what it got, or
//! that it was denied. The word `exit` in the value ends the process instead, or tries to.

use std::fs::{self, File};
use std::io::Read;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use guest_common::{Event, Failure, Guest, Outcome, mentions, reject};

struct ReachesOut;

impl Guest for ReachesOut {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        if mentions(&event, "exit") {
            std::process::exit(7);
        }
        let mut probes = Vec::new();
        nothing_there(&mut probes);
        files(&mut probes);
        network(&mut probes);
        clocks(&mut probes);
        Err(reject("probed", probes.join("\n")))
    }
}

fn nothing_there(probes: &mut Vec<String>) {
    probes.push(format!("environment: {}", std::env::vars().count()));
    probes.push(format!("arguments: {}", std::env::args().count()));
    let mut read = Vec::new();
    let stdin = std::io::stdin().read_to_end(&mut read);
    probes.push(format!("stdin: {}", stdin.unwrap_or(0)));
}

fn files(probes: &mut Vec<String>) {
    probes.push(denied("file-open", File::open("/etc/passwd")));
    probes.push(denied("file-relative", File::open("Cargo.toml")));
    probes.push(denied("file-create", File::create("/tmp/reached")));
    probes.push(denied("read-dir", fs::read_dir("/")));
    probes.push(denied("read-dir-here", fs::read_dir(".")));
    probes.push(denied("make-dir", fs::create_dir("/tmp/reached-dir")));
    probes.push(denied("metadata", fs::metadata("/")));
    probes.push(denied("remove", fs::remove_file("/tmp/reached")));
}

fn network(probes: &mut Vec<String>) {
    probes.push(denied("connect", TcpStream::connect("127.0.0.1:9")));
    let address = ([127, 0, 0, 1], 9).into();
    let soon = Duration::from_millis(10);
    probes.push(denied(
        "connect-soon",
        TcpStream::connect_timeout(&address, soon),
    ));
    probes.push(denied("listen", TcpListener::bind("127.0.0.1:0")));
    probes.push(denied("udp", UdpSocket::bind("127.0.0.1:0")));
    probes.push(denied("listen-6", TcpListener::bind("[::1]:0")));
    probes.push(denied("look-up", "localhost:80".to_socket_addrs()));
    probes.push(denied("look-up-far", "example.com:80".to_socket_addrs()));
}

/// How far beyond a whole millisecond the clocks ever are.
fn clocks(probes: &mut Vec<String>) {
    let (began, mut finest) = (Instant::now(), 0);
    for _ in 0..1000 {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        finest = finest.max(wall.subsec_nanos() % 1_000_000);
        finest = finest.max(began.elapsed().subsec_nanos() % 1_000_000);
    }
    probes.push(format!("clocks: {finest}"));
}

fn denied<T>(probe: &str, got: std::io::Result<T>) -> String {
    match got {
        Ok(_) => format!("{probe}: reached"),
        Err(_) => format!("{probe}: denied"),
    }
}

guest_common::export!(ReachesOut);
