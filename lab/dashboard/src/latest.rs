//! The file of the latest results: a row for each series, for coverage, energy and search.

use serde_json::{Map, Value, json};

use crate::collection::Collection;
use crate::columns::number;
use crate::series::Row;

/// The last document of a test that passed, of each series that has one; `values[figure]` has null where it has not.
pub fn file(collection: &Collection) -> Value {
    let latest = collection.series.iter().enumerate().filter_map(|(at, series)| Some((at, series, series.latest()?)));
    let latest: Vec<_> = latest.map(|(at, series, row)| (at, series.rows.len(), row)).collect();
    let of = |row: &Row, figure: u32| {
        row.values.iter().find(|(number, _)| *number == figure).map_or(Value::Null, |(_, value)| number(*value))
    };
    let figures = 0..collection.figures.all().len() as u32;
    let columns = figures.map(|figure| (figure, latest.iter().map(|(_, _, row)| of(row, figure)).collect::<Vec<_>>()));
    let values: Map<String, Value> = columns
        .filter(|(_, column)| column.iter().any(|value| !value.is_null()))
        .map(|(figure, column)| (figure.to_string(), column.into()))
        .collect();
    json!({
        "series": latest.iter().map(|(at, ..)| at).collect::<Vec<_>>(),
        "time": latest.iter().map(|(_, _, row)| row.time).collect::<Vec<_>>(),
        "revision": latest.iter().map(|(_, _, row)| row.revision).collect::<Vec<_>>(),
        "values": values,
    })
}
