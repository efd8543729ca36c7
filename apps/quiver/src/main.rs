//! The command line of Quiver.

mod demo;

use std::process::ExitCode;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(version, about = "The command line of Quiver")]
enum Arguments {
    Demo(demo::Demo),
}

fn main() -> ExitCode {
    match Arguments::parse() {
        Arguments::Demo(demo) => demo::run(&demo),
    }
}
