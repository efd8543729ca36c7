//! `bench tables`: routes, stations and sessions by the million, how fast they come and go, when workers see them, and the memory.

mod directory;
mod flood;
mod ip6;
mod lost;
mod routes;
mod sessions;
pub mod stations;

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use quiver_engine::{Backing, Level};

use crate::machine::Machine;
use crate::report::append_lines;

/// A figure.
pub struct Row {
    /// The operation, such as inserting.
    pub what: &'static str,
    /// The object of the operation.
    pub to: String,
    pub value: f64,
    pub unit: &'static str,
}

/// Measures some of the figures.
type Part = fn() -> Result<Vec<Row>, String>;

/// Measures all of it, or one part, prints a table, and appends the rows to a file if one is given.
pub fn run(csv: Option<&Path>, only: &str) -> Result<(), String> {
    let parts: [(&str, Part); 9] = [
        ("routes", routes::come_and_go),
        ("tables", routes::small_tables),
        ("visibility", routes::visibility),
        ("ip6", ip6::come_and_go),
        ("lost", lost::converge),
        ("stations", stations::measure),
        ("directory", directory::sessions),
        ("sessions", sessions::come_and_go),
        ("flood", flood::measure),
    ];
    let mut rows = vec![];
    for (name, part) in parts.into_iter().filter(|(name, _)| name.contains(only)) {
        eprintln!("{name} ...");
        rows.extend(part()?);
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["what", "of", "value", "unit"]);
    for Row { what, to, value, unit } in &rows {
        table.add_row([what, to.as_str(), &text(*value), unit]);
    }
    table.column_iter_mut().skip(2).take(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let Machine { date, revision, cpu, .. } = Machine::here(Backing::Plain, Level::best());
    println!("{table}\n{date}, {revision}; {cpu}. Times are CPU time of the thread that does it, medians of the runs.");
    let line = |row: &Row| {
        let Row { what, to, value, unit } = row;
        format!("{date},{revision},\"{what}\",\"{to}\",{},{unit},\"{cpu}\"", text(*value))
    };
    csv.map_or(Ok(()), |path| append_lines(path, "date,revision,what,of,value,unit,cpu", rows.iter().map(line)))
}

/// Formats a value with its significant digits.
fn text(value: f64) -> String {
    match value.abs() {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The value in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
