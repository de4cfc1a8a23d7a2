//! The host without the allow-list in front of guest SQL: the suite proves the walls behind it with this binary.
//! It takes what `tidegate run` takes: `run --migrate -c FILE`.

use std::path::PathBuf;

use anyhow::Context as _;
use tidegate::app::{self, RunOptions};
use tidegate::inbox::Wall;
use tidegate::{config, kafka, telemetry};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let _log = telemetry::init(telemetry::LogFormat::Text)?;
    let mut arguments = std::env::args_os().skip_while(|argument| argument != "-c");
    let file = arguments.nth(1).context("-c FILE is missing")?;
    let config = config::load(
        &PathBuf::from(file),
        std::env::vars_os(),
        kafka::check_options,
    )?;
    let options = RunOptions {
        migrate: true,
        wall: Wall::Off,
    };
    Ok(app::run(config, options).await?)
}
