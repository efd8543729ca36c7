//! A quiverd of one's own.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use quiver_netns::{Namespace, Program, run};

use crate::Error;

/// Longest time for quiverd to answer its first command.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// A running quiverd; it is killed when this value is dropped.
pub struct Daemon {
    program: Program,
    client: PathBuf,
    socket: String,
}

impl Daemon {
    /// Where the daemon of a world listens; the world's `/run` is its own.
    pub const SOCKET: &str = "/run/quiver/cli.sock";

    /// Starts quiverd in a namespace and waits until it answers.
    pub fn start(namespace: &Namespace) -> Result<Self, Error> {
        Self::start_at(namespace, Self::SOCKET, &[])
    }

    /// The same for one of several, which listens elsewhere, with further arguments.
    pub fn start_at(namespace: &Namespace, socket: &str, arguments: &[&str]) -> Result<Self, Error> {
        let (quiverd, client) = (built("quiverd")?, built("quiver")?);
        let program = Program::start(namespace.command(quiverd).args(["--socket", socket]).args(arguments))?;
        let mut daemon = Self { program, client, socket: socket.to_owned() };
        let (client, socket) = (daemon.client.clone(), daemon.socket.clone());
        let answers = |_: &_| run(&mut call(&client, &socket, "show version")).is_ok();
        daemon.program.wait_until("an answer", READY_WITHIN, answers)?;
        Ok(daemon)
    }

    /// Gives the daemon a command, as a user types it, and returns its answer.
    pub fn command(&self, line: &str) -> Result<String, Error> {
        Ok(run(&mut call(&self.client, &self.socket, line))?)
    }

    /// Output of the daemon on standard output and error.
    pub fn output(&self) -> String {
        self.program.output()
    }
}

fn call(client: &PathBuf, socket: &str, line: &str) -> Command {
    let mut command = Command::new(client);
    command.args(["--socket", socket]).args(line.split_whitespace());
    command
}

/// Path of a program of Quiver: beside this program, or one folder above it if this is a test.
fn built(program: &'static str) -> Result<PathBuf, Error> {
    let this = env::current_exe().map_err(|e| quiver_netns::Error::system("find the path of this program", e))?;
    let found = this.ancestors().skip(1).take(2).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| Error::NotBuilt { program, beside: this.display().to_string() })
}
