//! The file of a series: its documents in columns, and the course of each figure.

use serde_json::{Map, Value, json};

use crate::columns::{differences, number};
use crate::series::{Row, Series};

/// Everything that the pages show of one series, but for the documents themselves.
///
/// `values[figure]` has two columns: `at`, the places of the rows (absent if all rows have the figure), and `value`.
pub fn file(series: &Series) -> Value {
    let rows = &series.rows;
    let column = |of: fn(&Row) -> Value| rows.iter().map(of).collect::<Vec<_>>();
    let mut values = Map::new();
    for figure in series.figures() {
        let (at, samples) = series.samples(figure);
        let samples: Vec<Value> = samples.into_iter().map(number).collect();
        let is_full = at.len() == rows.len();
        let both = if is_full { json!({ "value": samples }) } else { json!({ "at": at, "value": samples }) };
        values.insert(figure.to_string(), both);
    }
    let trends: Map<String, Value> =
        series.trends.iter().map(|(figure, trend)| (figure.to_string(), trend.json())).collect();
    let is_mrr = rows.iter().any(|row| !row.samples.is_empty());
    let samples = is_mrr.then(|| column(|row| row.samples.iter().copied().map(number).collect()));
    json!({
        "time": differences(rows.iter().map(|row| row.time)),
        "revision": column(|row| row.revision.into()),
        "hosts": column(|row| row.hosts.into()),
        "message": column(|row| row.message.as_deref().unwrap_or_default().into()),
        "seconds": column(|row| number(row.seconds)),
        "file": differences(rows.iter().map(|row| row.document.0.into())),
        "place": column(|row| row.document.1.into()),
        "samples": samples,
        "values": values,
        "trends": trends,
    })
}
