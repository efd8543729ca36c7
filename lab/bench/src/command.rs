//! Commands to a daemon in this process.

use quiver_testkit::daemon::Daemon;

/// Runs a command that must be accepted.
pub fn command(daemon: &mut Daemon, line: &str) -> Result<(), String> {
    daemon.run(line).map(drop).map_err(|error| format!("`{line}`: {error}"))
}
