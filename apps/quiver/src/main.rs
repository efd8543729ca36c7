//! The command line of Quiver.

mod demo;
mod doctor;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(version, about = "The command line of Quiver")]
struct Arguments {
    /// The daemon's socket
    #[arg(long, global = true, default_value = "/run/quiver/cli.sock")]
    socket: PathBuf,
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.task {
        Task::Demo(demo) => demo::run(&demo),
        Task::Doctor(doctor) => doctor::run(&doctor, &arguments.socket),
    }
}
