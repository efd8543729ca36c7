//! The metrics as Prometheus reads them: OpenMetrics 1.0, as text.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use crate::metrics::{Kind, Metric};

/// Media type of such a text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug)]
struct Metrics(Vec<Metric>);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for Metric { name, help, unit, kind, points } in &self.0 {
            let kind_of = match kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
            };
            // The encoder puts the unit behind the name itself.
            let stem = unit.and_then(|unit| name.strip_suffix(unit)?.strip_suffix('_'));
            let unit = stem.and(*unit).map(|unit| Unit::Other(unit.to_owned()));
            let mut metric = encoder.encode_descriptor(stem.unwrap_or(name), help, unit.as_ref(), kind_of)?;
            for point in points {
                match point.labels.is_empty() {
                    true => encode(&mut metric, *kind, point.value)?,
                    false => encode(&mut metric.encode_family(&point.labels)?, *kind, point.value)?,
                }
            }
        }
        Ok(())
    }
}

fn encode(metric: &mut MetricEncoder, kind: Kind, value: u64) -> Result<(), fmt::Error> {
    match kind {
        Kind::Counter => metric.encode_counter::<NoLabelSet, u64, u64>(&value, None),
        // A gauge is signed; nothing that is counted here comes near that.
        Kind::Gauge => metric.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX)),
    }
}

/// The metrics, each name with `quiver` before it.
pub fn text(metrics: Vec<Metric>) -> String {
    let (mut registry, mut text) = (Registry::with_prefix("quiver"), String::new());
    registry.register_collector(Box::new(Metrics(metrics)));
    // Writing to a string cannot fail.
    let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Point;

    #[test]
    fn metrics_are_open_metrics() {
        let labels = vec![("interface", "a\"b".to_owned()), ("worker", "0".to_owned())];
        let rx = Metric {
            name: "interface_rx_packets".into(),
            help: "Packets received.".into(),
            unit: Some("packets"),
            kind: Kind::Counter,
            points: vec![Point { labels, value: u64::MAX }],
        };
        let rate = Metric {
            name: "sys_vector_rate".into(),
            help: "Packets in a call.".into(),
            unit: None,
            kind: Kind::Gauge,
            points: vec![Point { labels: vec![], value: 256 }],
        };
        let expected = "# HELP quiver_interface_rx_packets Packets received.\n\
            # TYPE quiver_interface_rx_packets counter\n\
            # UNIT quiver_interface_rx_packets packets\n\
            quiver_interface_rx_packets_total{interface=\"a\\\"b\",worker=\"0\"} 18446744073709551615\n\
            # HELP quiver_sys_vector_rate Packets in a call.\n\
            # TYPE quiver_sys_vector_rate gauge\n\
            quiver_sys_vector_rate 256\n\
            # EOF\n";
        assert_eq!(text(vec![rx, rate]), expected);
    }
}
