//! How many ticks a packet costs. `cargo xtask bench graph` runs it in release.

mod graph;
mod machine;
mod path;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(bin_name = "cargo xtask bench")]
enum Bench {
    /// Ticks per packet from receive ring to transmit ring, by path, table size, vector and way
    Graph {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Append the rows to this file; none are written without it
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// Only the paths whose names contain this
        #[arg(long, value_name = "WORD", default_value = "")]
        only: String,
    },
}

fn main() -> ExitCode {
    let Bench::Graph { json, csv, only } = Bench::parse();
    match run(json, csv, &only) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench graph: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(json: bool, csv: Option<PathBuf>, only: &str) -> Result<(), String> {
    if cfg!(debug_assertions) {
        return Err("this is a debug build, whose figures mean nothing: use `cargo xtask bench graph`".into());
    }
    let (mut rows, mut pages) = (vec![], None);
    for path in path::all().iter().filter(|path| path.name.contains(only)) {
        eprintln!("{} ...", path.name);
        let (more, backing) = graph::measure(path)?;
        rows.extend(more);
        pages = Some(backing);
    }
    let machine = machine::Machine::here(pages.ok_or("no path has such a name")?);
    match json {
        true => println!("{}", report::json(&machine, &rows)?),
        false => println!("{}", report::table(&machine, &rows)),
    }
    csv.map_or(Ok(()), |file| report::append(&file, &machine, &rows))
}
