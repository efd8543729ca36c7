//! How many ticks a packet costs, what a daemon costs over load, and what changes of the configuration cost. `cargo xtask bench` runs it in release.

mod api;
mod command;
mod connections;
mod control;
mod document;
mod figures;
mod generator;
mod graph;
mod instructions;
mod load;
mod machine;
mod memif;
mod path;
mod quiverd;
mod report;
mod shape;
mod stall;
mod tables;
mod turns;
mod workers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use graph::Choice;
use graph::peer::Programs;
use quiver_engine::Level;

#[derive(Parser)]
#[command(bin_name = "cargo xtask bench")]
enum Bench {
    /// Ticks per packet from receive ring to transmit ring, by path, table size and vector
    Graph {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// Only the paths whose names contain this; or `connections`
        #[arg(long, value_name = "WORD", default_value = "")]
        only: String,
        /// Only vectors of this size
        #[arg(long, value_name = "8|32|256")]
        vector: Option<usize>,
        /// The instruction set; the best one if none is named
        #[arg(long, value_name = "baseline|avx2|avx512")]
        isa: Option<Level>,
        /// The program of VPP to measure in turns with us; the one in PATH if none is named
        #[arg(long, value_name = "PROGRAM")]
        peer: Option<PathBuf>,
        /// No VPP, even if one is in PATH
        #[arg(long, conflicts_with = "peer")]
        alone: bool,
    },
    /// CPU time of a quiverd, and the latency that it adds, over load from idle on
    Load {
        /// Append the rows to this file, and draw them beside it; nothing is written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// Only these loads, in packets a second
        #[arg(long, value_name = "LOAD,...", value_delimiter = ',', default_values_t = load::LOADS)]
        only: Vec<u64>,
    },
    /// CPU time of changes to a large configuration: thousands of sub-interfaces, a hundred thousand neighbours
    Control {
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
    },
    /// Routes and stations by the million: how fast they come and go, when workers see them, what memory they take
    Tables {
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// Only `routes`, `tables`, `visibility`, `ip6`, `lost`, `stations`, `directory`, `sessions` or `flood`
        #[arg(long, value_name = "WORD", default_value = "")]
        only: String,
    },
    /// Writes the tables of docs/performance.md anew, and draws its plots, from the rows that there are
    Document,
    /// How long a worker is kept from its queues while control works, and what is lost by that
    Stall {
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
    },
    /// Longest turns of the control thread while hundreds of thousands of routes are applied, shown, compared and rolled back
    Turns {
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// Routes of the configurations
        #[arg(long, value_name = "COUNT,...", value_delimiter = ',', default_values_t = turns::SIZES)]
        routes: Vec<u32>,
    },
    /// Measure the lab's generator: packets per second into memif on one core, its pace over ten seconds, its own
    /// latency
    Generator {
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
    },
    /// Measure the connection generator: connections per second and core, ticks of a connection, memory of open sessions
    Connections {
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// Only the rows whose names contain this
        #[arg(long, value_name = "WORD", default_value = "")]
        only: String,
    },
    /// How many messages of VPP's API a quiverd answers in a second, and how long one takes
    Api {
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
    },
    /// Ticks per packet through memif, by length, in one process and between two
    Memif {
        /// Only packets of this length
        #[arg(long)]
        bytes: Option<usize>,
        /// Only with the daemon's interfaces in this role
        #[arg(long)]
        role: Option<memif::Role>,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// The instruction set; the best one if none is named
        #[arg(long, value_name = "baseline|avx2|avx512")]
        isa: Option<Level>,
    },
    /// Ticks per packet where two workers share packets: a queue each, hand-off, software RSS
    Workers {
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// The instruction set; the best one if none is named
        #[arg(long, value_name = "baseline|avx2|avx512")]
        isa: Option<Level>,
    },
    /// Instructions per packet under callgrind, beside those that were kept; `cargo xtask instructions` runs it
    Instructions {
        /// File with the counts to compare with
        #[arg(long, value_name = "FILE")]
        kept: PathBuf,
        /// The compiler of this program, of which rows are compared
        #[arg(long, value_name = "VERSION")]
        compiler: String,
    },
    /// The program under callgrind
    #[command(hide = true)]
    Counted {
        /// The instruction set
        #[arg(long, value_name = "baseline|avx2")]
        isa: Level,
        /// Only the paths whose names contain this; or `connections`
        #[arg(long, value_name = "WORD", default_value = "")]
        only: String,
    },
    /// The other process of `bench memif`
    #[command(hide = true)]
    MemifPeer {
        /// The daemon's role
        role: memif::Role,
        /// The daemon's socket
        socket: String,
        /// Bytes of the packets
        bytes: usize,
        /// The core to run on
        core: usize,
    },
}

fn main() -> ExitCode {
    let bench = Bench::parse();
    let measures = !matches!(bench, Bench::Document);
    let done = match cfg!(debug_assertions) && measures {
        true => Err("this is a debug build, whose figures mean nothing: use `cargo xtask bench`".into()),
        false => match bench {
            Bench::Graph { json, csv, only, vector, isa, peer, alone } => {
                let programs = if alone { Ok(None) } else { Programs::find(peer.as_deref()) };
                programs.and_then(|peer| {
                    if peer.is_none() && !alone {
                        eprintln!("no `vpp` in PATH: measured alone. --peer PROGRAM names one");
                    }
                    graph(json, csv, &Choice { path: only, vector, peer }, isa.unwrap_or_else(Level::best))
                })
            }
            Bench::Load { csv, only } => load::run(csv.as_deref(), &only),
            Bench::Generator { csv } => generator::run(csv.as_deref()),
            Bench::Connections { csv, only } => connections::run(&only, csv.as_deref()),
            Bench::Tables { csv, only } => tables::run(csv.as_deref(), &only),
            Bench::Stall { csv } => stall::run(csv.as_deref()),
            Bench::Turns { csv, routes } => turns::run(csv.as_deref(), &routes),
            Bench::Document => document::write(Path::new(".")),
            Bench::Control { csv } => control::run(csv.as_deref()),
            Bench::Api { csv } => api::run(csv.as_deref()),
            Bench::Memif { bytes, role, json, csv, isa } => {
                memif::run(bytes, role, json, csv, isa.unwrap_or_else(Level::best))
            }
            Bench::Workers { csv, isa } => workers::run(csv.as_deref(), isa.unwrap_or_else(Level::best)),
            Bench::Instructions { kept, compiler } => {
                instructions::run(&kept, &compiler).and_then(|written| match written {
                    // The pages show these rows.
                    true => document::write(Path::new(".")),
                    false => Ok(()),
                })
            }
            Bench::Counted { isa, only } => instructions::run_counted(isa, &only),
            Bench::MemifPeer { role, socket, bytes, core } => memif::run_peer(role, &socket, bytes, core),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn graph(json: bool, csv: Option<PathBuf>, choice: &Choice, level: Level) -> Result<(), String> {
    let (rows, backing) = graph::measure(choice, level)?;
    let machine = machine::Machine::here(backing, level);
    match json {
        true => println!("{}", report::json(&machine, &rows)?),
        false => println!("{}", report::table(&machine, &rows)),
    }
    csv.map_or(Ok(()), |file| report::append(&file, &machine, &rows))
}
