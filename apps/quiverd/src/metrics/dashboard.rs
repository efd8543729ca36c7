//! Every metric has a description, and the dashboard asks for metrics that this daemon serves. A test with Prometheus
//! shows that it understands the queries (`tests/programs/prometheus.rs`).

use std::collections::BTreeSet;

use quiver_control::Control;
use quiver_statistics::metrics::{Metric, metrics};
use quiver_statistics::{prometheus, refresh, segment};
use serde_json::Value;

use crate::pages::with_control;

const DASHBOARD: &str = include_str!("../../dashboards/quiver.json");

/// The queries of a dashboard: of panels and of variables.
fn queries(part: &Value, found: &mut Vec<String>) {
    match part {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if matches!(name.as_str(), "expr" | "query") => found.push(text.clone()),
                    member => queries(member, found),
                }
            }
        }
        Value::Array(members) => members.iter().for_each(|member| queries(member, found)),
        _ => {}
    }
}

/// The metrics that a query names.
fn named(query: &str) -> impl Iterator<Item = &str> {
    query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("quiver_"))
}

/// The metrics as they are now.
fn served(control: &Control) -> Vec<Metric> {
    refresh(control);
    metrics(&segment(control))
}

#[tokio::test]
async fn the_dashboard_asks_for_metrics_that_are_served() {
    let (dashboard, mut asked) = (serde_json::from_str(DASHBOARD).unwrap(), vec![]);
    queries(&dashboard, &mut asked);
    let compare = |control: &Control| {
        control.put(quiver_session::Tenant::new(1)).unwrap();
        let text = prometheus::text(served(control));
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let served: BTreeSet<&str> = samples.filter_map(|line| line.split(['{', ' ']).next()).collect();
        let names: Vec<&str> = asked.iter().flat_map(|query| named(query)).collect();
        assert!(asked.len() > 20 && names.len() >= asked.len(), "{asked:?}");
        for name in names {
            assert!(served.contains(name), "the dashboard asks for {name}, which is none of {served:?}");
        }
    };
    with_control(compare).await;
}

#[tokio::test]
async fn every_metric_has_a_sentence_of_help_and_the_unit_of_its_name() {
    let check = |control: &Control| {
        let metrics = served(control);
        assert!(metrics.len() > 40, "{} metrics", metrics.len());
        for metric in &metrics {
            let (name, help) = (&metric.name, &metric.help);
            assert!(!help.starts_with('/'), "{name} has no help: describe its entry by `Segment::describe`");
            assert!(help.ends_with('.') && !help.contains(['{', '\n']), "{name}: {help}");
            assert!(metric.unit.is_none_or(|unit| name.ends_with(&format!("_{unit}"))), "{name}: {:?}", metric.unit);
        }
        let text = prometheus::text(metrics);
        for line in [
            "# HELP quiver_interface_rx_bytes Bytes received by the interface.",
            "# TYPE quiver_interface_rx_bytes counter",
            "# UNIT quiver_interface_rx_bytes bytes",
            "# TYPE quiver_sys_boottime_seconds gauge",
            "quiver_interface_admin_up{interface=\"local0\"} 0",
            "quiver_interface_link_up{interface=\"local0\"} 0",
        ] {
            assert!(text.lines().any(|said| said == line), "{line}: {text}");
        }
        assert!(!text.contains("_total_total"), "{text}");
    };
    with_control(check).await;
}
