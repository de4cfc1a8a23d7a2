//! The recorder that lasts: counters and histograms.

use std::sync::Arc;

use metrics::{Counter, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusRecorder};

use super::table::{Kind, Metric, TABLE};

/// Who registers, for recorders that filter.
pub(super) static WHO: Metadata<'static> =
    Metadata::new("tidegate", Level::INFO, Some(module_path!()));

/// This process's counters and histograms. Cheap to clone.
#[derive(Clone)]
pub struct Registry(Option<Arc<PrometheusRecorder>>);

impl Registry {
    /// A recorder that knows the table.
    ///
    /// # Errors
    /// A histogram without buckets: an error in the table.
    pub fn new() -> Result<Self, String> {
        let mut builder = PrometheusBuilder::new();
        for metric in TABLE {
            if let Kind::Histogram(buckets) = metric.kind {
                let name = Matcher::Full(metric.name.to_owned());
                builder = builder
                    .set_buckets_for_metric(name, buckets)
                    .map_err(|e| format!("{}: {e}", metric.name))?;
            }
        }
        let recorder = builder.build_recorder();
        for metric in TABLE {
            let (name, help) = (metric.name.into(), metric.help.into());
            match metric.kind {
                Kind::Counter => recorder.describe_counter(name, None, help),
                Kind::Histogram(_) => recorder.describe_histogram(name, None, help),
                Kind::Gauge => {}
            }
        }
        Ok(Self(Some(Arc::new(recorder))))
    }

    /// Records nothing: nobody scrapes.
    pub fn off() -> Self {
        Self(None)
    }

    /// The counter with these values of its labels, in their order. Looked up, so not for every record.
    pub fn counter(&self, metric: &'static Metric, values: &[&str]) -> Counter {
        match &self.0 {
            Some(recorder) => recorder.register_counter(&key(metric, values), &WHO),
            None => Counter::noop(),
        }
    }

    /// The histogram with these values of its labels, in their order.
    pub fn histogram(&self, metric: &'static Metric, values: &[&str]) -> Histogram {
        match &self.0 {
            Some(recorder) => recorder.register_histogram(&key(metric, values), &WHO),
            None => Histogram::noop(),
        }
    }

    /// Everything, as Prometheus reads it.
    pub fn render(&self) -> String {
        let recorder = self.0.as_ref();
        recorder.map_or_else(String::new, |recorder| recorder.handle().render())
    }

    /// Sorts observations into their buckets: until then each takes memory. To be called every few seconds.
    pub fn upkeep(&self) {
        if let Some(recorder) = &self.0 {
            recorder.handle().run_upkeep();
        }
    }
}

/// A metric's name with the values of its labels.
pub(super) fn key(metric: &'static Metric, values: &[&str]) -> Key {
    debug_assert_eq!(metric.labels.len(), values.len(), "{}", metric.name);
    let labels = metric.labels.iter().zip(values);
    let labels: Vec<Label> = labels
        .map(|(name, value)| Label::new(*name, (*value).to_owned()))
        .collect();
    Key::from_parts(metric.name, labels)
}
