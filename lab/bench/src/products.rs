//! `bench products`: how many instances of products there are, how large they are, and how long their crates take to be
//! compiled. `cargo xtask` builds, and gives the times.

use std::path::Path;
use std::process::Command;

use comfy_table::{CellAlignment, Table, presets};
use quiver_engine::{Backing, Level};

use crate::machine::Machine;
use crate::report::append_lines;

/// A row of the result; what does not apply is empty.
struct Row {
    what: String,
    level: String,
    chains: String,
    instances: String,
    bytes: String,
    cpu_s: String,
}

/// Measures everything, prints it, and appends it to a file.
pub fn run(
    (times, holders): (&Path, &[String]),
    release: &Path,
    compiler: &str,
    csv: Option<&Path>,
) -> Result<(), String> {
    let told = |file: &Path, error: std::io::Error| format!("{}: {error}", file.display());
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let disassembler = program.with_file_name("quiver-disassemble");
    let mut command = Command::new(&disassembler);
    command.arg("sizes").arg(program.with_file_name("quiverd")).arg(release);
    let output = command.output().map_err(|error| told(&disassembler, error))?;
    if !output.status.success() {
        return Err(format!("{}: {}", disassembler.display(), String::from_utf8_lossy(&output.stderr).trim()));
    }
    let mut rows = sizes(&String::from_utf8_lossy(&output.stdout))?;
    rows.extend(builds(&std::fs::read_to_string(times).map_err(|error| told(times, error))?, holders)?);
    let machine = Machine::here(Backing::Plain, Level::best());
    println!("{}", table(&machine, &rows));
    let Machine { date, revision, cpu, .. } = machine;
    let lines = rows.iter().map(|row| {
        let Row { what, level, chains, instances, bytes, cpu_s } = row;
        format!("{date},{revision},\"{what}\",{level},{chains},{instances},{bytes},{cpu_s},{compiler},\"{cpu}\"")
    });
    let head = "date,revision,what,level,chains,instances,bytes,cpu_s,rustc,cpu";
    csv.map_or(Ok(()), |file| append_lines(file, head, lines))
}

/// What the disassembler says.
fn sizes(text: &str) -> Result<Vec<Row>, String> {
    let row = |line: &str| {
        let mut cells = line.split('\t').map(str::to_owned);
        let mut next = || cells.next().ok_or_else(|| format!("the disassembler says `{line}`"));
        let (what, level, chains, instances, bytes) = (next()?, next()?, next()?, next()?, next()?);
        Ok(Row { what, level, chains, instances, bytes, cpu_s: String::new() })
    };
    text.lines().map(row).collect()
}

/// The products' crates among all that were compiled: `crate`, a package and CPU seconds in each line.
fn builds(text: &str, holders: &[String]) -> Result<Vec<Row>, String> {
    let row = |holder: &String| {
        let head = format!("crate\t{holder}\t");
        let seconds = text.lines().rev().find_map(|line| line.strip_prefix(&head));
        let seconds = seconds.ok_or_else(|| format!("{holder} was not compiled"))?;
        let what = format!("compiling {holder}");
        let empty = String::new;
        let (level, cpu_s) = ("all".to_owned(), seconds.to_owned());
        Ok(Row { what, level, chains: empty(), instances: empty(), bytes: empty(), cpu_s })
    };
    holders.iter().map(row).collect()
}

fn table(machine: &Machine, rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["what", "level", "chains", "instances", "bytes", "CPU s"]);
    for Row { what, level, chains, instances, bytes, cpu_s } in rows {
        table.add_row([what, level, chains, instances, bytes, cpu_s]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n{}, {}; {}.", machine.date, machine.revision, machine.cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_of_each_crate_counts() {
        let times = [("bridge", 3.1), ("ip", 9.0), ("other", 1.0), ("vlan", 20.0), ("bridge", 3.5)];
        let text: String = times.iter().map(|(name, time)| format!("crate\tquiver-{name}\t{time:.2}\n")).collect();
        let holders = ["quiver-bridge", "quiver-ip", "quiver-vlan"].map(str::to_owned);
        let found: Vec<_> =
            builds(&text, &holders).expect("all").into_iter().map(|row| (row.what, row.cpu_s)).collect();
        let expected = [("bridge", "3.50"), ("ip", "9.00"), ("vlan", "20.00")];
        assert_eq!(found, expected.map(|(name, time)| (format!("compiling quiver-{name}"), time.to_owned())));
        assert_eq!(
            builds("crate\tquiver-ip\t1.0\n", &holders).err().as_deref(),
            Some("quiver-bridge was not compiled")
        );
    }

    #[test]
    fn a_line_that_lacks_a_cell_is_told() {
        assert_eq!(sizes("a\tavx2\t9\t9\t10\n").expect("a row").len(), 1);
        assert!(sizes("a\tavx2\n").is_err());
    }
}
