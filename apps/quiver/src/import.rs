//! `quiver import`: from VPP's files to Quiver's. quiverd, which knows all objects and commands, does it.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::show;

/// Convert VPP's startup.conf and its script into a configuration file
///
/// Needs no daemon and changes nothing. The status is 2 if something was left out; comments at the top of the output say
/// what, and how to start quiverd.
#[derive(Debug, clap::Args)]
pub struct Import {
    /// VPP's startup.conf
    #[arg(value_name = "STARTUP.CONF")]
    startup: PathBuf,
    /// Script of VPP commands. Default: the file of `unix { exec FILE }`
    #[arg(value_name = "EXEC-SCRIPT")]
    script: Option<PathBuf>,
}

/// Has quiverd import files: the quiverd beside this program, or the first in `PATH`.
pub fn run(import: &Import) -> ExitCode {
    let beside = std::env::current_exe().ok().map(|this| this.with_file_name("quiverd")).filter(|path| path.exists());
    let mut quiverd = Command::new(beside.unwrap_or_else(|| PathBuf::from("quiverd")));
    quiverd.arg("--import").arg(&import.startup).args(&import.script);
    // It takes this program's place.
    let error = quiverd.exec();
    show::say(format_args!("quiver: quiverd cannot be run: {error}; install it beside quiver"));
    ExitCode::FAILURE
}
