//! Signals: what stops the host in good order, and what does nothing.

use nix::sys::signal::Signal;
use tidegate_tests::{payments, secs};

use crate::reader::{ACCOUNTS, Reader, wait_taken};
use crate::rows::{Counts, settled};

/// The host gives its partition back, tells Kafka, and ends with exit code 0.
async fn drains(signal: Signal) {
    let reader = Reader::new("drains", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    reader.pay(&paid).await;
    let host = reader.start().await;
    wait_taken(&host, 1).await;
    host.signal_number(signal as i32).await;
    assert_eq!(host.wait_exit(secs(30)).await, 0, "{signal}");
    assert_eq!(host.log_count("partition given back"), 1, "{signal}");
    let place = reader.place(0).await.unwrap();
    assert_eq!(reader.group_offset().await, Some(place.next), "{signal}");
    let host = host.restart().await;
    settled(&reader.env.db, Counts::done(10)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hang_up_stops_the_host_in_good_order() {
    drains(Signal::SIGHUP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quit_stops_the_host_in_good_order() {
    drains(Signal::SIGQUIT).await;
}

/// All that would end a process by default, but for those that a fault of its own raises.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signals_that_mean_nothing_to_the_host_do_nothing() {
    let reader = Reader::new("nothing", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(40, ACCOUNTS));
    let host = reader.start().await;
    wait_taken(&host, 1).await;
    let named = [
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGPIPE,
        Signal::SIGALRM,
        Signal::SIGVTALRM,
        Signal::SIGPROF,
        Signal::SIGIO,
        Signal::SIGPWR,
        Signal::SIGXCPU,
        Signal::SIGXFSZ,
        Signal::SIGURG,
        Signal::SIGCHLD,
        Signal::SIGWINCH,
        Signal::SIGCONT,
    ];
    // The stack fault of a coprocessor, and the real-time signals that the C library leaves.
    let numbers = named
        .iter()
        .map(|signal| *signal as i32)
        .chain([16, 34, 35, 50, 64]);
    for (number, payment) in numbers.zip(paid.chunks(2)) {
        host.signal_number(number).await;
        assert!(host.is_running(), "signal {number}");
        reader.pay(payment).await;
    }
    let sent = 2 * 19;
    settled(&reader.env.db, Counts::done(sent)).await;
    ledger.assert_exact(&paid[..sent]).await;
    assert_eq!(host.terminate().await, 0);
}
