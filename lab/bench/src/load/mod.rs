//! CPU use and added latency of a running quiverd, from idle upward.
//!
//! A quiverd in release, with one worker in adaptive mode, routes IPv4 between two memif interfaces. This process has
//! their other ends: it sends 60-byte packets at exact times by one, takes them from the other, and never sleeps, so that
//! what is late is late by quiverd. The same is measured with both ends joined directly, without quiverd. The worker has a
//! core, and so has this process; quiverd's control thread is where Linux puts it.

pub mod peer;
mod picture;
mod report;

use std::path::Path;
use std::time::Duration;

use quiver_engine::{Backing, Level};

use crate::machine::Machine;
use crate::quiverd::{Quiverd, Usage};
use peer::{Counts, DESTINATION, GATEWAY_MAC, NEXT_HOP_MAC, Peer, memif};

/// Packets in a second.
pub const LOADS: [u64; 10] = [1000, 3000, 10_000, 30_000, 100_000, 300_000, 500_000, 1_000_000, 2_000_000, 4_000_000];
/// How long a load lasts before it is measured, so that the pace is that of the load.
const SETTLE: Duration = Duration::from_millis(500);
/// For how long it is measured.
const WINDOW: Duration = Duration::from_secs(3);
/// For how long an idle quiverd is watched.
const IDLE_WINDOW: Duration = Duration::from_secs(10);

/// Percent of a core of an idle quiverd, all of its threads.
const IDLE_GOAL: f64 = 1.0;
/// Percent of a core at a million packets in a second, all of its threads.
const MILLION_GOAL: f64 = 20.0;
const MILLION: u64 = 1_000_000;
/// Microseconds that 99 of 100 packets may be later by at most.
const LATENCY_GOAL: f64 = 200.0;

/// A point of the curve.
pub struct Row {
    /// Packets that were to be sent in a second; 0 is idle.
    load: u64,
    /// Seconds of the window.
    seconds: f64,
    through: Counts,
    direct: Counts,
    /// Percent of a core of the worker's thread, and of all others.
    worker: f64,
    control: f64,
    naps: u64,
    sleeps: u64,
}

impl Row {
    /// Percent of a core that quiverd takes.
    fn cpu(&self) -> f64 {
        self.worker + self.control
    }
    /// Microseconds by which packets are later than without quiverd at this quantile.
    fn added(&self, quantile: f64) -> f64 {
        (self.through.latency(quantile) - self.direct.latency(quantile)).max(0.0)
    }
}

/// Measures, prints, and writes the rows to a file and the picture beside it.
pub fn run(csv: Option<&Path>, loads: &[u64]) -> Result<(), String> {
    let quiverd = Quiverd::start(commands)?;
    let (mut through, mut direct) = (Peer::through(&quiverd)?, Peer::direct(quiverd.folder())?);
    let mut rows = vec![idle(&quiverd)?];
    for load in loads {
        eprintln!("{load} packets/s ...");
        rows.push(under(*load, &quiverd, &mut through, &mut direct)?);
    }
    // Buffers and instruction set are quiverd's own choice; it is told none.
    let machine = Machine::here(Backing::Plain, Level::best());
    println!("{}\n{}", report::table(&machine, &rows), report::verdicts(&rows));
    let Some(csv) = csv else { return Ok(()) };
    report::append(csv, &machine, &rows)?;
    picture::draw(&csv.with_extension("svg"), &machine, &rows)
}

/// Both interfaces are up and connected, and no packets come.
fn idle(quiverd: &Quiverd) -> Result<Row, String> {
    eprintln!("idle ...");
    std::thread::sleep(SETTLE);
    let before = quiverd.usage()?;
    std::thread::sleep(IDLE_WINDOW);
    Ok(row(0, quiverd.usage()?.since(&before), Counts::default(), Counts::default()))
}

fn under(load: u64, quiverd: &Quiverd, through: &mut Peer, direct: &mut Peer) -> Result<Row, String> {
    let alone = direct.run(load, WINDOW)?;
    through.run(load, SETTLE)?;
    let before = quiverd.usage()?;
    let counts = through.run(load, WINDOW)?;
    Ok(row(load, quiverd.usage()?.since(&before), counts, alone))
}

fn row(load: u64, spent: Usage, through: Counts, direct: Counts) -> Row {
    let seconds = spent.time.as_secs_f64();
    let percent = |spent: Duration| spent.as_secs_f64() / seconds * 100.0;
    let (worker, control) = (percent(spent.worker), percent(spent.others));
    Row { load, seconds, through, direct, worker, control, naps: spent.naps, sleeps: spent.sleeps }
}

/// Routes from the first memif interface to the second one.
pub fn commands(folder: &Path) -> String {
    format!(
        "create memif socket id 1 filename {}
         create interface memif id 0 socket-id 1 master hw-addr {GATEWAY_MAC}
         create interface memif id 1 socket-id 1 master
         set interface state memif1/0 up
         set interface state memif1/1 up
         set interface ip address memif1/0 10.0.0.1/24
         set interface ip address memif1/1 10.0.1.1/24
         ip neighbor memif1/1 {DESTINATION} {NEXT_HOP_MAC} static
        ",
        memif(folder).display()
    )
}
