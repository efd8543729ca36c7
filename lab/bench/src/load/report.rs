//! The rows as a table, as lines of a CSV file, and against what we want.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};

use super::{IDLE_GOAL, LATENCY_GOAL, MILLION, MILLION_GOAL, Row};
use crate::machine::Machine;
use crate::report::append_lines;

const HEAD: &str = "date,revision,load,seconds,sent,received,worker_percent,control_percent,naps,sleeps,direct_p50_us,\
                    direct_p99_us,p50_us,p99_us,max_us,cpu,tsc_mhz";

/// For people.
pub fn table(machine: &Machine, rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let titles = [
        "packets/s",
        "forwarded/s",
        "lost",
        "worker %",
        "control %",
        "naps/s",
        "sleeps/s",
        "added P50 us",
        "P99",
        "max",
    ];
    table.set_header(titles);
    for row in rows {
        let each_second = |count: u64| format!("{:.0}", count as f64 / row.seconds);
        let added = |quantile| if row.load == 0 { String::new() } else { format!("{:.1}", row.added(quantile)) };
        table.add_row([
            if row.load == 0 { "idle".into() } else { row.load.to_string() },
            each_second(row.through.received),
            (row.through.sent - row.through.received).to_string(),
            format!("{:.2}", row.worker),
            format!("{:.2}", row.control),
            each_second(row.naps),
            each_second(row.sleeps),
            added(0.5),
            added(0.99),
            added(1.0),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let Machine { date, revision, cpu, tsc_mhz, .. } = machine;
    format!(
        "{table}\n{date}, {revision}; {cpu}, TSC {tsc_mhz} MHz. quiverd in release, one adaptive worker, IPv4 between two \
         memif interfaces, 60-byte packets.\nPercent of a core; microseconds by which packets come later than without \
         quiverd."
    )
}

/// Compares each figure with its goal.
pub fn verdicts(rows: &[Row]) -> String {
    let verdict = |what: &str, is: Option<f64>, goal: f64, unit: &str| match is {
        Some(is) => {
            format!("{what}: {is:.2} {unit} (goal: under {goal} {unit}: {})", if is < goal { "met" } else { "MISSED" })
        }
        None => format!("{what}: not measured"),
    };
    let cpu_at = |load| rows.iter().find(|row| row.load == load).map(Row::cpu);
    let latency = rows.iter().filter(|row| (1..=MILLION).contains(&row.load)).map(|row| row.added(0.99));
    [
        verdict("idle, all threads", cpu_at(0), IDLE_GOAL, "% of a core"),
        verdict("a million packets in a second, all threads", cpu_at(MILLION), MILLION_GOAL, "% of a core"),
        verdict("added latency up to there, the worst P99", latency.reduce(f64::max), LATENCY_GOAL, "us"),
    ]
    .join("\n")
}

/// Adds the rows to a file, which gets a head line if it is new.
pub fn append(path: &Path, machine: &Machine, rows: &[Row]) -> Result<(), String> {
    let Machine { date, revision, cpu, tsc_mhz, .. } = machine;
    let line = |row: &Row| {
        let Row { load, seconds, through, direct, worker, control, naps, sleeps } = row;
        let us = |counts: &super::Counts, quantile| match load {
            0 => String::new(),
            _ => format!("{:.1}", counts.latency(quantile)),
        };
        [
            date.clone(),
            revision.clone(),
            load.to_string(),
            format!("{seconds:.2}"),
            through.sent.to_string(),
            through.received.to_string(),
            format!("{worker:.3}"),
            format!("{control:.3}"),
            naps.to_string(),
            sleeps.to_string(),
            us(direct, 0.5),
            us(direct, 0.99),
            us(through, 0.5),
            us(through, 0.99),
            us(through, 1.0),
            format!("\"{cpu}\""),
            tsc_mhz.to_string(),
        ]
        .join(",")
    };
    append_lines(path, HEAD, rows.iter().map(line))
}
