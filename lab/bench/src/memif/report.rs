//! The result as a table, as JSON, and as lines of a CSV file.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;

use super::Row;
use crate::machine::Machine;
use crate::report::append_lines;

/// For people.
pub fn table(machine: &Machine, rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["placement", "bytes", "way", "ticks/packet", "least", "core to core and back"]);
    for row in rows {
        let trip = row.round_trip.map_or_else(String::new, |(before, after)| format!("{before}, then {after}"));
        table.add_row([
            row.placement.to_owned(),
            row.bytes.to_string(),
            row.way.clone(),
            format!("{:.1}", row.ticks),
            format!("{:.1}", row.least),
            trip,
        ]);
    }
    for column in [1, 3, 4, 5] {
        table.column_mut(column).into_iter().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    }
    let Machine { date, revision, cpu, tsc_mhz, pages, level } = machine;
    format!(
        "{table}\n{date}, {revision}; {cpu}, TSC {tsc_mhz} MHz, {pages} pages, {level}. Ticks from the ring of one peer to \
         that of another, both copied;\nin one process of CPU time, between two of turns that received packets; median of \
         nine windows and the least of them."
    )
}

/// For programs.
pub fn json(machine: &Machine, rows: &[Row]) -> Result<String, String> {
    serde_json::to_string_pretty(&json!({"machine": machine, "rows": rows})).map_err(|error| error.to_string())
}

/// Adds the rows to a file, which gets a head line if it is new.
pub fn append(path: &Path, machine: &Machine, rows: &[Row]) -> Result<(), String> {
    let head =
        "date,revision,placement,bytes,way,ticks,least,round_trip_before,round_trip_after,cpu,tsc_mhz,pages,level";
    let line = |row: &Row| {
        let (before, after) =
            row.round_trip.map_or_else(Default::default, |(before, after)| (before.to_string(), after.to_string()));
        let Machine { date, revision, cpu, tsc_mhz, pages, level } = machine;
        let Row { placement, bytes, way, ticks, least, .. } = row;
        format!(
            "{date},{revision},{placement},{bytes},{way},{ticks:.1},{least:.1},{before},{after},\"{cpu}\",{tsc_mhz},{pages},{level}"
        )
    };
    append_lines(path, head, rows.iter().map(line))
}
