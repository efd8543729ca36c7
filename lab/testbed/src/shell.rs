//! Commands on a host: on this machine or by ssh, in the same way.
//!
//! Each command is run by a small program of the shell, `guard.sh`, that ends the command and all that it started when its
//! own standard input ends. So nothing stays behind on any host, whether this program stops it, dies, or loses the
//! connection.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quiver_stop::{Stop, Wait};

use crate::command::{Command, Finished, ShellError};
use crate::destination::Destination;
use crate::reach::Reach;
use crate::running::{GRACE, Running};

const GUARD: &str = include_str!("guard.sh");

/// Runs commands on a host.
#[derive(Clone, Debug)]
pub struct Shell {
    destination: Destination,
    /// The socket of a connection that stays open, by which commands go that need none of their own.
    connection: Option<Arc<PathBuf>>,
}

/// How a command gets to a host behind ssh.
#[derive(Clone, Copy)]
enum Way<'way> {
    /// Over the open connection, if there is one.
    Open,
    /// Over a connection that stays open for others, at this socket.
    Opening(&'way Path),
    /// Over a connection of its own that forwards these local sockets to sockets there.
    Forwarding(&'way [(PathBuf, String)]),
}

impl Shell {
    /// For a host that errors call so. Nothing is tried yet.
    pub fn new(host: &str, reach: &Reach) -> Shell {
        let (host, reach, stop) = (host.to_owned(), reach.clone(), Stop::default());
        Shell { destination: Destination { host, reach, stop }, connection: None }
    }

    /// The host's name in errors.
    pub fn host(&self) -> &str {
        &self.destination.host
    }

    /// Whether it is another machine, or as good as one.
    pub fn is_away(&self) -> bool {
        self.destination.reach != Reach::Here
    }

    /// The same, whose waits are cut short by this flag.
    #[must_use]
    pub fn heeding(&self, stop: &Stop) -> Shell {
        let destination = Destination { stop: stop.clone(), ..self.destination.clone() };
        Shell { destination, connection: self.connection.clone() }
    }

    /// A wait of so long at most.
    pub(crate) fn wait(&self, limit: Duration) -> Wait {
        self.destination.wait(limit)
    }

    /// The same by an open connection.
    pub(crate) fn by(&self, connection: &Path) -> Shell {
        Shell { connection: Some(Arc::new(connection.to_owned())), ..self.clone() }
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// It cannot be started, fails, or takes longer than the limit.
    pub fn run(&self, command: &Command, limit: Duration) -> Result<Finished, ShellError> {
        self.start(command)?.finish(limit)
    }

    /// Starts a command in the background.
    ///
    /// # Errors
    /// It cannot be started. That ssh does not get there, or that there is no such program, shows later.
    pub fn start(&self, command: &Command) -> Result<Running, ShellError> {
        self.start_by(command, Way::Open)
    }

    /// The same, while what comes to sockets in the file system here is carried to those there, which the command listens at.
    /// Only for a host that is away: elsewhere they are the same.
    ///
    /// # Errors
    /// As of [`Shell::start`].
    pub fn start_forwarding(&self, command: &Command, sockets: &[(PathBuf, String)]) -> Result<Running, ShellError> {
        self.start_by(command, Way::Forwarding(sockets))
    }

    /// The same by a connection that others can go by as long as the command runs.
    pub(crate) fn start_opening(&self, command: &Command, connection: &Path) -> Result<Running, ShellError> {
        self.start_by(command, Way::Opening(connection))
    }

    fn start_by(&self, command: &Command, way: Way<'_>) -> Result<Running, ShellError> {
        let guarded = ["sh", "-c", GUARD, "guard"].into_iter().map(String::from);
        let guarded = guarded.chain([GRACE.as_secs().to_string()]).chain(command.0.iter().cloned());
        let mut child = self.process(&Command(guarded.collect()), way);
        let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Ok(Running::of(&self.destination, command, child.map_err(|error| self.unstarted(command, error))?))
    }

    /// Writes a file on the host, over an older one.
    ///
    /// # Errors
    /// It cannot be written, or the host not be reached.
    pub fn write(&self, path: &str, contents: &[u8]) -> Result<(), ShellError> {
        let command = Command::new("sh").args(["-c", "cat >\"$1\"", "write", path]);
        let failed = |error| self.unstarted(&command, error);
        let mut process = self.process(&command, Way::Open);
        let child = process.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(failed)?;
        // Where it went away while it was written to, its status says more.
        let _: Option<io::Result<()>> = child.stdin.take().map(|mut stdin| stdin.write_all(contents));
        let output = child.wait_with_output().map_err(failed)?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match output.status.success() {
            true => Ok(()),
            false => Err(self.destination.failed(&command, output.status, said)),
        }
    }

    /// A shell on the host that takes commands from its standard input, and ends with that. Its errors go where its output does.
    pub(crate) fn listening(&self) -> Result<Child, ShellError> {
        let command = Command::new("sh").args(["-c", "exec sh 2>&1"]);
        let mut process = self.process(&command, Way::Open);
        let child = process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        child.map_err(|error| self.unstarted(&command, error))
    }

    pub(crate) fn unstarted(&self, command: &Command, error: io::Error) -> ShellError {
        self.destination.unstarted(command, error)
    }

    /// The process on this machine that runs a command on the host.
    fn process(&self, command: &Command, way: Way<'_>) -> process::Command {
        let Reach::Ssh { target, port, config } = &self.destination.reach else {
            let mut process = process::Command::new(&command.0[0]);
            process.args(&command.0[1..]);
            return process;
        };
        let mut process = process::Command::new("ssh");
        // Nobody is there to be asked, and who has gone away is noticed.
        for option in ["BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3"] {
            process.args(["-o", option]);
        }
        match (way, &self.connection) {
            // Where it has gone meanwhile, ssh makes another one.
            (Way::Open, Some(connection)) => {
                process.args(["-o", "ControlMaster=no", "-o"]).arg(format!("ControlPath={}", connection.display()));
            }
            (Way::Open, None) => {}
            (Way::Opening(connection), _) => {
                process.args(["-o", "ControlMaster=yes", "-o"]).arg(format!("ControlPath={}", connection.display()));
                process.args(["-o", "ControlPersist=no"]);
            }
            (Way::Forwarding(sockets), _) => {
                // Who asks before the other socket is there is not what is to be told.
                for option in ["ControlPath=none", "ExitOnForwardFailure=yes", "LogLevel=ERROR"] {
                    process.args(["-o", option]);
                }
                for (here, there) in sockets {
                    process.arg("-L").arg(format!("{}:{there}", here.display()));
                }
            }
        }
        if let Some(config) = config {
            process.arg("-F").arg(config);
        }
        if let Some(port) = port {
            process.args(["-p", &port.to_string()]);
        }
        process.arg("--").arg(target).arg(command.to_string());
        process
    }
}
