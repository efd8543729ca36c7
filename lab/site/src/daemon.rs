//! A quiverd of one's own.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use quiver_netns::{Namespace, Program, run};

use crate::Error;

/// How long quiverd may take to answer its first command.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// A running quiverd; it is killed when this value is dropped.
pub struct Daemon {
    program: Program,
    client: PathBuf,
}

impl Daemon {
    /// Where the daemon of a world listens; the world's `/run` is its own.
    pub const SOCKET: &str = "/run/quiver/cli.sock";

    /// Starts quiverd in a namespace and waits until it answers.
    pub fn start(namespace: &Namespace) -> Result<Self, Error> {
        let (quiverd, client) = (built("quiverd")?, built("quiver")?);
        let program = Program::start(namespace.command(quiverd).args(["--socket", Self::SOCKET]))?;
        let mut daemon = Self { program, client };
        let client = daemon.client.clone();
        daemon.program.wait_until("an answer", READY_WITHIN, |_| run(&mut call(&client, "show version")).is_ok())?;
        Ok(daemon)
    }

    /// Gives the daemon a command, as a user types it, and returns its answer.
    pub fn command(&self, line: &str) -> Result<String, Error> {
        Ok(run(&mut call(&self.client, line))?)
    }

    /// What the daemon has said on standard output and error.
    pub fn output(&self) -> String {
        self.program.output()
    }
}

fn call(client: &PathBuf, line: &str) -> Command {
    let mut command = Command::new(client);
    command.args(["--socket", Daemon::SOCKET]).args(line.split_whitespace());
    command
}

/// The path of one of Quiver's programs: beside this one, or above it where this one is a test.
fn built(program: &'static str) -> Result<PathBuf, Error> {
    let this = env::current_exe().map_err(|e| quiver_netns::Error::system("find the path of this program", e))?;
    let found = this.ancestors().skip(1).take(2).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| Error::NotBuilt { program, beside: this.display().to_string() })
}
