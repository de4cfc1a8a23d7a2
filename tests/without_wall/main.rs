//! The host without the allow-list in front of guest SQL: the suite proves the walls behind it with this binary.
//! It takes what `tidegate run` takes: `run --migrate -c FILE`.

use std::path::PathBuf;
use std::process::ExitCode;

use tidegate::app::{self, RunOptions};
use tidegate::inbox::Wall;
use tidegate::{config, telemetry};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<()> {
    telemetry::init(telemetry::LogFormat::Text)?;
    let arguments: Vec<_> = std::env::args_os().collect();
    let file = arguments.iter().skip_while(|arg| *arg != "-c").nth(1);
    let file = PathBuf::from(file.ok_or_else(|| anyhow::anyhow!("-c FILE is missing"))?);
    let config = config::load(&file, std::env::vars_os())?;
    let options = RunOptions {
        migrate: true,
        wall: Wall::Off,
    };
    Ok(app::run(config, options).await?)
}
