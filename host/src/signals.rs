//! SIGTERM and SIGINT.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels `stop` at the first SIGTERM or SIGINT; a second one ends the process at once, which is safe:
/// whatever was not committed is rolled back by the database.
pub async fn cancel_on_signal(stop: CancellationToken) {
    let (Ok(mut term), Ok(mut int)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        tracing::error!("signals cannot be listened to; stop this process with SIGKILL");
        return;
    };
    any(&mut term, &mut int).await;
    tracing::info!(
        "stopping: batches are ended and offsets committed; a second signal ends at once"
    );
    stop.cancel();
    any(&mut term, &mut int).await;
    std::process::exit(130);
}

async fn any(term: &mut Signal, int: &mut Signal) {
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}
