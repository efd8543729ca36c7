//! `quiver lab`: runs the lab, a program of its own, in place of this one.
//!
//! It reads and writes Parquet, speaks to object stores and starts whole testbeds. `quiver` links none of that
//! to show an interface.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::show;

/// The program's name.
const PROGRAM: &str = "quiver-lab";

/// Measure Quiver and other forwarders by CSIT's methods: runs quiver-lab, a program of its own
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Lab {
    /// Arguments of quiver-lab; `quiver lab --help` lists them
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Why the lab does not run.
#[derive(Debug, thiserror::Error)]
enum LabError {
    #[error(
        "{PROGRAM} is not installed: it is a program of its own; build it with `cargo build --release --package {PROGRAM}`, or \
         put it beside quiver or into PATH"
    )]
    Missing,
    #[error("{}: cannot be started: {error}; build it again with `cargo build --release --package {PROGRAM}`", path.display())]
    Unusable { path: PathBuf, error: io::Error },
}

/// Becomes the lab. `json` is the flag before the command. Returns only where that cannot be.
pub fn run(lab: &Lab, json: bool) -> ExitCode {
    let this = std::env::current_exe().ok();
    let path = program(this.as_deref());
    let error = Command::new(&path).args(json.then_some("--json")).args(&lab.arguments).exec();
    show::error(&match error.kind() {
        io::ErrorKind::NotFound => LabError::Missing,
        _ => LabError::Unusable { path, error },
    });
    ExitCode::FAILURE
}

/// The lab beside this program, or else its name, which the system looks for in `PATH`.
fn program(this: Option<&Path>) -> PathBuf {
    let beside = this.map(|this| this.with_file_name(PROGRAM)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PathBuf::from(PROGRAM))
}
