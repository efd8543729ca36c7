//! Figures of processes: each with its unit and its goal.

use std::path::Path;

use comfy_table::{Table, presets};
use quiver_engine::{Backing, Level};

use crate::machine::Machine;
use crate::report::append_lines;

/// A measured figure.
pub struct Row {
    pub what: String,
    pub value: f64,
    pub unit: &'static str,
    pub goal: Option<f64>,
}

/// Prints figures with the machine and a `note`, and appends them to a file.
pub fn report(note: &str, rows: &[Row], csv: Option<&Path>) -> Result<(), String> {
    // Buffers and instruction set are quiverd's own choice; it is told none.
    let machine = Machine::here(Backing::Plain, Level::best());
    println!("{}", table(&machine, note, rows));
    csv.map_or(Ok(()), |path| append(path, &machine, rows))
}

fn table(machine: &Machine, note: &str, rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["what", "value", "unit", "goal"]);
    for Row { what, value, unit, goal } in rows {
        let goal = goal.map_or_else(String::new, |goal| goal.to_string());
        table.add_row([what.clone(), format!("{value:.6}"), (*unit).to_owned(), goal]);
    }
    let Machine { date, revision, cpu, tsc_mhz, .. } = machine;
    format!("{table}\n{date}, {revision}; {cpu}, TSC {tsc_mhz} MHz. {note}")
}

fn append(path: &Path, machine: &Machine, rows: &[Row]) -> Result<(), String> {
    let Machine { date, revision, cpu, tsc_mhz, .. } = machine;
    let line = |row: &Row| {
        let Row { what, value, unit, goal } = row;
        let goal = goal.map_or_else(String::new, |goal| goal.to_string());
        format!("{date},{revision},\"{what}\",{value:.6},{unit},{goal},\"{cpu}\",{tsc_mhz}")
    };
    append_lines(path, "date,revision,what,value,unit,goal,cpu,tsc_mhz", rows.iter().map(line))
}
