//! Gauges, made anew for each scrape: only what is true now is shown.

use metrics::Recorder;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};

use super::registry::{WHO, key};
use super::table::{Kind, Metric, TABLE};

/// The gauges of one scrape.
pub struct Snapshot(PrometheusRecorder);

impl Default for Snapshot {
    fn default() -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        for metric in TABLE.iter().filter(|m| m.kind == Kind::Gauge) {
            recorder.describe_gauge(metric.name.into(), None, metric.help.into());
        }
        Self(recorder)
    }
}

impl Snapshot {
    /// Shows a value, with these values of the metric's labels in their order.
    pub fn set(&self, metric: &'static Metric, values: &[&str], value: f64) {
        debug_assert_eq!(metric.kind, Kind::Gauge, "{}", metric.name);
        self.0.register_gauge(&key(metric, values), &WHO).set(value);
    }

    /// All of it, as Prometheus reads it.
    pub fn render(&self) -> String {
        self.0.handle().render()
    }
}
