//! `dlt replay`: asks for letters to be handled again, and watches until they were.

use clap::Args;

use super::super::views::{PlannedRow, ReplayRow};
use super::super::{CliError, FormatArgs, open, output, render};
use super::filter::FilterArgs;
use super::watch::{Watched, watch};
use crate::config::Config;
use crate::inbox::{Inbox, Planned, Prospect, ReplayProgress, ReplayRequest};

/// The most letters that a dry run looks at.
const PLANNED: i64 = 100_000;

/// What to replay, and how.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReplayArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Say which letters would be replayed, and replay none
    #[arg(long, conflicts_with_all = ["detach", "wait", "cancel"])]
    dry_run: bool,
    /// Replay parked letters too: those that were rejected `dead_letter.max_replays` times
    #[arg(long)]
    force: bool,
    /// Do not wait for the end
    #[arg(long)]
    detach: bool,
    /// Ask for nothing: wait for a replay that was asked for before
    #[arg(long, value_name = "REPLAY", conflicts_with_all = ["cancel", "detach", "force"])]
    wait: Option<i64>,
    /// End a replay that was asked for before; letters that had no turn yet stay open
    #[arg(long, value_name = "REPLAY")]
    cancel: Option<i64>,
    #[command(flatten)]
    format: FormatArgs,
}

/// Carries the command out.
pub(super) async fn execute(config: &Config, args: ReplayArgs) -> Result<(), CliError> {
    let inbox = open(config).await?;
    if let Some(id) = args.cancel {
        return cancel(&inbox, id).await;
    }
    if let Some(id) = args.wait {
        return end(&inbox, vec![id], args.format).await;
    }
    let request = request(config, &args)?;
    let plan = inbox.plan_replay(&request, PLANNED).await?;
    if args.dry_run {
        return dry_run(&plan, args.format);
    }
    tell_left_out(&plan);
    let new = inbox.request_replay(&request).await?;
    let mut ids = inbox.replays_waiting(&request.filter).await?;
    ids.extend(new.filter(|id| !ids.contains(id)));
    if ids.is_empty() {
        return output::print(
            "nothing to replay: no open dead letter matches that may be replayed",
        );
    }
    if let Some(id) = new {
        tracing::info!(
            replay = id,
            consumer = request.consumer,
            "asked for a replay"
        );
    }
    if args.detach {
        return detach(&inbox, &request.consumer, &ids, args.format).await;
    }
    end(&inbox, ids, args.format).await
}

fn request(config: &Config, args: &ReplayArgs) -> Result<ReplayRequest, CliError> {
    let consumer = args.filter.one_consumer(config)?;
    let filter = args.filter.clone().of_one(config, true)?;
    let force = if args.force { " --force" } else { "" };
    Ok(ReplayRequest {
        filter,
        consumer: consumer.name.clone(),
        by: whoever(),
        words: format!("{}{force}", args.filter),
        rounds: (consumer.letters.max_replays, args.force),
    })
}

/// Who asks, as far as the system tells.
fn whoever() -> String {
    let user = std::env::var("USER").unwrap_or_else(|_| format!("uid {}", nix::unistd::getuid()));
    let machine = nix::unistd::gethostname().unwrap_or_default();
    let name = format!("{user}@{}", machine.to_string_lossy());
    name.replace('\0', "")
}

fn count(plan: &[Planned], prospect: Prospect) -> usize {
    plan.iter().filter(|p| p.prospect == prospect).count()
}

fn dry_run(plan: &[Planned], args: FormatArgs) -> Result<(), CliError> {
    let rows: Vec<PlannedRow> = plan.iter().map(row).collect();
    output::print(&render::list(args.format, &rows, "nothing to replay"))?;
    tell_left_out(plan);
    let ready = count(plan, Prospect::Ready);
    tracing::info!(letters = ready, "would be replayed");
    Ok(())
}

/// Letters that match and will not be replayed are said so, with the reason.
fn tell_left_out(plan: &[Planned]) {
    for (prospect, why) in [
        (
            Prospect::Waiting,
            "wait in a replay that was asked for before",
        ),
        (
            Prospect::Parked,
            "are parked: they were rejected dead_letter.max_replays times; --force replays them",
        ),
        (
            Prospect::Skipped,
            "stand for records that were skipped; they hold nothing to replay",
        ),
    ] {
        let letters = count(plan, prospect);
        if letters > 0 {
            tracing::warn!(letters, "matching letters {why}");
        }
    }
}

fn row(planned: &Planned) -> PlannedRow {
    let (topic, partition, offset) = planned.record.clone();
    PlannedRow {
        id: planned.id.clone(),
        topic,
        partition,
        offset,
        code: planned.code.clone(),
        replay_round: planned.replay_round,
        prospect: planned.prospect.as_str().to_owned(),
    }
}

async fn cancel(inbox: &Inbox, id: i64) -> Result<(), CliError> {
    match inbox.cancel_replay(id).await? {
        Some(letters) => output::print(&format!(
            "replay {id} is cancelled; {letters} letters had no turn yet and stay open"
        )),
        None => Err(CliError::Failed(format!("there is no open replay {id}"))),
    }
}

async fn detach(
    inbox: &Inbox,
    consumer: &str,
    ids: &[i64],
    args: FormatArgs,
) -> Result<(), CliError> {
    if inbox.live_hosts(Some(consumer)).await?.is_empty() {
        tracing::warn!(
            consumer,
            "no host of this consumer is alive; the replay waits for one"
        );
    }
    let replays = inbox.replays(ids).await?;
    let rows: Vec<ReplayRow> = replays.into_iter().map(ReplayRow::from).collect();
    output::print(&render::list(args.format, &rows, "nothing to replay"))
}

/// Which letters wait, and what for.
fn still_waiting(replays: &[ReplayProgress]) -> String {
    let waiting: i64 = replays.iter().map(|replay| replay.waiting).sum();
    let behind: i64 = replays.iter().map(|replay| replay.behind).sum();
    let which = replays.iter().flat_map(|replay| &replay.which);
    let which: Vec<String> = which.map(ToString::to_string).collect();
    let more = waiting - i64::try_from(which.len()).unwrap_or(0);
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    let behind = match behind {
        0 => String::new(),
        behind => format!("; {behind} letters of the same keys are behind them"),
    };
    format!("{}{more}{behind}", which.join("; "))
}

/// Watches to the end and prints what came of it. Letters that stay open are a failure.
async fn end(inbox: &Inbox, ids: Vec<i64>, args: FormatArgs) -> Result<(), CliError> {
    let (replays, watched) = watch(inbox, &ids).await?;
    if replays.is_empty() {
        let id = ids.first().copied().unwrap_or_default();
        return Err(CliError::Failed(format!("there is no replay {id}")));
    }
    let rejected: i64 = replays.iter().map(|replay| replay.rejected).sum();
    let cancelled = replays.iter().any(|replay| replay.status == "cancelled");
    let waiting = still_waiting(&replays);
    let rows: Vec<ReplayRow> = replays.into_iter().map(ReplayRow::from).collect();
    output::print(&render::list(args.format, &rows, "nothing to replay"))?;
    let again: Vec<String> = ids
        .iter()
        .map(|id| format!("`tidegate dlt replay --wait {id}`"))
        .collect();
    let again = again.join(", ");
    match watched {
        Watched::Ended if rejected > 0 => Err(CliError::Failed(format!(
            "{rejected} letters were rejected again and stay open; `tidegate dlt list` says why"
        ))),
        Watched::Ended if cancelled => Err(CliError::Failed("the replay was cancelled".to_owned())),
        Watched::Ended => Ok(()),
        Watched::Interrupted => Err(CliError::Failed(format!(
            "no longer watched; the replay goes on: {again} watches it again"
        ))),
        Watched::Stopped => Err(CliError::Failed(format!(
            "letters wait for something to be changed; the replay stays open, its host tries them again and again, and {again} watches it: {waiting}"
        ))),
        Watched::NoHost(consumer) => Err(CliError::Failed(format!(
            "no host of consumer {consumer:?} is alive; the replay is kept and waits for one: start one, and {again} watches"
        ))),
    }
}
