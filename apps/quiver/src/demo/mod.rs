//! `quiver demo`: two network namespaces joined in several ways, measured by real programs.
//!
//! Everything happens in a world (see `quiver_netns`) that disappears with its first process, so the demo leaves nothing
//! behind and needs no root where unprivileged user namespaces are allowed.

mod cpu_time;
mod error;
mod kept;
mod measure;
mod packages;
mod path;
mod progress;
mod report;

use std::ffi::CStr;
use std::process::ExitCode;

use quiver_netns::enter;
use quiver_site::{Driver, Site};

use error::Error;
use path::Path;
use progress::Progress;
use report::Report;

use crate::show;

/// Layer-3 MTU of every link, so that all paths carry the same segments.
const MTU: u16 = 1500;
/// The name by which a kept demo is found again.
const WORLD: &CStr = c"quiver-demo";

/// Connect two network namespaces through quiverd, and compare it with the kernel
#[derive(Debug, clap::Args)]
pub struct Demo {
    /// Leave the last path running
    #[arg(long)]
    keep: bool,
    /// Stop all demos that were left running
    #[arg(long, group = "of_kept", conflicts_with_all = ["keep", "namespace"])]
    stop: bool,
    /// Run COMMAND in a namespace of a running demo: `client` or `server`
    #[arg(long = "in", value_name = "NAMESPACE", group = "of_kept", requires = "command")]
    namespace: Option<String>,
    /// Id of a running demo, as it printed it
    #[arg(long, value_name = "ID", requires = "of_kept")]
    id: Option<i32>,
    /// Command to run there
    #[arg(last = true, value_name = "COMMAND", requires = "namespace")]
    command: Vec<String>,
    /// Print results as JSON
    #[arg(long)]
    json: bool,
    /// Duration of each throughput measurement
    #[arg(long, value_name = "SECONDS", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Measure only this path; may be repeated
    #[arg(long, value_name = "PATH", value_enum)]
    path: Vec<Path>,
}

/// Runs the demo; errors go to standard error.
pub fn run(demo: &Demo) -> ExitCode {
    let result = if demo.stop {
        kept::stop(demo.id)
    } else if let Some(namespace) = &demo.namespace {
        kept::run_in(demo.id, namespace, &demo.command)
    } else {
        measure_all(demo)
    };
    result.map_or_else(
        |error| {
            show::say(format_args!("quiver demo: {error}"));
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn measure_all(demo: &Demo) -> Result<(), Error> {
    packages::provide()?;
    // The process that the user started waits here; the rest happens in the world.
    let world = enter()?;
    let paths = if demo.path.is_empty() { Path::TABLE } else { &demo.path };
    let progress = Progress::new(paths.len());
    let mut report = Report::new(demo.seconds)?;
    let driver = Driver::best();
    let mut last = None;
    for &path in paths {
        drop(last.take());
        let join = path.join(driver);
        progress.say(&format!("{join}: building"));
        let site = Site::build(&world, join, MTU)?;
        report.paths.push(measure::measure(join, &site, demo.seconds, &progress)?);
        progress.advance();
        last = Some(site);
    }
    progress.done();
    if demo.json {
        report.print_json()
    } else {
        report.print_table()
    }
    match last {
        Some(site) if demo.keep => kept::keep(world, &site),
        _ => Ok(()),
    }
}
