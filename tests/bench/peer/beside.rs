//! A host that is refused, beside the measured one: started again and again, as an orchestrator does.

use std::time::Duration;

use tidegate_tests::HostBuilder;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

/// Who runs beside the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Nobody.
    Nobody,
    /// A host of another group.
    OtherGroup,
    /// One that knows an older schema than the database has.
    OlderHost,
    /// One that knows a newer schema.
    NewerHost,
}

/// How long after its end it is started again, and looked whether it has ended.
const AGAIN: Duration = Duration::from_secs(1);

const OWNED: &str = "SELECT count(owner) > 0 FROM tidegate.progress";

/// Ends, and kills the host, when dropped.
pub(crate) struct Intruder(JoinHandle<()>);

impl Intruder {
    /// Starts `host` once the measured host owns something.
    pub(crate) fn start(host: HostBuilder, client: Client, beside: Beside) -> Self {
        Self(tokio::spawn(async move {
            until_owned(&client).await;
            if let Some(history) = history(beside)
                && client.batch_execute(history).await.is_err()
            {
                return;
            }
            loop {
                let running = host.clone().start().await;
                while running.is_running() {
                    tokio::time::sleep(AGAIN).await;
                }
                tokio::time::sleep(AGAIN).await;
            }
        }))
    }
}

impl Drop for Intruder {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn until_owned(client: &Client) {
    loop {
        if let Ok(row) = client.query_one(OWNED, &[]).await
            && row.get(0)
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What makes the schema one that the other host does not know. The measured one has looked at it already.
fn history(beside: Beside) -> Option<&'static str> {
    match beside {
        Beside::Nobody | Beside::OtherGroup => None,
        Beside::OlderHost => Some(
            "INSERT INTO tidegate.schema_history (version, name, applied_on, checksum)
             SELECT 1000, 'future', applied_on, checksum FROM tidegate.schema_history LIMIT 1",
        ),
        Beside::NewerHost => Some(
            "DELETE FROM tidegate.schema_history
              WHERE version = (SELECT max(version) FROM tidegate.schema_history)",
        ),
    }
}
