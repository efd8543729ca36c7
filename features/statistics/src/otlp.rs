//! The metrics as OpenTelemetry's collectors take them: OTLP 1, the body of an `ExportMetricsServiceRequest` in JSON, where
//! integers of 64 bits are texts.

use serde_json::{Value, json};

use crate::metrics::{Kind, Metric, Point};
use crate::unit::ucum;

/// Media type of such a body.
pub const CONTENT_TYPE: &str = "application/json";

/// AGGREGATION_TEMPORALITY_CUMULATIVE: a point has all that was counted since the start.
const CUMULATIVE: u32 = 2;

/// The metrics at a moment, for a daemon that started at another; both in nanoseconds since 1970.
pub fn request(metrics: &[Metric], started: u64, now: u64) -> Value {
    let text = |name: &str, text: &str| json!({"key": name, "value": {"stringValue": text}});
    let point = |Point { labels, value }: &Point| {
        let attributes: Vec<Value> = labels.iter().map(|(name, value)| text(name, value)).collect();
        json!({
            "attributes": attributes,
            "startTimeUnixNano": started.to_string(),
            "timeUnixNano": now.to_string(),
            "asInt": i64::try_from(*value).unwrap_or(i64::MAX).to_string(),
        })
    };
    let metric = |Metric { name, help, unit, kind, points }: &Metric| {
        // 1 is UCUM's unit of what has none.
        let unit = unit.map_or("1", ucum);
        let points: Vec<Value> = points.iter().map(point).collect();
        let name = format!("quiver.{name}");
        match kind {
            Kind::Counter => json!({
                "name": name,
                "description": help,
                "unit": unit,
                "sum": {"aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points},
            }),
            Kind::Gauge => json!({"name": name, "description": help, "unit": unit, "gauge": {"dataPoints": points}}),
        }
    };
    json!({"resourceMetrics": [{
        "resource": {"attributes": [
            text("service.name", "quiverd"),
            text("service.version", env!("CARGO_PKG_VERSION")),
        ]},
        "scopeMetrics": [{
            "scope": {"name": "quiver", "version": env!("CARGO_PKG_VERSION")},
            "metrics": metrics.iter().map(metric).collect::<Vec<_>>(),
        }],
    }]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_sums_since_the_start_and_gauges_are_what_they_are_now() {
        let point = |value| Point { labels: vec![("worker", "1".to_owned())], value };
        let metric = |name: &str, unit, kind, value| {
            let (name, help) = (name.into(), "What it is.".into());
            Metric { name, help, unit, kind, points: vec![point(value)] }
        };
        let made =
            request(&[metric("a_bytes", Some("bytes"), Kind::Counter, 7), metric("b", None, Kind::Gauge, 9)], 1, 2);
        let metrics = &made["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let data = |value: &str| {
            json!([{
                "attributes": [{"key": "worker", "value": {"stringValue": "1"}}],
                "startTimeUnixNano": "1",
                "timeUnixNano": "2",
                "asInt": value,
            }])
        };
        assert_eq!((&metrics[0]["name"], &metrics[0]["unit"]), (&json!("quiver.a_bytes"), &json!("By")));
        assert_eq!((&metrics[1]["description"], &metrics[1]["unit"]), (&json!("What it is."), &json!("1")));
        assert_eq!(
            metrics[0]["sum"],
            json!({"aggregationTemporality": 2, "isMonotonic": true, "dataPoints": data("7")})
        );
        assert_eq!(metrics[1]["gauge"], json!({"dataPoints": data("9")}));
    }
}
