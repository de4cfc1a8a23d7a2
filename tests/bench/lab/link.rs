//! The way to the database: direct, or by a proxy that makes the round trip as long as it is to be.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tidegate_tests::Db;
use tokio_postgres::NoTls;

use crate::delay::DelayProxy;
use crate::report::Spread;

/// Round trips of one probe.
const PINGS: usize = 60;

/// A way that is open as long as this lives.
pub(crate) struct Link {
    proxy: Option<DelayProxy>,
    /// Its round trip as measured, in milliseconds, if it is one of our making.
    pub(crate) round_trip_ms: Option<f64>,
}

impl Link {
    /// Opens it, and adjusts the delay until a `SELECT 1` takes `round_trip`, give or take a tenth.
    pub(crate) async fn open(db: &Db, round_trip: Option<Duration>) -> Result<Self> {
        let Some(wanted) = round_trip else {
            return Ok(Self {
                proxy: None,
                round_trip_ms: None,
            });
        };
        let proxy = DelayProxy::start(db.port())?;
        let url = db.url_at(proxy.port());
        let wanted = wanted.as_secs_f64();
        let mut delay = wanted / 2.0;
        let mut measured = 0.0;
        for _ in 0..3 {
            proxy.set_delay(Duration::from_secs_f64(delay));
            measured = ping(&url).await?;
            if (measured - wanted).abs() < wanted / 50.0 {
                break;
            }
            delay = (delay + (wanted - measured) / 2.0).max(0.0);
        }
        ensure!(
            (measured - wanted).abs() < wanted / 10.0,
            "the round trip is {:.2} ms, not {:.2} ms",
            measured * 1e3,
            wanted * 1e3
        );
        Ok(Self {
            proxy: Some(proxy),
            round_trip_ms: Some(measured * 1e3),
        })
    }

    /// The database's URL this way.
    pub(crate) fn url(&self, db: &Db) -> String {
        match &self.proxy {
            Some(proxy) => db.url_at(proxy.port()),
            None => db.url(),
        }
    }
}

/// The median time of a prepared `SELECT 1`, in seconds.
async fn ping(url: &str) -> Result<f64> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    let statement = client.prepare("SELECT 1").await?;
    let mut times = Vec::with_capacity(PINGS);
    for _ in 0..PINGS {
        let began = Instant::now();
        client.query_one(&statement, &[]).await?;
        times.push(began.elapsed().as_secs_f64());
    }
    Ok(Spread::of(times).median)
}
