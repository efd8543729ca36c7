//! The result as a table, as JSON, and as lines of a CSV file.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;

use crate::graph::{Beside, Row};
use crate::machine::Machine;

const COLUMNS: [&str; 18] = [
    "date",
    "revision",
    "path",
    "way",
    "vector",
    "ticks",
    "least",
    "goal",
    "cpu",
    "tsc_mhz",
    "pages",
    "level",
    "vpp",
    "vpp_ticks",
    "vpp_least",
    "ratio",
    "ratio_low",
    "ratio_high",
];

/// For people.
pub fn table(machine: &Machine, rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let has_peer = rows.iter().any(|row| row.peer.is_some());
    let head = ["path", "way", "vector", "ticks/packet", "least", "goal", "VPP", "its least", "ratio", "96 %"];
    table.set_header(&head[..if has_peer { 10 } else { 6 }]);
    for row in rows {
        let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
        let goal = match row.goal {
            Some(goal) if row.ticks > f64::from(goal) => format!("{goal} missed"),
            goal => number(goal),
        };
        let mut cells = vec![
            row.path.to_owned(),
            row.way.clone(),
            row.vector.to_string(),
            format!("{:.1}", row.ticks),
            format!("{:.1}", row.least),
            goal,
        ];
        if let Some(Beside { ticks, least, ratio, low, high, .. }) = &row.peer {
            cells.extend([*ticks, *least].map(|ticks| format!("{ticks:.1}")));
            cells.extend([format!("{ratio:.2}"), format!("{low:.2} to {high:.2}")]);
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let Machine { date, revision, cpu, tsc_mhz, pages, level } = machine;
    let version = rows.iter().find_map(|row| row.peer.as_ref()).map(|peer| &peer.version);
    let beside = version.map_or_else(String::new, |version| {
        format!(
            "\nBeside VPP {version}: clocks of all its nodes but `pg-input`, window by window in turns; how many times ours they are, and \
             an interval that holds the median of that."
        )
    });
    format!(
        "{table}\n{date}, {revision}; {cpu}, TSC {tsc_mhz} MHz, {pages} pages, {level}. Ticks of CPU time from receive \
         ring to transmit ring, 64-byte frames;\nmedian of nine windows and the least of them. Goals are for vectors of \
         256.{beside}"
    )
}

/// For programs.
pub fn json(machine: &Machine, rows: &[Row]) -> Result<String, String> {
    serde_json::to_string_pretty(&json!({"machine": machine, "rows": rows})).map_err(|error| error.to_string())
}

/// Adds the rows to a file, which gets a head line if it is new.
pub fn append(path: &Path, machine: &Machine, rows: &[Row]) -> Result<(), String> {
    let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
    let line = |row: &Row| {
        let fields = [
            machine.date.clone(),
            machine.revision.clone(),
            format!("\"{}\"", row.path),
            row.way.clone(),
            row.vector.to_string(),
            format!("{:.1}", row.ticks),
            format!("{:.1}", row.least),
            number(row.goal),
            format!("\"{}\"", machine.cpu),
            machine.tsc_mhz.to_string(),
            machine.pages.to_owned(),
            machine.level.to_owned(),
        ];
        let beside = row.peer.as_ref().map_or_else(
            || ",,,,,".to_owned(),
            |Beside { version, ticks, least, ratio, low, high }| {
                format!("{version},{ticks:.1},{least:.1},{ratio:.2},{low:.2},{high:.2}")
            },
        );
        format!("{},{beside}", fields.join(","))
    };
    append_lines(path, &COLUMNS.join(","), rows.iter().map(line))
}

/// Adds lines to a file, which gets a head line if it is new.
pub fn append_lines(path: &Path, head: &str, lines: impl Iterator<Item = String>) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(told)?;
    let is_new = file.metadata().map_err(told)?.len() == 0;
    let head = is_new.then(|| head.to_owned());
    let text: String = head.into_iter().chain(lines).map(|line| line + "\n").collect();
    file.write_all(text.as_bytes()).map_err(told)
}
