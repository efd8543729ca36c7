//! `bench workers`: what packets cost where several workers share the work: a receive queue for each, hand-off from one to
//! another, and software RSS. Rings of packets in memory at both ends, as of `bench graph`; each worker has a thread on a core
//! of its own, and all turns are timed in CPU time of that thread.

mod case;
mod report;
mod run;

use std::path::Path;

use quiver_engine::{Backing, Level};

use crate::machine::Machine;
use crate::memif::round_trip;
use case::{Case, Configure};
use run::Bench;

/// Windows, of which the median counts.
const WINDOWS: usize = 9;

const CASES: [Case; 4] = [
    Case { name: "one queue", workers: 1, receive: &["pg0"], handoff: None },
    Case { name: "a queue each", workers: 2, receive: &["pg0", "pg2"], handoff: None },
    Case { name: "hand-off from worker 0 to 1", workers: 2, receive: &["pg0"], handoff: Some("1") },
    Case { name: "software RSS", workers: 2, receive: &["pg0"], handoff: Some("0-1") },
];

const PATHS: [(&str, Configure); 2] = [
    ("cross-connect", |receives| vec![format!("set interface l2 xconnect {receives} pg1")]),
    ("ip4, 8 routes", |receives| {
        let net = receives.trim_start_matches("pg");
        vec![format!("set interface ip address {receives} 10.1{net}.0.1/16")]
    }),
];

/// A row of the result.
pub struct Row {
    pub path: &'static str,
    pub case: &'static str,
    /// How packets go.
    pub way: String,
    pub workers: usize,
    /// Ticks of a worker for each packet that it received, from a queue or from another worker; medians.
    pub ticks: Vec<f64>,
    /// Packets a second, if each worker always has work and the busiest one decides; the median.
    pub rate: f64,
}

/// Measures everything, prints it, and appends it to a file.
pub fn run(csv: Option<&Path>, level: Level) -> Result<(), String> {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
        return Err("two workers need two cores, and this machine has one".into());
    }
    let before = round_trip();
    let (mut benches, mut backing) = (vec![], Backing::Plain);
    for (path, configure) in PATHS {
        for case in &CASES {
            let bench = Bench::new(path, configure, case, level)?;
            backing = bench.backing;
            benches.push((path, case, bench, vec![]));
        }
    }
    for window in 1..=WINDOWS {
        eprintln!("window {window} of {WINDOWS} ...");
        for (_, _, bench, windows) in &mut benches {
            // The first one is unseen: others have used caches and branch predictors meanwhile.
            bench.window()?;
            windows.push(bench.window()?);
        }
    }
    let rows = benches.into_iter().map(|(path, case, _, windows)| {
        let of = |value: &dyn Fn(&run::Window) -> f64| {
            let mut values: Vec<f64> = windows.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let ticks = (0..case.workers).map(|worker| of(&|window| window.ticks[worker])).collect();
        Row {
            path,
            case: case.name,
            way: crate::graph::WAY.into(),
            workers: case.workers,
            ticks,
            rate: of(&|window| window.rate),
        }
    });
    let rows: Vec<Row> = rows.collect();
    let (machine, trips) = (Machine::here(backing, level), (before, round_trip()));
    println!("{}", report::table(&machine, &rows, trips));
    csv.map_or(Ok(()), |file| report::append(file, &machine, &rows, trips))
}
