//! The figures, as a table for people and as JSON for programs.

use std::time::Duration;
use std::{fs, thread};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::cpu_time::CpuTime;
use super::error::Error;
use crate::show;

/// Length of the observation of the machine before the first measurement.
const WATCHED: Duration = Duration::from_millis(500);
/// The share of busy cores above which the table says that other work is in its figures.
const BUSY: f64 = 0.10;

/// All figures of one demo.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The kernel's version.
    kernel: String,
    /// Number of cores that the demo may use.
    cores: usize,
    /// The share of the cores' time that other work took before the demo.
    busy_before: f64,
    /// Length of each transfer.
    seconds: u64,
    /// One row for each path.
    pub paths: Vec<Row>,
}

/// The figures of one path.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The path's name.
    pub path: String,
    /// TCP payload that the receiver got.
    pub gigabits_per_second: f64,
    /// TCP segments that the sender sent again.
    pub retransmits: u64,
    /// The shortest round trip of an echo request.
    pub ping_min_us: f64,
    /// The average round trip.
    pub ping_avg_us: f64,
    /// Echo requests without a reply.
    pub ping_lost: u32,
    /// Busy time of the whole machine for each gigabyte (10^9 bytes) received.
    pub cpu_seconds_per_gigabyte: f64,
}

impl Report {
    /// An empty report with the facts of this machine; watches for a moment how busy it is.
    pub fn new(seconds: u64) -> Result<Self, Error> {
        let before = CpuTime::now()?;
        thread::sleep(WATCHED);
        let after = CpuTime::now()?;
        let (busy, idle) = (after.busy - before.busy, after.idle - before.idle);
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease");
        Ok(Self {
            kernel: kernel.map_err(|e| quiver_netns::Error::system("read the kernel's version", e))?.trim().to_owned(),
            cores: thread::available_parallelism()
                .map_err(|e| quiver_netns::Error::system("count the cores", e))?
                .get(),
            busy_before: if busy + idle > 0.0 { busy / (busy + idle) } else { 0.0 },
            seconds,
            paths: Vec::new(),
        })
    }

    /// Prints the report as JSON.
    pub fn print_json(&self) {
        show::print(serde_json::to_string_pretty(self).expect("the report holds only plain values"));
    }

    /// Prints the table and its legend.
    pub fn print_table(&self) {
        show::print(format_args!("{}\n\n{}", self.table(), self.legend()));
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["path", "Gbit/s", "retransmits", "ping min/avg (us)", "CPU s/GB"]);
        for row in &self.paths {
            table.add_row([
                row.path.clone(),
                format!("{:.2}", row.gigabits_per_second),
                row.retransmits.to_string(),
                format!("{:.0} / {:.0}", row.ping_min_us, row.ping_avg_us),
                format!("{:.2}", row.cpu_seconds_per_gigabyte),
            ]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    fn legend(&self) -> String {
        let mut legend = format!(
            "One TCP connection for {} s (iperf3) and echo requests (ping) from one network namespace to another; \
             kernel {}, {} cores.\nCPU s/GB: busy time of the whole machine (user, system, interrupts; /proc/stat) while \
             the connection ran,\nso of iperf3's both ends, of the kernel and of quiverd, for each 10^9 bytes received.",
            self.seconds, self.kernel, self.cores
        );
        for row in self.paths.iter().filter(|row| row.ping_lost > 0) {
            legend += &format!("\n{}: {} echo requests got no reply.", row.path, row.ping_lost);
        }
        if self.busy_before > BUSY {
            let share = self.busy_before * 100.0;
            legend += &format!("\nOther work kept the cores {share:.0} % busy before the demo: it is in all figures.");
        }
        legend
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let row = Row {
            path: "direct veth pair".to_owned(),
            gigabits_per_second: 10.555,
            retransmits: 7,
            ping_min_us: 11.2,
            ping_avg_us: 14.6,
            ping_lost: 0,
            cpu_seconds_per_gigabyte: 1.234,
        };
        Report { kernel: "6.1".to_owned(), cores: 2, busy_before: 0.0, seconds: 4, paths: vec![row] }
    }

    #[test]
    fn a_row_shows_every_figure() {
        let table = report().table().to_string();
        let row = table.lines().last().unwrap();
        let cells: Vec<_> = row.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells, ["direct veth pair", "10.55", "7", "11 / 15", "1.23"]);
    }

    #[test]
    fn the_legend_owns_up_to_losses_and_other_work() {
        let mut report = report();
        assert!(!report.legend().contains("no reply") && !report.legend().contains("Other work"));
        report.busy_before = 0.5;
        report.paths[0].ping_lost = 3;
        let legend = report.legend();
        assert!(legend.contains("direct veth pair: 3 echo requests got no reply."), "{legend}");
        assert!(legend.contains("50 % busy"), "{legend}");
    }
}
