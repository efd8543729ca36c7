//! The result as a table, and as lines of a CSV file.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};

use super::Row;
use crate::machine::Machine;
use crate::report::append_lines;

const COLUMNS: &str = "date,revision,path,case,way,workers,ticks_0,ticks_1,mpps,round_trip_before,round_trip_after,cpu,\
                       tsc_mhz,pages,level";

/// For people.
pub fn table(machine: &Machine, rows: &[Row], (before, after): (u64, u64)) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["path", "case", "way", "workers", "ticks, worker 0", "worker 1", "Mpps"]);
    for row in rows {
        let [first, second] = ticks(row);
        let (workers, rate) = (row.workers.to_string(), format!("{:.2}", row.rate / 1e6));
        table.add_row([row.path, row.case, &row.way, &workers, &first, &second, &rate]);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let Machine { date, revision, cpu, tsc_mhz, pages, level } = machine;
    format!(
        "{table}\n{date}, {revision}; {cpu}, TSC {tsc_mhz} MHz, {pages} pages, {level}. Ticks of a worker's CPU time for \
         each packet that it received, from a queue or from\nthe other worker; packets a second of CPU time of the busiest \
         worker; medians of nine windows. From core to core and back: {before}, then {after} ticks."
    )
}

/// Adds the rows to a file, which gets a head line if it is new.
pub fn append(path: &Path, machine: &Machine, rows: &[Row], (before, after): (u64, u64)) -> Result<(), String> {
    let Machine { date, revision, cpu, tsc_mhz, pages, level } = machine;
    let line = |row: &Row| {
        let Row { path, case, way, workers, rate, .. } = row;
        let ([first, second], rate) = (ticks(row), rate / 1e6);
        format!(
            "{date},{revision},\"{path}\",{case},{way},{workers},{first},{second},{rate:.2},{before},{after},\"{cpu}\",\
             {tsc_mhz},{pages},{level}"
        )
    };
    append_lines(path, COLUMNS, rows.iter().map(line))
}

/// The ticks of both workers; nothing for one that is not there.
fn ticks(row: &Row) -> [String; 2] {
    [0, 1].map(|worker| row.ticks.get(worker).map_or_else(String::new, |ticks| format!("{ticks:.1}")))
}
