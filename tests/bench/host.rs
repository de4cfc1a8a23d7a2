//! The host as anybody runs it: the real binary, the example handler, one consumer.

use anyhow::{Result, ensure};

use crate::clock::{Course, Run};
use crate::peer::Job;
use crate::{BATCH, tables};

const PROGRESS: &str = "SELECT max(next_offset) FROM tidegate.progress";

/// Lets `tidegate run` handle the topic, and stops it in order.
pub(crate) async fn run(job: &Job<'_>) -> Result<Run> {
    let env = job.env;
    let consumer = env
        .consumer(job.topic, "credit-rust")
        .await
        .batch("max_records", BATCH);
    let config = env.config().consumer(consumer);
    let migrated = env.cli(&["migrate"], &config).await;
    ensure!(
        migrated.code == 0,
        "tidegate migrate failed: {}",
        migrated.stderr
    );
    tables::settle(&env.db).await;
    let host = env.host(config).start().await;
    let course = Course {
        db: &env.db,
        progress: PROGRESS,
        end: i64::try_from(job.records)?,
    };
    let run = course
        .time(|| {
            ensure!(
                host.is_running(),
                "the host ended by itself:\n{}",
                host.log()
            );
            Ok(())
        })
        .await?;
    let code = host.terminate().await;
    ensure!(
        code == 0,
        "the host ended with code {code} on SIGTERM:\n{}",
        host.log()
    );
    Ok(run)
}
