//! Keeps a consumer's host visible, and learns whether the consumer may handle records.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::control::{Control, State};
use tidegate_core::failure::Failure;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::worker::shared::Shared;
use crate::worker::standing::is_ours;

/// How often the host says that it is there.
const BEAT: Duration = Duration::from_secs(2);
/// How often it asks while the consumer is held back.
const HELD: Duration = Duration::from_millis(500);
/// How long saying good-bye may take.
const LEAVE: Duration = Duration::from_secs(1);

/// Runs until `stop`.
pub async fn keep(shared: Arc<Shared>, stop: CancellationToken) {
    let mut modules = shared.own.modules();
    // Starting with another module than the one that tripped the brake is activating it.
    let mut activated = true;
    let cluster = OnceCell::new();
    loop {
        match look(&shared, &cluster, activated).await {
            Ok(control) => {
                // A host whose positions are another's activates nothing, and while another host still runs what
                // tripped a brake, that is asked about again.
                let lifts = control.lifted_by(&shared.own.module().digest());
                activated &= !shared.is_ours() || lifts;
                take_in(&shared, control);
            }
            Err(error) => {
                tracing::debug!(consumer = %shared.name, %error, "the consumer's state cannot be read now; the next batch meets it at the fence");
            }
        }
        let wait = if shared.runs() { BEAT } else { HELD };
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(wait) => {}
            () = shared.look.notified() => {}
            changed = modules.changed() => {
                activated = true;
                shared.own.conduct.module_changed();
                if changed.is_err() {
                    break;
                }
            }
        }
    }
    let _late = timeout(LEAVE, shared.inbox.leave(&shared.name, shared.host.id)).await;
}

async fn look(
    shared: &Shared,
    cluster: &OnceCell<String>,
    activated: bool,
) -> Result<Control, Failure> {
    shared.ours(is_ours(shared, cluster).await?);
    if !shared.is_ours() {
        return shared.inbox.control(&shared.name).await;
    }
    let (host, digest) = (&shared.host, shared.own.module().digest());
    let inbox = &shared.inbox;
    inbox
        .beat(&shared.name, (host.id, &host.label), &digest)
        .await?;
    for source in shared.lost_under_a_mark() {
        inbox.acquit(&shared.key(&source), host.id).await?;
        shared.unmarks(&source);
    }
    let control = inbox.control(&shared.name).await?;
    if activated && control.lifted_by(&digest) && inbox.lift(&shared.name, host.id, &digest).await?
    {
        tracing::info!(consumer = %shared.name, module = %hex::encode(digest), "another module is active, and no host runs what tripped the brake: the brake is lifted");
        return inbox.control(&shared.name).await;
    }
    Ok(control)
}

fn take_in(shared: &Shared, control: Control) {
    let consumer = &shared.name;
    let before = shared.control();
    if before == control {
        return;
    }
    let reason = control.reason.as_deref().unwrap_or_default();
    let module = shared.own.module().digest();
    match (before.state_of(&module), control.state_of(&module)) {
        (State::Running, State::Running) if control.state == State::Braked => {
            let braked = control.braked.0.first().map(hex::encode);
            tracing::warn!(%consumer, reason, episode = control.episode, braked, "the consumer is braked on hosts that run another module; this one goes on");
        }
        (State::Running, State::Running) => {}
        (_, State::Running) => {
            shared.own.conduct.released();
            tracing::info!(%consumer, "the consumer runs again");
        }
        (_, State::Paused) => {
            tracing::warn!(%consumer, reason, "the consumer is paused; `tidegate consumer resume` lets it go on");
        }
        (_, State::Braked) => {
            tracing::error!(%consumer, reason, episode = control.episode, "the consumer is braked: hosts with this module handle nothing and dead-letter nothing until another one is active or `tidegate consumer resume` lets it go on");
        }
    }
    shared.control_is(control);
}
