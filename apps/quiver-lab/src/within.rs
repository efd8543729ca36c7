//! Runs that another command starts: `gate` and `bisect` measure by processes of `quiver lab run`, each in a world of its own.
//!
//! Building commits takes network and files as the user has them, which a world has not: so the command stays outside. A run
//! tells its documents by its standard output, so that nothing has to be cleaned up, and ends when who started it does, by
//! whatever death.

use std::ffi::OsString;
use std::io;
use std::process::{Command, Output, Stdio};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};
use quiver_stop::{Stop, StopTarget, output_of};

/// Tells a run the process that started it.
const PARENT: &str = "QUIVER_LAB_PARENT";

/// Makes a run that another command started end with that command. Called before any process or folder is made.
pub fn end_with_parent() -> io::Result<()> {
    let Some(parent) = std::env::var(PARENT).ok().and_then(|id| id.parse().ok()).map(Pid::from_raw) else {
        return Ok(());
    };
    set_pdeathsig(Signal::SIGKILL)?;
    // Inside its world, it has no parent that it knows.
    if ![parent, Pid::from_raw(0)].contains(&getppid()) && std::process::id() != 1 {
        return Err(io::Error::other("who started this run is gone"));
    }
    Ok(())
}

/// Starts a run with these arguments, waits for its end, and returns what it said. If the user wants to stop, it is told.
pub fn run(arguments: impl IntoIterator<Item = OsString>, stop: &Stop) -> io::Result<Output> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("run").args(arguments).env(PARENT, std::process::id().to_string());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    output_of(child, StopTarget::Process, stop)
}
